//! A container that is tuned, and the trait of its tuner.

use jiff::{SignedDuration, Timestamp};

use evenkeel_core::tuning::TunedResource;
use evenkeel_core::units::Amount;

/// The demand of one container over time.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerDemand {
    pub resource: TunedResource,
    pub start: Timestamp,
    pub step: SignedDuration,
    /// In the base unit of the resource.
    pub values: Vec<f64>,
    /// The limit that it begins with.
    pub limit: Amount,
    /// The steps before figures are counted: a tuner that works by days must have seen one.
    pub skipped: usize,
}

/// How often limits are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// Steps between two turns of Evenkeel's and of the thesis's rule.
    pub turn: usize,
}

/// A way of tuning one container.
pub trait Tuner {
    /// Takes what the container used in the step that ended at `at`. Where it was killed in it that is its limit,
    /// and no sample: what is killed is not measured.
    fn see(&mut self, at: Timestamp, used: Amount, killed: bool);

    /// The limit from here on; asked for at every step.
    fn limit(&mut self, at: Timestamp, current: Amount) -> Amount;
}

/// So many times an amount.
pub(super) fn scaled(amount: Amount, margin: f64) -> Amount {
    Amount::from_f64(amount.as_f64() * margin)
}
