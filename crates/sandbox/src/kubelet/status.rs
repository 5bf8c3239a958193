//! A Pod's status, a function of its stage and resources.

use std::sync::Arc;

use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use serde_json::{Value, json};

use super::resize::Allocation;
use crate::Timeline;
use crate::lifecycle::{Lifecycle, Stage};
use crate::objects::stamp;

/// All conditions of readiness hold.
pub(super) fn is_open(pod: &Pod) -> bool {
    let gates = pod
        .spec
        .iter()
        .flat_map(|spec| spec.readiness_gates.iter().flatten());
    let mut gates = gates.map(|gate| condition(pod, &gate.condition_type));
    gates.all(|found| found.is_some_and(|found| found.status == "True"))
}

fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    let conditions = pod
        .status
        .iter()
        .flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().find(|found| found.type_ == kind)
}

#[derive(Clone, PartialEq)]
pub(super) struct PodStatusInput {
    pub(super) stage: Stage,
    /// Its readiness gates are open.
    pub(super) is_open: bool,
    pub(super) allocation: Arc<Allocation>,
}

pub(super) fn status(
    pod: &Pod,
    written: &PodStatusInput,
    life: &Lifecycle,
    timeline: &Timeline,
    now: Timestamp,
) -> Value {
    let PodStatusInput {
        stage,
        is_open,
        allocation,
    } = written;
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
    let told = |kind: &str, holds: bool| {
        json!({
            "type": kind, "status": word(holds), "lastTransitionTime": since,
        })
    };
    let mut whole = told("Ready", ready && *is_open);
    let is_gated = pod
        .spec
        .as_ref()
        .is_some_and(|spec| spec.readiness_gates.is_some());
    if ready && is_gated {
        let before = condition(pod, "Ready").filter(|before| whole["status"] == before.status);
        let since = before.and_then(|before| before.last_transition_time.as_ref());
        whole["lastTransitionTime"] = since.map_or_else(|| stamp(now).into(), |since| json!(since));
    }
    let [pending, applying] = allocation.conditions();
    json!({"status": {
        "phase": if running { "Running" } else { "Pending" },
        "hostIP": "127.0.0.1",
        "podIP": "127.0.0.1",
        "startTime": pod.status.as_ref().and_then(|status| status.start_time.clone())
            .map_or_else(|| Value::from(since.clone()), |time| json!(time)),
        "conditions": [
            told("Initialized", true),
            whole,
            told("ContainersReady", ready),
            pending,
            applying,
        ],
        "containerStatuses": containers,
    }})
}

#[cfg(test)]
mod tests {
    use evenkeel_objects as kubernetes;
    use jiff::SignedDuration;

    use super::*;
    use crate::kubelet::resize::{Allocations, PodHostNode};
    use crate::scenario::Startup;

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
        let nowhere = PodHostNode {
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
            let now = Timestamp::from_second(2_000).unwrap();
            let written = PodStatusInput {
                stage,
                is_open: is_open(&pod),
                allocation: allocation.clone(),
            };
            json_patch::merge(&mut object, &status(&pod, &written, &life, &timeline, now));
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

    #[test]
    fn a_pod_is_ready_once_its_gates_are_open() {
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        let timeline = Timeline::begun(at(1_000));
        let startup = Startup {
            pull: SignedDuration::ZERO,
            start: SignedDuration::ZERO,
            warm_up: SignedDuration::ZERO,
        };
        let life = Lifecycle::new(&startup, SignedDuration::ZERO, true);
        for (gate, open) in [(None, false), (Some("False"), false), (Some("True"), true)] {
            let conditions: Vec<Value> = gate
                .iter()
                .map(|status| json!({"type": "a/b", "status": status}))
                .collect();
            let pod: Pod = serde_json::from_value(json!({
                "metadata": {"name": "a"},
                "spec": {"containers": [], "readinessGates": [{"conditionType": "a/b"}]},
                "status": {"conditions": conditions},
            }))
            .unwrap();
            assert_eq!(is_open(&pod), open, "{gate:?}");
            let nowhere = PodHostNode {
                name: "n",
                node: None,
            };
            let written = PodStatusInput {
                stage: Stage::Ready,
                is_open: open,
                allocation: Allocations::default().look(&pod, nowhere, at(2_000)),
            };
            let status = status(&pod, &written, &life, &timeline, at(2_000));
            let conditions = &status["status"]["conditions"];
            assert_eq!(conditions[1]["status"] == "True", open, "{gate:?}");
            assert_eq!(
                conditions[1]["lastTransitionTime"],
                stamp(at(2_000)).as_str()
            );
            assert_eq!(
                conditions[2]["status"], "True",
                "its containers are ready all the same"
            );
        }
    }
}
