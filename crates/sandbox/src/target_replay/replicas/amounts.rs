//! Amounts of a target in the units of its HPA and Pods.

use std::sync::Arc;

use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::pod::PodSpecFacts;
use evenkeel_metrics::signal::{MetricTarget as Wanted, ResourceName, Signal};
use evenkeel_units::{Resource, i64_ceil};

use crate::autoscaler;
use crate::target_replay::settings::ReplayTarget;

/// Metric of the HPA. A share that is no whole percentage, which an HPA cannot have, is an amount
/// per Pod.
pub(in crate::target_replay) fn metric(target: &ReplayTarget, share: f64) -> MetricSpec {
    let request = target.capacity.request();
    let percent = i64_ceil((share * 100.0).round());
    let is_whole = (share * 100.0 - (share * 100.0).round()).abs() < 1e-9;
    let wanted = match i32::try_from(percent) {
        Ok(percent) if is_whole => Wanted::Utilization(percent),
        _ => Wanted::AverageValue(milli(target.resource, request * share)),
    };
    MetricSpec::new(Signal::from(target.resource), wanted)
}

pub(super) fn pod_spec(target: &ReplayTarget) -> Arc<PodSpecFacts> {
    let request = milli(target.resource, target.capacity.request());
    autoscaler::pod_spec([(name(target.resource), request)].into_iter().collect())
}

pub(super) fn name(resource: Resource) -> ResourceName {
    resource.as_str().into()
}

/// From the base unit to thousandths of Kubernetes' unit: cores, bytes, bytes per second.
pub(super) fn milli(resource: Resource, amount: f64) -> i64 {
    match resource {
        Resource::Cpu => i64_ceil(amount),
        _ => i64_ceil(amount * 1000.0),
    }
}
