//! A container and the trait of its tuner.

use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::TunedResource;
use jiff::{SignedDuration, Timestamp};

/// Over time.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerDemand {
    pub resource: TunedResource,
    pub start: Timestamp,
    pub step: SignedDuration,
    /// In the base unit of the resource.
    pub values: Vec<f64>,
    pub limit: Amount,
    /// Steps before figures are counted: a tuner that works by days must have seen one.
    pub skipped: usize,
}

/// How often limits are reconsidered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rhythm {
    /// Between two turns of Evenkeel's and of the thesis's rule, in steps.
    pub turn: usize,
}

pub trait Tuner {
    /// The use in the step that ended at `at`. For a killed container it is the limit and no
    /// sample.
    fn see(&mut self, at: Timestamp, used: Amount, killed: bool);

    /// The limit from here on; called at every step.
    fn limit(&mut self, at: Timestamp, current: Amount) -> Amount;
}

pub(super) fn scaled(amount: Amount, margin: f64) -> Amount {
    Amount::from_f64(amount.as_f64() * margin)
}
