//! A model with what it says of itself.

use jiff::{SignedDuration, Timestamp};

use super::function::LinearResidual;

/// A fitted model, as its file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficModel {
    /// The names of the kinds of traffic, in the order in which the function takes them.
    pub components: Vec<String>,
    /// The name of the utilisation; answers are in its unit.
    pub utilisation: String,
    /// The name of the time zone by which days and weeks are counted.
    pub zone: String,
    /// The median distance of the samples that it was fitted on.
    pub step: SignedDuration,
    /// The times of the first and the last of them.
    pub learnt: (Timestamp, Timestamp),
    pub held_out: HeldOutDay,
    pub function: LinearResidual,
}

/// How well the newest day was told by a model that was fitted on what came before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOutDay {
    /// The number of samples of the day.
    pub samples: u32,
    /// The mean absolute error, in the unit of the utilisation.
    pub error: f64,
    /// The same of the linear model alone.
    pub linear_error: f64,
    /// The share of the utilisation's variance that is explained (R²); below 0, the mean of the day would
    /// have been better.
    pub explained: f64,
    /// The same of a model that knows the replicas and the time, and no traffic.
    pub explained_without: f64,
}

impl HeldOutDay {
    /// The share of the variance that has to be explained.
    pub const NEEDED: f64 = 0.5;
    /// The most that may be left unexplained, as a share of what is left without traffic: what is not the traffic's
    /// doing is not to be told by traffic. Replicas that follow the utilisation tell much of it themselves.
    pub const LEFT: f64 = 0.5;

    /// True where enough is explained.
    #[must_use]
    pub fn is_explained(&self) -> bool {
        self.explained >= Self::NEEDED
    }

    /// True where it is the traffic that explains it.
    #[must_use]
    pub fn is_by_traffic(&self) -> bool {
        1.0 - self.explained <= Self::LEFT * (1.0 - self.explained_without)
    }
}
