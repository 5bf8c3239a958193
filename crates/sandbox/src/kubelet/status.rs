//! The status of a Pod, which is a function of its stage and of the resources that it has.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::resize::Allocation;
use crate::Timeline;
use crate::lifecycle::{Lifecycle, Stage};
use crate::objects::stamp;

/// What the status of a Pod is made of.
#[derive(Clone, PartialEq)]
pub(super) struct Written {
    pub(super) stage: Stage,
    pub(super) allocation: Arc<Allocation>,
}

/// The status of a Pod in a stage, with the resources that it has.
pub(super) fn status(pod: &Pod, now: &Written, life: &Lifecycle, timeline: &Timeline) -> Value {
    let Written { stage, allocation } = now;
    let stage = *stage;
    let running = stage >= Stage::Warming;
    let ready = stage == Stage::Ready;
    let word = |holds: bool| if holds { "True" } else { "False" };
    let since = stamp(timeline.date(if ready { life.ready } else { life.running }));
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let containers: Vec<Value> = containers
        .map(|container| {
            let doing = if running {
                json!({"running": {"startedAt": stamp(timeline.date(life.running))}})
            } else {
                json!({"waiting": {"reason": "ContainerCreating"}})
            };
            json!({
                "name": container.name, "image": container.image, "imageID": "",
                "containerID": format!("simulated://{}", container.name),
                "restartCount": 0, "ready": ready, "started": running, "state": doing,
                "resources": allocation.of(&container.name),
                "allocatedResources": allocation.requests(&container.name),
            })
        })
        .collect();
    let condition = |kind: &str, holds: bool| {
        json!({
            "type": kind, "status": word(holds), "lastTransitionTime": since,
        })
    };
    json!({"status": {
        "phase": if running { "Running" } else { "Pending" },
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "startTime": pod.status.as_ref().and_then(|status| status.start_time.clone())
            .map_or_else(|| Value::from(since.clone()), |time| json!(time)),
        "conditions": [
            condition("Initialized", true),
            condition("Ready", ready),
            condition("ContainersReady", ready),
            allocation.condition(),
        ],
        "containerStatuses": containers,
    }})
}

#[cfg(test)]
mod tests {
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::kubelet::resize::{Allocations, Place};
    use crate::scenario::Startup;
    use evenkeel_kubernetes as kubernetes;

    #[test]
    fn the_status_follows_the_stage_as_the_rules_read_it() {
        let second = SignedDuration::from_secs;
        let timeline = Timeline::begun(Timestamp::from_second(1_000).unwrap());
        let startup = Startup {
            pull: second(3),
            start: second(2),
            warm_up: second(5),
        };
        let life = Lifecycle::new(&startup, second(10), false);
        let mut object =
            json!({"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}});
        let pod: Pod = serde_json::from_value(object.clone()).unwrap();
        let nowhere = Place {
            name: "n",
            node: None,
        };
        let mut allocations = Allocations::default();
        let allocation = allocations.look(&pod, nowhere, timeline.date(second(0)));
        for (stage, phase, started) in [
            (Stage::Pulling, "Pending", None),
            (Stage::Starting, "Pending", None),
            (Stage::Warming, "Running", Some(1_015)),
            (Stage::Ready, "Running", Some(1_015)),
        ] {
            let now = Written {
                stage,
                allocation: allocation.clone(),
            };
            json_patch::merge(&mut object, &status(&pod, &now, &life, &timeline));
            let read: kubernetes::pod::Pod = serde_json::from_value(object.clone()).unwrap();
            assert_eq!(object["status"]["phase"], phase);
            assert_eq!(
                read.started_at().map(Timestamp::as_second),
                started,
                "{stage:?}"
            );
            let ready = read
                .status
                .condition("Ready")
                .map(|ready| ready.status == "True");
            assert_eq!(ready, Some(stage == Stage::Ready));
        }
    }
}
