//! The condition that opens a Pod's readiness gate, and closes it while the Pod is out of traffic.
//! It follows from the Pod's state label alone, which the leader writes, so all replicas agree. The
//! first time is the Pod's own, so that two replicas write the same bytes.

use evenkeel_objects::annotations::ONLINE;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_state::PodState;
use jiff::Timestamp;
use serde_json::{Value, json};

/// The strategic merge patch of the status of the Pod with this UID. It keeps other conditions.
#[derive(Debug, Clone, PartialEq)]
pub struct OnlinePatch {
    pub target: ObjectRef,
    pub body: Value,
    /// The word that the condition gets.
    pub status: &'static str,
}

/// The patch that brings the condition in line; `None` if it is, or if the Pod has no gate or has
/// ended.
pub fn patch(pod: &Pod, now: Timestamp) -> Option<OnlinePatch> {
    if !pod.is_gated() || pod.is_finished() {
        return None;
    }
    let found = pod.status.condition(ONLINE);
    let state = pod.state();
    let status = if state.is_off() { "False" } else { "True" };
    if found.is_some_and(|found| found.status == status) {
        return None;
    }
    let made = pod.metadata.creation_timestamp;
    let since = match found {
        None => made.unwrap_or(now),
        Some(_) => now,
    };
    let condition = json!({
        "type": ONLINE,
        "status": status,
        "reason": state.as_str(),
        "message": message(state),
        "lastTransitionTime": format!("{since:.0}"),
    });
    let body = json!({
        "metadata": {"uid": pod.uid()},
        "status": {"conditions": [condition]},
    });
    let target = ObjectRef::in_namespace(Kind::Pod, pod.namespace(), pod.name());
    Some(OnlinePatch {
        target: target.status(),
        body,
        status,
    })
}

const fn message(state: PodState) -> &'static str {
    match state {
        PodState::Online => "the Pod takes traffic once its containers are ready",
        PodState::Cutoff => "its ReplicaProfile has taken the Pod out of traffic",
        PodState::Standby => "its ReplicaProfile has put the Pod on standby",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(label: &Value, condition: &Value) -> Pod {
        let conditions = if condition.is_null() {
            json!([{"type": "Ready", "status": "False"}])
        } else {
            json!([{"type": ONLINE, "status": condition}])
        };
        let mut labels = json!({});
        if label.is_string() {
            labels[evenkeel_objects::annotations::POD_STATE] = label.clone();
        }
        serde_json::from_value(json!({
            "metadata": {"name": "web-1", "namespace": "shop", "uid": "u",
                "creationTimestamp": "2026-11-25T08:00:00Z", "labels": labels},
            "spec": {"readinessGates": [{"conditionType": ONLINE}]},
            "status": {"conditions": conditions},
        }))
        .unwrap()
    }

    #[test]
    fn the_condition_follows_the_label_and_is_written_where_it_does_not() {
        let now = "2026-11-25T09:00:00.7Z".parse().unwrap();
        let (made, later) = ("2026-11-25T08:00:00Z", "2026-11-25T09:00:00Z");
        for (label, condition, written) in [
            (json!(null), json!(null), Some(("True", made))),
            (json!(null), json!("True"), None),
            (json!(null), json!("False"), Some(("True", later))),
            (json!(null), json!("Unknown"), Some(("True", later))),
            (json!("Cutoff"), json!(null), Some(("False", made))),
            (json!("Cutoff"), json!("True"), Some(("False", later))),
            (json!("Standby"), json!("False"), None),
            (json!("what"), json!("False"), Some(("True", later))),
        ] {
            let patch = patch(&pod(&label, &condition), now);
            let found = patch.as_ref().map(|patch| {
                let condition = &patch.body["status"]["conditions"][0];
                assert_eq!(patch.target.to_string(), "pods/status shop/web-1");
                assert_eq!(patch.body["metadata"]["uid"], "u");
                assert_eq!(condition["status"], patch.status);
                (
                    patch.status,
                    condition["lastTransitionTime"].as_str().unwrap(),
                )
            });
            assert_eq!(found, written, "{label} {condition}");
        }
    }

    #[test]
    fn pods_without_the_gate_and_those_that_have_ended_are_left_alone() {
        let now = Timestamp::UNIX_EPOCH;
        let mut ungated = pod(&json!(null), &json!(null));
        ungated.spec.readiness_gates.clear();
        assert_eq!(patch(&ungated, now), None);
        let mut ended = pod(&json!(null), &json!(null));
        ended.status.phase = evenkeel_objects::pod::PodStatusPhase::Failed;
        assert_eq!(patch(&ended, now), None);
    }

    #[test]
    fn two_replicas_that_see_a_new_pod_write_the_same() {
        let new = pod(&json!(null), &json!(null));
        let at = |second: i64| Timestamp::from_second(second).unwrap();
        assert_eq!(patch(&new, at(1)), patch(&new, at(99)));
    }
}
