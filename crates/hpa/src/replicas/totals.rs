//! Replicas for metrics with one value for the whole target: Object and External metrics, and
//! PromQL queries. A target for the total scales the ready Pods; without Pods the ratio itself is
//! the count, so that a target can come back from zero. A target per Pod divides the total.

use evenkeel_metrics::series_sum::{capped_sum, sum_for_share};
use evenkeel_metrics::signal::{MetricTarget, Signal};
use evenkeel_units::{count_as_f64, i64_as_f64, i64_ceil, replicas_ceil};

use super::{MetricProposal, ReplicaCalculator};
use crate::basis::{ProposalBasis, ProposalRule};
use crate::error::ReplicasError;

impl ReplicaCalculator<'_> {
    pub(super) fn of_object(
        &self,
        signal: &Signal,
        target: Option<MetricTarget>,
        basis: Option<&mut ProposalBasis>,
    ) -> Result<MetricProposal, ReplicasError> {
        match target {
            Some(MetricTarget::Value(target)) => {
                let sample = self.reader().object(signal)?;
                self.of_total(sample.value, target, basis)
            }
            Some(MetricTarget::AverageValue(target)) => {
                let sample = self.reader().object(signal)?;
                let average = i64_as_f64(sample.value) / f64::from(self.status_replicas);
                Ok(MetricProposal {
                    replicas: self.of_share(sample.value, target, basis),
                    utilization: None,
                    value: i64_ceil(average),
                    timestamp: Some(sample.timestamp),
                })
            }
            Some(MetricTarget::Utilization(_)) | None => Err(ReplicasError::no_target(signal)),
        }
    }

    pub(super) fn of_series(
        &self,
        signal: &Signal,
        target: Option<MetricTarget>,
        basis: Option<&mut ProposalBasis>,
    ) -> Result<MetricProposal, ReplicasError> {
        match target {
            Some(MetricTarget::Value(target)) => {
                let samples = self.reader().series(signal)?;
                self.of_total(capped_sum(samples), target, basis)
            }
            Some(MetricTarget::AverageValue(target)) => {
                let samples = self.reader().series(signal)?;
                let sum = sum_for_share(samples);
                let average = i64_as_f64(sum) / f64::from(self.status_replicas);
                // 2^63 - 1 is 2^63 as a float: sums just below the largest count as it.
                let is_most = i64_as_f64(sum) >= i64_as_f64(i64::MAX);
                Ok(MetricProposal {
                    replicas: self.of_share(sum, target, basis),
                    utilization: None,
                    value: if is_most { i64::MAX } else { i64_ceil(average) },
                    timestamp: samples.first().map(|sample| sample.timestamp),
                })
            }
            Some(MetricTarget::Utilization(_)) | None => Err(ReplicasError::no_target(signal)),
        }
    }

    fn of_total(
        &self,
        total: i64,
        target: i64,
        basis: Option<&mut ProposalBasis>,
    ) -> Result<MetricProposal, ReplicasError> {
        let ratio = i64_as_f64(total) / i64_as_f64(target);
        let (replicas, rule, multiplied) = if self.spec_replicas == 0 {
            (replicas_ceil(ratio), ProposalRule::FromZero, None)
        } else if self.tolerances.contain(ratio) {
            (self.spec_replicas, ProposalRule::Tolerance, None)
        } else {
            let ready = self.ready_pods()?;
            let replicas = replicas_ceil(ratio * count_as_f64(ready));
            (replicas, ProposalRule::Ratio, Some(ready))
        };
        if let Some(basis) = basis {
            basis.ratio = Some(ratio).filter(|ratio| ratio.is_finite());
            basis.rule = Some(rule);
            basis.multiplied = multiplied;
        }
        Ok(MetricProposal {
            replicas,
            utilization: None,
            value: total,
            timestamp: None,
        })
    }

    /// Against a target per Pod. Tolerance compares with the count of the status, and keeps that.
    fn of_share(&self, sum: i64, target: i64, basis: Option<&mut ProposalBasis>) -> i32 {
        let (total, target) = (i64_as_f64(sum), i64_as_f64(target));
        let ratio = total / (target * f64::from(self.status_replicas));
        let (replicas, rule) = if self.tolerances.contain(ratio) {
            (self.status_replicas, ProposalRule::Tolerance)
        } else {
            (replicas_ceil(total / target), ProposalRule::Share)
        };
        if let Some(basis) = basis {
            let is_from_zero = self.status_replicas == 0;
            basis.ratio = Some(ratio).filter(|ratio| ratio.is_finite());
            basis.rule = Some(if is_from_zero {
                ProposalRule::FromZero
            } else {
                rule
            });
            basis.undivided_total = is_from_zero.then_some(sum);
        }
        replicas
    }

    fn ready_pods(&self) -> Result<usize, ReplicasError> {
        if self.pods.is_empty() {
            return Err(ReplicasError::NoPodsToCount);
        }
        Ok(self.pods.iter().filter(|pod| pod.serves()).count())
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::sample::ValueSample;
    use evenkeel_metrics::series_sum::summed_series;
    use jiff::Timestamp;
    use proptest::prelude::*;

    use super::*;

    fn values() -> impl Strategy<Value = i64> {
        prop_oneof![
            -10_i64..10,
            any::<i64>(),
            Just(i64::MAX),
            Just(i64::MIN),
            i64::MAX - 3..=i64::MAX,
        ]
    }

    proptest! {
        #[test]
        fn a_few_series_stand_for_all(values in prop::collection::vec((values(), 0_i64..100), 0..8)) {
            let sample = |&(value, second): &(i64, i64)| ValueSample {
                timestamp: Timestamp::from_second(second).unwrap(),
                value,
            };
            let all: Vec<_> = values.iter().map(sample).collect();
            let few = summed_series(&all);
            prop_assert!(few.len() <= 2 && few.is_empty() == all.is_empty());
            prop_assert_eq!(capped_sum(&few), capped_sum(&all));
            prop_assert_eq!(sum_for_share(&few), sum_for_share(&all));
            let newest = |samples: &[ValueSample]| samples.iter().map(|one| one.timestamp).max();
            prop_assert_eq!(newest(&few), newest(&all));
        }
    }
}
