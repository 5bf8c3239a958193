//! The Pods that a ReplicaSet deletes first, from their objects.

use std::sync::Arc;

use evenkeel_objects::annotations::POD_DELETION_COST;
use evenkeel_placement::deletion_order::{ActivePodPhase, Victim, in_order as by_deletion};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{ContainerStatus, Pod};
use kube::ResourceExt as _;

use super::status::is_ready;

/// In the order of deletion. `related` are the active Pods of all ReplicaSets with the same owner.
pub(super) fn in_order(pods: &[Arc<Pod>], related: &[Arc<Pod>], now: Timestamp) -> Vec<Arc<Pod>> {
    let facts: Vec<_> = pods.iter().map(|pod| victim(pod, now)).collect();
    let related = related.iter().map(|pod| node(pod));
    let order = by_deletion(&facts, related);
    order.into_iter().map(|at| Arc::clone(&pods[at])).collect()
}

fn victim(pod: &Pod, now: Timestamp) -> Victim<&str, String> {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    let age = |since: Option<Timestamp>| since.map(|since| now.duration_since(since));
    Victim {
        node: node(pod),
        phase: match phase {
            Some("Pending") => ActivePodPhase::Pending,
            Some("Running") => ActivePodPhase::Running,
            Some(_) | None => ActivePodPhase::Unknown,
        },
        is_ready: is_ready(pod),
        cost: cost(pod),
        ready_for: age(ready_since(pod)),
        restarts: restarts(pod),
        age: age(pod.creation_timestamp().map(|time| time.0)),
        identity: pod.uid().unwrap_or_default(),
    }
}

fn node(pod: &Pod) -> Option<&str> {
    let node = pod.spec.as_ref()?.node_name.as_deref();
    node.filter(|name| !name.is_empty())
}

/// By annotation; 0 if it is missing or no number.
fn cost(pod: &Pod) -> i32 {
    let cost = pod.annotations().get(POD_DELETION_COST);
    cost.and_then(|cost| cost.parse().ok()).unwrap_or(0)
}

fn ready_since(pod: &Pod) -> Option<Timestamp> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let ready = conditions
        .iter()
        .find(|condition| condition.type_ == "Ready")?;
    ready.last_transition_time.as_ref().map(|time| time.0)
}

/// Restarts of the container restarted most often; sidecars come second.
fn restarts(pod: &Pod) -> [i32; 2] {
    let status = pod.status.as_ref();
    let most = |statuses: Option<&Vec<ContainerStatus>>, counts: &dyn Fn(&str) -> bool| {
        let counted = statuses.into_iter().flatten();
        let counted = counted.filter(|status| counts(&status.name));
        counted
            .map(|status| status.restart_count)
            .max()
            .unwrap_or(0)
    };
    let is_sidecar = |name: &str| {
        let spec = pod
            .spec
            .as_ref()
            .and_then(|spec| spec.init_containers.as_ref());
        let mut containers = spec.into_iter().flatten();
        containers.any(|container| {
            container.name == name && container.restart_policy.as_deref() == Some("Always")
        })
    };
    [
        most(status.and_then(|s| s.container_statuses.as_ref()), &|_| {
            true
        }),
        most(
            status.and_then(|s| s.init_container_statuses.as_ref()),
            &is_sidecar,
        ),
    ]
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const NOW: &str = "2026-01-01T10:00:00Z";

    /// Ready on node `n`, of one age, with a change.
    fn pod(name: &str, change: &Value) -> Arc<Pod> {
        let mut pod = json!({
            "metadata": {"name": name, "uid": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"containers": [], "nodeName": "n"},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True",
                "lastTransitionTime": "2026-01-01T00:01:00Z"}]}});
        json_patch::merge(&mut pod, change);
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn order(pods: &[Arc<Pod>]) -> Vec<String> {
        let ordered = in_order(pods, pods, NOW.parse().unwrap());
        ordered.iter().map(|pod| pod.name_any()).collect()
    }

    fn costing(cost: &str) -> Value {
        json!({"metadata": {"annotations": {POD_DELETION_COST: cost}}})
    }

    #[test]
    fn each_rule_holds_before_those_after_it() {
        let ready = |status: &str, since: &str| {
            json!({"status": {"conditions": [{"type": "Ready", "status": status,
                "lastTransitionTime": since}]}})
        };
        let elsewhere = |node: &str| json!({"spec": {"nodeName": node}});
        let restarted = json!({"spec": {"nodeName": "o"}, "status": {"containerStatuses": [{
            "name": "app", "restartCount": 3, "ready": true, "image": "", "imageID": ""}]}});
        let pods = [
            pod(
                "young",
                &json!({"metadata": {"creationTimestamp": "2026-01-01T09:00:00Z"},
                "spec": {"nodeName": "o"}}),
            ),
            pod("old", &elsewhere("p")),
            pod("restarted", &restarted),
            pod("lately-ready", &ready("True", "2026-01-01T09:59:00Z")),
            pod("doubled", &json!({})),
            pod("dear", &costing("5")),
            pod("cheap", &costing("-1")),
            pod("no-number", &costing("cheap")),
            pod("unready", &ready("False", "2026-01-01T00:01:00Z")),
            pod("pending", &json!({"status": {"phase": "Pending"}})),
            pod("unplaced", &json!({"spec": {"nodeName": null}})),
        ];
        let expected = [
            "unplaced",
            "pending",
            "unready",
            "cheap",
            "lately-ready",
            "doubled",
            "no-number",
            "restarted",
            "young",
            "old",
            "dear",
        ];
        assert_eq!(order(&pods), expected);
        let turned: Vec<_> = pods.iter().rev().cloned().collect();
        assert_eq!(order(&turned)[..5], expected[..5]);
    }

    #[test]
    fn within_a_power_of_two_of_age_identity_decides() {
        let made =
            |name: &str, at: &str| pod(name, &json!({"metadata": {"creationTimestamp": at}}));
        let pods = [
            made("b", "2026-01-01T05:00:00Z"),
            made("a", "2026-01-01T04:00:00Z"),
            made("c", "2026-01-01T09:59:00Z"),
        ];
        assert_eq!(order(&pods), ["c", "a", "b"]);
    }
}
