//! Pods of the API as the HPA algorithm reads them.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_metrics::pod::{
    ContainerFacts, PodFacts, PodPhase, PodSpecFacts, ReadyCondition, ResourceRequests,
};
use evenkeel_quantity::Quantity;
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Container, Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity as QuantityText;

type Quantities = BTreeMap<String, QuantityText>;

pub(super) fn pod_facts(pod: &Pod) -> PodFacts {
    let (spec, status) = (pod.spec.as_ref(), pod.status.as_ref());
    let phase = status.and_then(|status| status.phase.as_deref());
    let start_time = status.and_then(|status| status.start_time.as_ref());
    let init_containers = spec.and_then(|spec| spec.init_containers.as_deref());
    let whole = spec.and_then(|spec| spec.resources.as_ref());
    PodFacts {
        name: pod.metadata.name.clone().unwrap_or_default(),
        phase: phase.map_or(PodPhase::Unknown, PodPhase::from),
        deleted: pod.metadata.deletion_timestamp.is_some(),
        start_time: start_time.map(|time| time.0),
        ready: status.and_then(ready),
        spec: Arc::new(PodSpecFacts {
            containers: containers(spec.map(|spec| spec.containers.as_slice())),
            init_containers: containers(init_containers),
            pod_requests: requests(whole.and_then(|resources| resources.requests.as_ref())),
            overhead: requests(spec.and_then(|spec| spec.overhead.as_ref())),
        }),
    }
}

/// The condition Ready. A transition without a time was before any other.
fn ready(status: &PodStatus) -> Option<ReadyCondition> {
    let mut conditions = status.conditions.iter().flatten();
    let ready = conditions.find(|condition| condition.type_ == "Ready")?;
    let since = ready.last_transition_time.as_ref();
    Some(ReadyCondition {
        status: ready.status.as_str().into(),
        last_transition_time: since.map_or(Timestamp::MIN, |time| time.0),
    })
}

fn containers(given: Option<&[Container]>) -> Vec<ContainerFacts> {
    let container = |container: &Container| ContainerFacts {
        name: container.name.clone(),
        requests: requests(
            container
                .resources
                .as_ref()
                .and_then(|of| of.requests.as_ref()),
        ),
        is_sidecar: container.restart_policy.as_deref() == Some("Always"),
    };
    given.unwrap_or_default().iter().map(container).collect()
}

/// Requests in thousandths. The API server stores no quantity that does not parse.
fn requests(quantities: Option<&Quantities>) -> ResourceRequests {
    let amount = |(name, QuantityText(text)): (&String, &QuantityText)| {
        let quantity: Quantity = text.parse().ok()?;
        Some((name.as_str().into(), quantity.milli_value()))
    };
    quantities
        .into_iter()
        .flatten()
        .filter_map(amount)
        .collect()
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::signal::ResourceName;
    use evenkeel_objects::condition::ConditionStatus;
    use serde_json::json;

    use super::*;

    #[test]
    fn everything_that_scaling_reads_is_read() {
        let time = "2026-03-01T10:00:00Z";
        let cpu = |amount: &str| json!({"requests": {"cpu": amount}});
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "web-1", "deletionTimestamp": time},
            "spec": {
                "containers": [{"name": "app", "resources": cpu("1500m")}],
                "initContainers": [
                    {"name": "copy", "resources": cpu("2")},
                    {"name": "mesh", "restartPolicy": "Always"},
                ],
                "resources": {"requests": {"memory": "1Ki"}},
                "overhead": {"cpu": "0.25"},
            },
            "status": {"phase": "Running", "startTime": time, "conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": time}]},
        }))
        .unwrap();
        let facts = pod_facts(&pod);
        let watched: evenkeel_objects::pod::Pod =
            serde_json::from_value(serde_json::to_value(&pod).unwrap()).unwrap();
        assert_eq!(
            PodFacts::from(&watched),
            facts,
            "the service reads the same"
        );
        let time = time.parse().unwrap();
        assert_eq!(
            (facts.name.as_str(), facts.phase),
            ("web-1", PodPhase::Running)
        );
        assert_eq!((facts.deleted, facts.start_time), (true, Some(time)));
        let ready = ReadyCondition {
            status: ConditionStatus::False,
            last_transition_time: time,
        };
        assert_eq!(facts.ready, Some(ready));
        let cpu = |requests: &ResourceRequests| requests.get(&ResourceName::Cpu);
        assert_eq!(cpu(&facts.spec.containers[0].requests), Some(1_500));
        let sidecars = facts.spec.init_containers.iter().map(|one| one.is_sidecar);
        assert_eq!(sidecars.collect::<Vec<_>>(), [false, true]);
        assert_eq!(cpu(&facts.spec.overhead), Some(250));
        assert_eq!(
            facts.spec.pod_requests.get(&ResourceName::Memory),
            Some(1_024_000)
        );
    }

    #[test]
    fn an_empty_object_is_a_pod_of_which_nothing_is_known() {
        let facts = pod_facts(&Pod::default());
        assert_eq!((facts.phase, facts.ready), (PodPhase::Unknown, None));
        assert!(facts.spec.containers.is_empty() && facts.spec.overhead.is_empty());
    }
}
