//! A fitted model with its own description.

use jiff::{SignedDuration, Timestamp};

use super::function::LinearResidual;

/// As its file holds it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficModel {
    /// Kinds of traffic, in the order of the function's inputs.
    pub components: Vec<String>,
    /// Name of the utilisation; answers are in its unit.
    pub utilisation: String,
    /// Time zone by which days and weeks are counted.
    pub zone: String,
    /// Median distance of the samples that it was fitted on.
    pub step: SignedDuration,
    /// Times of the first and the last sample.
    pub learnt: (Timestamp, Timestamp),
    pub held_out: HeldOutDay,
    /// Least and most traffic of one replica in the samples, for each kind.
    pub seen: Vec<(f64, f64)>,
    pub function: LinearResidual,
}

impl TrafficModel {
    /// The kinds of traffic of which each of `replicas` would have less or more than in any sample.
    pub fn beyond_samples(&self, traffic: &[f64], replicas: f64) -> impl Iterator<Item = &str> {
        let kinds = self.components.iter().zip(&self.seen).zip(traffic);
        let beyond = kinds.filter(move |((_, (least, most)), traffic)| {
            let each = **traffic / replicas;
            each < *least || each > *most
        });
        beyond.map(|((name, _), _)| name.as_str())
    }
}

/// Accuracy on the newest day of a model fitted on what came before it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct HeldOutDay {
    pub samples: u32,
    /// Mean absolute error, in the unit of the utilisation.
    pub error: f64,
    /// Error of the linear model alone.
    pub linear_error: f64,
    /// R²: explained share of the utilisation's variance; below 0, the mean of the day would be
    /// better.
    pub explained: f64,
    /// R² of a model of the replicas and the time, without traffic.
    pub explained_without: f64,
}

impl HeldOutDay {
    /// Share of the variance that must be explained.
    pub const NEEDED: f64 = 0.5;
    /// Most that may be left unexplained, as a share of what is left without traffic: replicas that
    /// follow the utilisation explain much of it themselves.
    pub const LEFT: f64 = 0.5;

    /// By [`Self::NEEDED`].
    pub fn is_explained(&self) -> bool {
        self.explained >= Self::NEEDED
    }

    /// By [`Self::LEFT`]: the traffic explains it.
    pub fn is_by_traffic(&self) -> bool {
        1.0 - self.explained <= Self::LEFT * (1.0 - self.explained_without)
    }
}
