//! The HPAs of a scenario's workloads, each at a share of its own target.

use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::signal::{MetricIdentifier, MetricTarget, Signal};
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_units::{Ratio, i64_nearest};

use super::workload_rule::WorkloadRule;
use crate::adapter::REQUESTS;
use crate::autoscaler::Autoscaler;
use crate::scenario::{ScaleBy, ScenarioHpa, ScenarioWorkload};

/// The workload's HPA, with a rule as its second metric if wanted; `None` for a workload that nothing scales.
pub(super) fn autoscaler(
    workload: &ScenarioWorkload,
    share: Ratio,
    has_rule: bool,
) -> Option<Autoscaler> {
    let Some(scale) = workload.scale else {
        return in_place_of_direct(workload, share);
    };
    let mut own = by_scale(scale, share);
    if has_rule {
        own.add_metric(WorkloadRule::metric(workload, scale));
    }
    Some(own)
}

fn by_scale(scale: ScenarioHpa, share: Ratio) -> Autoscaler {
    let bound = |replicas: u32| i32::try_from(replicas).unwrap_or(i32::MAX);
    let (signal, target) = match scale.by {
        ScaleBy::Cpu(share) => {
            let percent = i64_nearest(share.get() * 100.0);
            let percent = i32::try_from(percent).unwrap_or(i32::MAX);
            (Signal::CPU, MetricTarget::Utilization(percent))
        }
        ScaleBy::Requests(requests) => {
            let milli = i64::from(requests) * 1000;
            (requests_signal(), MetricTarget::AverageValue(milli))
        }
    };
    let metric = MetricSpec::new(signal, target.times(share));
    Autoscaler::new(bound(scale.min), bound(scale.max), vec![metric])
}

/// For a workload in mode direct: a user without Evenkeel would have an HPA. `None` in other modes
/// and without bounds.
fn in_place_of_direct(workload: &ScenarioWorkload, share: Ratio) -> Option<Autoscaler> {
    let (policy, _) = ScalingPolicy::parse(&workload.annotations);
    let (min, max) = policy.min_replicas.zip(policy.max_replicas)?;
    let is_direct = policy.scaling == Some(ScalingMode::Direct);
    is_direct.then(|| {
        let mut metrics = policy.metrics().0;
        for metric in &mut metrics {
            if let MetricSpec::Known(_, Some(target)) = metric {
                *target = target.times(share);
            }
        }
        Autoscaler::new(min.max(1), max, metrics).with_behavior(policy.behavior)
    })
}

pub(super) fn requests_signal() -> Signal {
    Signal::Pods(MetricIdentifier::named(REQUESTS))
}
