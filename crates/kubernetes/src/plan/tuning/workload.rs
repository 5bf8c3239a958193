//! A workload whose Pods are tuned, and the resources by whose requests something counts its replicas.

use std::sync::Arc;

use crate::plan::scaling::Observed;
use crate::tuning_policy::TuningPolicy;
use crate::workload::Workload;
use evenkeel_core::scaling::hpa::MetricSpec;
use evenkeel_core::scaling::signal::{Signal, Target};
use evenkeel_core::tuning::{CpuMemory, Mode, TunedResource};

/// A workload with what its owner says of tuning.
#[derive(Debug, Clone)]
pub struct TunedWorkload {
    pub namespace: Arc<str>,
    pub object: Arc<Workload>,
    pub policy: TuningPolicy,
    /// The mode that holds: its own, its namespace's, or the configuration's.
    pub mode: Mode,
    /// The UIDs of the controllers of its Pods.
    pub controllers: Vec<Arc<str>>,
}

/// The resources by whose requests a target is scaled: as a share of the request, or by one container.
#[must_use]
pub fn scaled_by(observed: &Observed) -> CpuMemory<bool> {
    let metrics = match (&observed.autoscaler, &observed.workload) {
        (Some(autoscaler), _) => autoscaler.spec.metrics.defaulted(),
        (None, Some(workload)) => {
            let (policy, _) =
                crate::scaling_policy::ScalingPolicy::parse(&workload.metadata.annotations);
            policy.metrics().0
        }
        (None, None) => Vec::new(),
    };
    scaled_by_metrics(&metrics)
}

/// The same by the metrics themselves.
#[must_use]
pub fn scaled_by_metrics(metrics: &[MetricSpec]) -> CpuMemory<bool> {
    let counts = |metric: &MetricSpec, resource: TunedResource| match metric {
        MetricSpec::Known(Signal::Resource(name), Some(Target::Utilization(_)))
        | MetricSpec::Known(Signal::ContainerResource { resource: name, .. }, _) => {
            name.as_str() == resource.as_str()
        }
        // What cannot be read may be either.
        MetricSpec::Unknown(_) => true,
        MetricSpec::Known(..) => false,
    };
    CpuMemory::from_fn(|resource| metrics.iter().any(|metric| counts(metric, resource)))
}
