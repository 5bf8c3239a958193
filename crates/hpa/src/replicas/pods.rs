//! Replicas for metrics with a value per Pod: resources and Pods metrics. Pods that are not ready
//! or not measured are assumed to use what makes the change smaller, and the assumption never turns
//! its direction.

use evenkeel_metrics::sample::Measurement;
use evenkeel_metrics::signal::{MetricTarget, ResourceName, Signal};
use evenkeel_units::{count_as_f64, i64_as_f64, replicas_ceil, wrapped_i32};

use super::{MetricProposal, ReplicaCalculator};
use crate::basis::{ProposalBasis, ProposalRule};
use crate::error::ReplicasError;
use crate::groups::PodGroups;
use crate::pod_values::ByPod;
use crate::requests::requests;

#[derive(Debug, Clone, Copy, PartialEq)]
pub struct TargetUsage {
    /// Usage over target.
    pub ratio: f64,
    /// Percent of the requests, for a utilisation target.
    pub utilization: Option<i32>,
    /// Mean over the Pods, in thousandths.
    pub average: i64,
}

/// Mean utilisation of the Pods with a value and a request, against a target in percent
/// (`GetResourceUtilizationRatio`). Percentage and mean are cut off to integers before the ratio,
/// and sums beyond 64 bits wrap around, as in Go.
///
/// # Errors
/// No value belongs to a request.
pub fn resource_utilization(
    values: &ByPod<'_, i64>,
    requests: &ByPod<'_, i64>,
    target: i32,
) -> Result<TargetUsage, ReplicasError> {
    let (mut used, mut requested, mut pods) = (0_i64, 0_i64, 0_i64);
    let mut requests = requests.lookups();
    for (pod, value) in values.iter() {
        if let Some(request) = requests.get(pod) {
            used = used.wrapping_add(*value);
            requested = requested.wrapping_add(*request);
            pods += 1;
        }
    }
    if requested == 0 {
        return Err(ReplicasError::NoMatchingMetrics);
    }
    let utilization = wrapped_i32(used.wrapping_mul(100).wrapping_div(requested));
    Ok(TargetUsage {
        ratio: f64::from(utilization) / f64::from(target),
        utilization: Some(utilization),
        average: used / pods,
    })
}

/// Mean over the Pods with a value, of which there is at least one, against a target in thousandths
/// (`GetMetricUsageRatio`); the mean is cut off to an integer.
pub fn metric_usage(values: &ByPod<'_, i64>, target: i64) -> TargetUsage {
    let used = values
        .iter()
        .fold(0_i64, |sum, (_, value)| sum.wrapping_add(*value));
    let pods = i64::try_from(values.len()).unwrap_or(i64::MAX).max(1);
    let average = used / pods;
    TargetUsage {
        ratio: i64_as_f64(average) / i64_as_f64(target),
        utilization: None,
        average,
    }
}

/// The count that the Pods' values come to.
struct PodProposal<'a> {
    replicas: i32,
    rule: ProposalRule,
    /// The ratio with assumed values; `None` if none is assumed.
    adjusted: Option<f64>,
    /// The values of all Pods that count, assumed ones among them.
    values: ByPod<'a, i64>,
}

struct PodUsageTarget<'a> {
    /// A utilisation or an amount per Pod.
    target: MetricTarget,
    /// For a utilisation.
    requests: ByPod<'a, i64>,
}

impl PodUsageTarget<'_> {
    fn usage(&self, values: &ByPod<'_, i64>) -> Result<TargetUsage, ReplicasError> {
        match self.target {
            MetricTarget::Utilization(percent) => {
                resource_utilization(values, &self.requests, percent)
            }
            MetricTarget::AverageValue(target) | MetricTarget::Value(target) => {
                Ok(metric_usage(values, target))
            }
        }
    }

    /// Assumed usage of an unmeasured Pod while scaling down: its request, or the target if higher.
    fn fallback(&self, pod: &str) -> i64 {
        match self.target {
            MetricTarget::Utilization(percent) => {
                let request = self.requests.get(pod).copied().unwrap_or(0);
                request.wrapping_mul(i64::from(percent.max(100))) / 100
            }
            MetricTarget::AverageValue(target) | MetricTarget::Value(target) => target,
        }
    }

    /// Adds values for Pods without one, for the direction of `ratio`. Exactly at the target
    /// nothing is assumed.
    fn assume<'p>(
        &self,
        ratio: f64,
        groups: &PodGroups<'p>,
        values: ByPod<'p, i64>,
    ) -> ByPod<'p, i64> {
        if ratio < 1.0 {
            values.and(groups.missing.iter().map(|&pod| (pod, self.fallback(pod))))
        } else if ratio > 1.0 {
            let idle = groups.missing.iter().chain(&groups.unready);
            values.and(idle.map(|&pod| (pod, 0)))
        } else {
            values
        }
    }
}

impl<'a> ReplicaCalculator<'a> {
    /// Also of one container of each Pod.
    pub(super) fn of_resource(
        &self,
        signal: &Signal,
        target: MetricTarget,
        basis: Option<&mut ProposalBasis>,
    ) -> Result<MetricProposal, ReplicasError> {
        let usage = self.reader().usage(signal)?;
        let Some((resource, container)) = signal.resource() else {
            return Err(ReplicasError::no_target(signal));
        };
        let requests = || match target {
            MetricTarget::Utilization(_) => {
                let gates = self.controller.feature_gates;
                requests(self.pods, resource, container, gates.pod_level_resources)
            }
            MetricTarget::AverageValue(_) | MetricTarget::Value(_) => Ok(ByPod::default()),
        };
        let comparison = || {
            Ok(PodUsageTarget {
                target,
                requests: requests()?,
            })
        };
        let proposal = self.compare(usage.by_pod, Some(resource), comparison, basis)?;
        Ok(MetricProposal {
            timestamp: usage.timestamp,
            ..proposal
        })
    }

    pub(super) fn of_pods(
        &self,
        signal: &Signal,
        target: MetricTarget,
        basis: Option<&mut ProposalBasis>,
    ) -> Result<MetricProposal, ReplicasError> {
        let samples = self.reader().pods(signal)?;
        let measured = samples
            .iter()
            .map(|sample| (sample.pod.as_str(), sample.measurement));
        let comparison = || {
            Ok(PodUsageTarget {
                target,
                requests: ByPod::default(),
            })
        };
        let proposal = self.compare(measured.collect(), None, comparison, basis)?;
        Ok(MetricProposal {
            timestamp: samples.first().map(|sample| sample.measurement.timestamp),
            ..proposal
        })
    }

    /// `comparison` runs only if a Pod counts.
    fn compare(
        &self,
        measured: ByPod<'a, Measurement>,
        resource: Option<&ResourceName>,
        comparison: impl FnOnce() -> Result<PodUsageTarget<'a>, ReplicasError>,
        mut basis: Option<&mut ProposalBasis>,
    ) -> Result<MetricProposal, ReplicasError> {
        if self.pods.is_empty() {
            return Err(ReplicasError::NoPods);
        }
        let startup = self.startup(resource);
        if let Some(basis) = basis.as_deref_mut() {
            basis.record_pods(self.pods, &measured, startup, self.now);
        }
        let groups = PodGroups::new(self.pods, &measured, startup, self.now);
        let others = groups.ignored.iter().chain(&groups.unready).copied();
        let measured = measured.without(others.collect());
        if measured.is_empty() {
            return Err(ReplicasError::NoReadyMetrics);
        }
        let comparison = comparison()?;
        let values = measured.map(|one| one.value);
        let usage = comparison.usage(&values)?;
        let proposal = self.replicas(usage.ratio, &groups, &comparison, values)?;
        if let Some(basis) = basis {
            basis.ratio = Some(usage.ratio);
            basis.adjusted = proposal.adjusted;
            basis.multiplied = Some(match proposal.adjusted {
                Some(_) => proposal.values.len(),
                None => groups.ready,
            });
            basis.rule = Some(proposal.rule);
            basis.record_values(&comparison.requests, &proposal.values);
        }
        Ok(MetricProposal {
            replicas: proposal.replicas,
            utilization: usage.utilization,
            value: usage.average,
            timestamp: None,
        })
    }

    fn replicas(
        &self,
        ratio: f64,
        groups: &PodGroups<'a>,
        comparison: &PodUsageTarget<'_>,
        values: ByPod<'a, i64>,
    ) -> Result<PodProposal<'a>, ReplicasError> {
        let current = self.spec_replicas;
        let is_up_with_unready = ratio > 1.0 && !groups.unready.is_empty();
        if !is_up_with_unready && groups.missing.is_empty() {
            let is_tolerated = self.tolerances.contain(ratio);
            let (replicas, rule) = if is_tolerated {
                (current, ProposalRule::Tolerance)
            } else {
                let replicas = replicas_ceil(ratio * count_as_f64(groups.ready));
                (replicas, ProposalRule::Ratio)
            };
            return Ok(PodProposal {
                replicas,
                rule,
                adjusted: None,
                values,
            });
        }
        let values = comparison.assume(ratio, groups, values);
        let adjusted = comparison.usage(&values)?.ratio;
        let is_turned = (ratio < 1.0 && adjusted > 1.0) || (ratio > 1.0 && adjusted < 1.0);
        let replicas = replicas_ceil(adjusted * count_as_f64(values.len()));
        let is_against =
            (adjusted < 1.0 && replicas > current) || (adjusted > 1.0 && replicas < current);
        let (replicas, rule) = if is_turned {
            (current, ProposalRule::Reversal)
        } else if self.tolerances.contain(adjusted) {
            (current, ProposalRule::Tolerance)
        } else if is_against {
            (current, ProposalRule::Contradiction)
        } else {
            (replicas, ProposalRule::Ratio)
        };
        Ok(PodProposal {
            replicas,
            rule,
            adjusted: Some(adjusted),
            values,
        })
    }
}
