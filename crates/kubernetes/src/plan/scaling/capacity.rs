//! The signals that a target scales by, each with the load that one Pod is to carry.

use super::problem::Problem;
use super::requested::RequestedPolicy;
use super::{Member, Observed};
use crate::autoscaler::MetricTarget;
use evenkeel_core::scaling::hpa_aware::PodCapacity;
use evenkeel_core::scaling::signal::Signal;
use evenkeel_core::scaling::sum;
use evenkeel_core::scaling::tracker::ScaledSignal;
use evenkeel_core::units::{Amount, Ratio, Resource, count_as_f64};

/// The signals of a target; those without a capacity are added to `problems`.
///
/// # Errors
/// No signal that is observed, or none with a capacity.
pub(super) fn scaled_signals(
    observed: &Observed,
    requested: &RequestedPolicy,
    problems: &mut Vec<Problem>,
) -> Result<Vec<ScaledSignal>, Problem> {
    let metrics = metrics(observed, requested);
    if metrics.is_empty() {
        return Err(Problem::NoResourceMetric);
    }
    let members = &observed.pods.members;
    let mut signals = Vec::with_capacity(metrics.len());
    let mut without = None;
    for Metric { signal, target } in metrics {
        match capacity(&signal, target, members) {
            Some(capacity) => signals.push(ScaledSignal { signal, capacity }),
            None if members.is_empty() => {}
            None => without = without.or(Some(Problem::NoRequests(signal))),
        }
    }
    match without {
        Some(problem) if signals.is_empty() => return Err(problem),
        without => problems.extend(without),
    }
    Ok(signals)
}

/// A signal with the value that it is to have.
struct Metric {
    signal: Signal,
    target: MetricTarget,
}

/// The metrics of the target that are observed: its Pods' cpu and memory.
fn metrics(observed: &Observed, requested: &RequestedPolicy) -> Vec<Metric> {
    if let Some(autoscaler) = &observed.autoscaler {
        let metrics = autoscaler.spec.metrics.resources.iter();
        let metrics = metrics.map(|metric| Metric {
            signal: metric.resource.into(),
            target: metric.target,
        });
        return metrics.collect();
    }
    let utilisation = requested.policy.target.unwrap_or_default();
    let signals = [Signal::CPU, Signal::MEMORY].into_iter();
    let metrics = signals.filter_map(|signal| {
        let target = MetricTarget::Utilization(utilisation.of(&signal)?);
        Some(Metric { signal, target })
    });
    metrics.collect()
}

/// The load that one Pod is to carry: a share of the mean request, or a fixed value, which is as a
/// request that is to be used wholly.
fn capacity(signal: &Signal, target: MetricTarget, members: &[Member]) -> Option<PodCapacity> {
    match target {
        MetricTarget::AverageValue(value) => {
            let thousandths = i64::try_from(value.milli_ceil()).ok()?;
            let whole = Ratio::new(1.0).expect("1 is finite");
            PodCapacity::new(sum::in_base_unit(signal, thousandths), whole).ok()
        }
        MetricTarget::Utilization(share) => {
            PodCapacity::new(mean_request(members, signal)?, share).ok()
        }
    }
}

/// The mean request of the Pods that stay, of those that request anything, in the base unit of the
/// signal.
fn mean_request(members: &[Member], signal: &Signal) -> Option<f64> {
    let resource = if signal.is_cpu() {
        Resource::Cpu
    } else {
        Resource::Memory
    };
    let stay = members.iter().filter(|member| !member.terminating);
    let requests: Vec<_> = stay
        .filter_map(|member| member.requests[resource])
        .collect();
    let sum: Amount = requests.iter().copied().sum();
    (!requests.is_empty()).then(|| sum.as_f64() / count_as_f64(requests.len()))
}
