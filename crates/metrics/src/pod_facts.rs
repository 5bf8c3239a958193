//! Pods as the HPA algorithm reads them.

use std::sync::Arc;

use evenkeel_objects::pod;
use evenkeel_objects::resource_list::ResourceList;
use jiff::Timestamp;

use crate::pod::{
    ContainerFacts, PodFacts, PodPhase, PodSpecFacts, ReadyCondition, ResourceRequests,
};

impl From<&pod::Pod> for PodFacts {
    /// The facts of a Pod as watches hold it; of the resources those that rules read.
    fn from(pod: &pod::Pod) -> Self {
        let pod::PodSpec {
            containers,
            init_containers,
            resources,
            overhead,
            ..
        } = &pod.spec;
        let read = |all: &[pod::Container]| all.iter().map(ContainerFacts::from).collect();
        let ready = pod.status.condition("Ready");
        Self {
            name: pod.name().to_owned(),
            phase: pod.status.phase.into(),
            deleted: pod.is_terminating(),
            start_time: pod.status.start_time,
            ready: ready.map(|ready| ReadyCondition {
                status: ready.status.as_str().into(),
                last_transition_time: ready.last_transition_time.unwrap_or(Timestamp::MIN),
            }),
            spec: Arc::new(PodSpecFacts {
                containers: read(containers),
                init_containers: read(init_containers),
                pod_requests: amounts(&resources.requests),
                overhead: amounts(overhead),
            }),
        }
    }
}

impl From<&pod::Container> for ContainerFacts {
    fn from(container: &pod::Container) -> Self {
        Self {
            name: container.name.clone().unwrap_or_default(),
            requests: amounts(&container.resources.requests),
            is_sidecar: container.is_sidecar(),
        }
    }
}

impl From<pod::PodStatusPhase> for PodPhase {
    fn from(phase: pod::PodStatusPhase) -> Self {
        match phase {
            pod::PodStatusPhase::Pending => Self::Pending,
            pod::PodStatusPhase::Running => Self::Running,
            pod::PodStatusPhase::Succeeded => Self::Succeeded,
            pod::PodStatusPhase::Failed => Self::Failed,
            pod::PodStatusPhase::Unknown => Self::Unknown,
        }
    }
}

fn amounts(list: &ResourceList) -> ResourceRequests {
    let amount = |(name, thousandths): (&str, u64)| {
        (name.into(), i64::try_from(thousandths).unwrap_or(i64::MAX))
    };
    list.thousandths().map(amount).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::signal::ResourceName;

    #[test]
    fn a_watched_pod_gives_requests_sidecars_and_readiness() {
        let time = "2026-03-01T10:00:00Z";
        let pod: pod::Pod = serde_json::from_value(json!({
            "metadata": {"name": "web-1", "deletionTimestamp": time},
            "spec": {
                "containers": [{"name": "app", "resources": {"requests": {"cpu": "1500m"}}}],
                "initContainers": [{"name": "copy"}, {"name": "mesh", "restartPolicy": "Always"}],
                "overhead": {"cpu": "0.25"},
            },
            "status": {"phase": "Running", "startTime": time, "conditions": [
                {"type": "Ready", "status": "False", "lastTransitionTime": time}]},
        }))
        .unwrap();
        let facts = PodFacts::from(&pod);
        let time = time.parse().unwrap();
        let ready = facts
            .ready
            .map(|ready| (ready.status.as_str(), ready.last_transition_time));
        assert_eq!(ready, Some(("False", time)));
        assert_eq!(
            (facts.phase, facts.start_time),
            (PodPhase::Running, Some(time))
        );
        assert!(facts.deleted);
        let cpu = |requests: &ResourceRequests| requests.get(&ResourceName::Cpu);
        assert_eq!(cpu(&facts.spec.containers[0].requests), Some(1_500));
        assert_eq!(cpu(&facts.spec.overhead), Some(250));
        let sidecars = facts.spec.init_containers.iter().map(|one| one.is_sidecar);
        assert_eq!(sidecars.collect::<Vec<_>>(), [false, true]);
    }
}
