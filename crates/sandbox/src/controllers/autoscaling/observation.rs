//! The state of one HPA and its target, as the algorithm reads it.

use evenkeel_hpa::autoscaler::{AutoscalerSpec, status};
use evenkeel_hpa::{HorizontalPodAutoscaler, Readings, ScaleError, TargetScale};
use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::pod_metrics::PodMetricsList;
use kube::ResourceExt as _;

use super::pod_facts::pod_facts;
use super::target::{HpaTargetLookup, HpaTargetScale};
use crate::store::StoredAutoscaler as Object;

pub(super) fn autoscaler(object: &Object, spec: &AutoscalerSpec) -> HorizontalPodAutoscaler {
    HorizontalPodAutoscaler {
        namespace: object.namespace().unwrap_or_default(),
        name: object.name_any(),
        generation: object.metadata.generation,
        spec: spec.hpa(),
        status: status::read(object.status.clone()),
    }
}

pub(super) struct HpaObservation {
    pods: Vec<PodFacts>,
    autoscalers: Vec<String>,
    pub(super) readings: Readings,
}

impl HpaObservation {
    pub(super) fn new(
        hpa: &HorizontalPodAutoscaler,
        target: Result<&HpaTargetScale, &ScaleError>,
        targets: &HpaTargetLookup<'_>,
        usage: &Result<PodMetricsList, String>,
    ) -> Self {
        let selected = target.ok().and_then(|target| target.pods.as_deref().ok());
        let selected = selected.unwrap_or_default();
        let pods: Vec<_> = selected.iter().map(|pod| pod_facts(pod)).collect();
        let is_selected = |name: &str| pods.iter().any(|pod| pod.name == name);
        let usage = usage
            .as_ref()
            .map(|usage| usage.of(&hpa.namespace, is_selected));
        let readings = Readings {
            resource: usage.map_err(Clone::clone),
            ..Readings::default()
        };
        Self {
            autoscalers: targets.autoscalers(selected),
            pods,
            readings,
        }
    }

    pub(super) fn scale<'a>(&'a self, target: &'a HpaTargetScale) -> TargetScale<'a> {
        TargetScale {
            spec_replicas: target.spec_replicas,
            status_replicas: target.status_replicas,
            selector: &target.selector,
            pods: match &target.pods {
                Ok(_) => Ok(&self.pods),
                Err(error) => Err(error),
            },
            autoscalers: &self.autoscalers,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::target::spec;
    use super::*;

    #[test]
    fn an_hpa_is_read_with_its_status() {
        let object: Object = serde_json::from_value(json!({
            "metadata": {"name": "web", "namespace": "shop", "generation": 3},
            "spec": {"maxReplicas": 9, "scaleTargetRef": {"kind": "Deployment", "name": "web"}},
            "status": {"currentReplicas": 3, "desiredReplicas": 4, "conditions": [
                {"type": "AbleToScale", "status": "True", "reason": "ReadyForNewScale",
                 "observedGeneration": 2}]},
        }))
        .unwrap();
        let hpa = autoscaler(&object, &spec(&object));
        assert_eq!((hpa.namespace.as_str(), hpa.name.as_str()), ("shop", "web"));
        assert_eq!((hpa.spec.min_replicas, hpa.spec.max_replicas), (1, 9));
        assert_eq!(
            hpa.spec.metrics.len(),
            1,
            "an HPA without a metric scales by cpu"
        );
        assert_eq!(hpa.status.desired_replicas, 4);
        let generations = hpa.status.conditions.iter();
        let generations = generations.map(|condition| condition.observed_generation);
        assert_eq!(generations.collect::<Vec<_>>(), [Some(2)]);
        assert_eq!(hpa.generation, Some(3));
    }
}
