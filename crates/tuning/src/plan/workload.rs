//! A tuned workload, and the resources by whose requests a metric counts its replicas.

use std::sync::Arc;

use evenkeel_hpa::MetricSpec;
use evenkeel_metrics::signal::{MetricTarget, Signal};
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_objects::workload::Workload;
use evenkeel_scaling::targets::capacity::counted_by;
use evenkeel_scaling::targets::target_objects::TargetObjects;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};

use crate::tuning_policy::TuningPolicy;

/// A workload with what its owner says of tuning.
#[derive(Debug, Clone)]
pub struct TunedWorkload {
    pub namespace: Arc<str>,
    pub object: Arc<Workload>,
    pub policy: TuningPolicy,
    /// The mode that holds: its own, its namespace's, or the configuration's.
    pub mode: TuningMode,
    pub controllers: Vec<ControllerKey>,
}

/// The resources that scale a target by their requests: as a share of them, or by one container.
pub fn scaled_by(observed: &TargetObjects) -> CpuMemory<bool> {
    scaled_by_metrics(&counted_by(observed))
}

pub fn scaled_by_metrics(metrics: &[MetricSpec]) -> CpuMemory<bool> {
    let counts = |metric: &MetricSpec, resource: TunedResource| match metric {
        MetricSpec::Known(Signal::Resource(name), Some(MetricTarget::Utilization(_)))
        | MetricSpec::Known(Signal::ContainerResource { resource: name, .. }, _) => {
            name.as_str() == resource.as_str()
        }
        // A metric that cannot be read may be about either resource.
        MetricSpec::Unknown(_) => true,
        MetricSpec::Known(..) => false,
    };
    CpuMemory::from_fn(|resource| metrics.iter().any(|metric| counts(metric, resource)))
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::kinds::Kind;
    use evenkeel_scaling::specs::ihpa::CheckedIhpa;
    use evenkeel_scaling::targets::reference::TargetRef;
    use serde_json::{Value, json};

    use super::*;

    /// A workload without metrics in its annotations, under an IHPA with these metrics.
    fn under_ihpa(metrics: &Value) -> TargetObjects {
        let provider = json!({"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": "Reactive",
            "metrics": metrics, "algorithm": {"type": "KubeHPA"}}});
        let ihpa = json!({"metadata": {"name": "web", "namespace": "shop", "uid": "i"}, "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": 1, "maxReplicas": 9, "portraitProviders": [provider]}});
        let ihpa = CheckedIhpa::new(Arc::new(serde_json::from_value(ihpa).unwrap()), None);
        ihpa.rules().expect("they are accepted");
        let workload =
            json!({"metadata": {"name": "web", "namespace": "shop", "uid": "d"}, "spec": {}});
        let workload = Workload::deserialize(Kind::Deployment, workload).unwrap();
        TargetObjects {
            ihpa: Some(Arc::new(ihpa)),
            workload: Some(Arc::new(workload)),
            ..TargetObjects::alone(TargetRef::new("apps/v1", "Deployment", "shop", "web"))
        }
    }

    #[test]
    fn what_an_ihpa_counts_by_is_read_from_it() {
        let target = json!({"type": "Utilization", "averageUtilization": 60});
        let memory =
            json!([{"type": "Resource", "resource": {"name": "memory", "target": target}}]);
        let queue = json!([{"type": "External", "external": {"metric": {"name": "jobs"},
            "target": {"type": "AverageValue", "averageValue": "10"}}}]);
        for (metrics, cpu, memory) in [(memory, false, true), (queue, false, false)] {
            let scaled = scaled_by(&under_ihpa(&metrics));
            assert_eq!(scaled, CpuMemory { cpu, memory }, "{metrics}");
        }
        let mut by_annotation = under_ihpa(&json!([]));
        by_annotation.ihpa = None;
        assert!(scaled_by(&by_annotation).cpu, "the default of a workload");
    }
}
