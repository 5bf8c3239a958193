//! The fit of a target's own function from its traffic to the load that each of its replicas carries.

use std::sync::Arc;

use evenkeel_forecast::TrafficModel;

/// The result of a target's fit.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum TrafficFit {
    /// Its past has not been looked at yet.
    #[default]
    Awaited,
    /// Its past gives no model.
    Refused(TrafficRefusal),
    /// Traffic explained a day that the model had not seen.
    Accepted(Arc<AcceptedTraffic>),
}

/// Why a target has no model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TrafficRefusal {
    /// The kind of reason, for conditions and metrics.
    pub reason: &'static str,
    /// The same in words, with the figures.
    pub why: String,
}

/// A model that has explained a day that it had not seen.
#[derive(Debug, Clone, PartialEq)]
pub struct AcceptedTraffic {
    pub model: TrafficModel,
    /// The mean of each kind of traffic over the time that it was fitted on, in the order of the model.
    pub means: Vec<f64>,
}

impl AcceptedTraffic {
    /// The amounts of each kind for each Pod with which the linear model tells of `target`, where the kinds
    /// stand to each other as their means do; `None` where Pods are above it without any traffic.
    pub(crate) fn per_pod(&self, target: f64) -> Option<Vec<f64>> {
        let function = &self.model.function;
        let idle = function.linear().intercept;
        let driven = function.linear_utilisation(&self.means, 1.0) - idle;
        let (left, driven) = (target - idle, driven.max(f64::MIN_POSITIVE));
        let share = left / driven;
        let means = self.means.iter();
        (left > 0.0 && share.is_finite()).then(|| means.map(|mean| mean * share).collect())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_forecast::{HeldOutDay, LinearFunction, LinearResidual, Trees};
    use jiff::{SignedDuration, Timestamp};

    use super::*;

    fn accepted(coefficients: &[f64], means: &[f64]) -> AcceptedTraffic {
        let linear = LinearFunction {
            coefficients: coefficients.to_vec(),
            intercept: 100.0,
        };
        let residual = Trees::new(0.0, &[]).unwrap();
        AcceptedTraffic {
            model: TrafficModel {
                components: Vec::new(),
                utilisation: String::new(),
                zone: "UTC".to_owned(),
                step: SignedDuration::from_mins(10),
                learnt: (Timestamp::UNIX_EPOCH, Timestamp::UNIX_EPOCH),
                held_out: HeldOutDay {
                    samples: 144,
                    error: 1.0,
                    linear_error: 1.0,
                    explained: 0.9,
                    explained_without: 0.1,
                },
                seen: Vec::new(),
                function: LinearResidual::new(linear, 500.0, (0.0, 0.0), residual),
            },
            means: means.to_vec(),
        }
    }

    #[test]
    fn what_one_pod_carries_at_the_target_is_told_of_each_kind() {
        for (coefficients, means, target, expected) in [
            (&[5.0][..], &[40.0][..], 600.0, Some(vec![100.0])),
            // 300 of a mean that drives 200: one and a half times each.
            (&[5.0, 10.0], &[20.0, 10.0], 400.0, Some(vec![30.0, 15.0])),
            (&[5.0], &[40.0], 100.0, None),
            (&[5.0], &[40.0], 50.0, None),
            (&[5.0], &[0.0], 600.0, None),
        ] {
            let found = accepted(coefficients, means).per_pod(target);
            assert_eq!(found, expected, "{coefficients:?} {means:?} {target}");
        }
    }
}
