use evenkeel_objects::managed_fields::MANAGER;
use serde_json::{Value, json};

use super::*;

/// The managed fields of a Pod on which `manager` has written the record of a resize.
pub(crate) fn written_by(manager: &str) -> Value {
    let fields = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/resized": {}}}});
    json!([{"manager": manager, "fieldsV1": fields}])
}

/// A running Pod with one container `app` of these resources, on which Evenkeel writes.
pub(crate) fn running(resources: &Value) -> Value {
    json!({
        "metadata": {"name": "web-1", "namespace": "shop", "uid": "u", "resourceVersion": "7",
            "managedFields": written_by(MANAGER)},
        "spec": {"nodeName": "a", "containers": [{"name": "app", "resources": resources}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "app", "resources": resources, "allocatedResources": resources["requests"]}]}
    })
}

pub(crate) fn of(pod: Value) -> ResizablePod {
    let pod: Pod = serde_json::from_value(pod).unwrap();
    ResizablePod::of(&pod).unwrap()
}

fn burstable() -> Value {
    json!({"requests": {"cpu": "300m", "memory": "200Mi"}, "limits": {"cpu": "600m", "memory": "400Mi"}})
}

#[test]
fn each_obstacle_is_named() {
    let with = |change: fn(&mut Value)| {
        let mut pod = running(&burstable());
        change(&mut pod);
        of(pod).obstacle.map(Obstacle::reason)
    };
    assert_eq!(with(|_| {}), None);
    let static_pod = |pod: &mut Value| {
        pod["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    };
    assert_eq!(with(static_pod), Some("StaticPod"));
    let windows = |pod: &mut Value| pod["spec"]["os"] = json!({"name": "windows"});
    assert_eq!(with(windows), Some("Windows"));
    let whole = |pod: &mut Value| pod["spec"]["resources"] = json!({"limits": {"cpu": "1"}});
    assert_eq!(with(whole), Some("PodLevelResources"));
    let claims = |pod: &mut Value| {
        pod["status"]["nodeAllocatableResourceClaimStatuses"] = json!([{"resourceClaimName": "x"}]);
    };
    assert_eq!(with(claims), Some("NodeResourceClaims"));
    let effort = |pod: &mut Value| pod["spec"]["containers"][0]["resources"] = json!({});
    assert_eq!(with(effort), Some("BestEffort"));
    let pending = |pod: &mut Value| pod["status"]["phase"] = json!("Pending");
    assert_eq!(with(pending), Some("NotRunning"));
    let old = |pod: &mut Value| {
        pod["status"]["containerStatuses"] = json!([{"name": "app"}]);
    };
    assert_eq!(with(old), Some("NodeWithoutSupport"));
}

#[test]
fn the_class_is_that_of_all_containers() {
    let equal = json!({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1000m", "memory": "1Gi"}});
    for (resources, init, class) in [
        (equal.clone(), json!([]), QosClass::Guaranteed),
        (burstable(), json!([]), QosClass::Burstable),
        (json!({}), json!([]), QosClass::BestEffort),
        (
            json!({"limits": {"cpu": "1"}}),
            json!([]),
            QosClass::Burstable,
        ),
        (
            equal.clone(),
            json!([{"name": "init"}]),
            QosClass::Burstable,
        ),
        (
            equal.clone(),
            json!([{"name": "init", "resources": equal}]),
            QosClass::Guaranteed,
        ),
    ] {
        let mut pod = running(&resources);
        pod["spec"]["initContainers"] = init;
        assert_eq!(of(pod).class(), class, "{resources}");
    }
}

#[test]
fn a_resize_under_way_is_seen_by_its_conditions_and_by_what_the_containers_have() {
    let phase = |pod: Value| of(pod).resize.map(|resize| resize.phase);
    let settled = running(&burstable());
    assert_eq!(phase(settled.clone()), None);
    for (kind, reason, expected) in [
        ("PodResizePending", "Deferred", ResizePhase::Deferred),
        ("PodResizePending", "Infeasible", ResizePhase::Infeasible),
        ("PodResizeInProgress", "", ResizePhase::InProgress),
        ("PodResizeInProgress", "Error", ResizePhase::Error),
    ] {
        let mut pod = settled.clone();
        pod["status"]["conditions"] = json!([{"type": kind, "status": "True", "reason": reason,
            "message": "why", "lastTransitionTime": "2026-01-01T00:00:00Z"}]);
        let resize = of(pod.clone()).resize.unwrap();
        assert_eq!(resize.phase, expected, "{kind} {reason}");
        assert_eq!((&*resize.message, resize.since.is_some()), ("why", true));
        pod["status"]["conditions"][0]["status"] = json!("False");
        assert_eq!(phase(pod), None);
    }
    let mut asked = settled.clone();
    asked["spec"]["containers"][0]["resources"]["limits"]["cpu"] = json!("900m");
    assert_eq!(phase(asked), Some(ResizePhase::Unseen));
    // Kubelet gives no container less than ten millicores.
    let tiny = json!({"requests": {"cpu": "5m"}, "limits": {"cpu": "5m"}});
    let mut pod = running(&tiny);
    pod["status"]["containerStatuses"][0]["resources"]["limits"]["cpu"] = json!("10m");
    assert_eq!(phase(pod), None);
}

#[test]
fn what_has_ended_or_goes_is_left_out() {
    for change in [
        json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}}),
        json!({"status": {"phase": "Succeeded"}}),
    ] {
        let mut pod = running(&burstable());
        json_patch::merge(&mut pod, &change);
        let pod: Pod = serde_json::from_value(pod).unwrap();
        assert_eq!(ResizablePod::of(&pod), None);
    }
}

/// An annotation may have 256 KiB, and every replica would keep ten times as much of each Pod.
#[test]
fn endless_records_are_neither_read_nor_kept() {
    let names = |count: usize| -> Value {
        let names = (0..count).map(|number| (format!("{number:x}"), json!({})));
        names.collect::<serde_json::Map<_, _>>().into()
    };
    let annotated = |others: usize| {
        let mut original = names(others);
        original["app"] = burstable();
        let record = json!({"by": "tuning", "original": original, "from": {"app": burstable()},
            "to": {"app": burstable()}, "at": "2026-01-01T00:00:00Z",
            "marks": {"lacked": names(others).as_object().unwrap().keys().collect::<Vec<_>>()}});
        let mut pod = running(&burstable());
        pod["metadata"]["annotations"] = json!({"evenkeel.dev/resized": record.to_string()});
        of(pod)
    };
    let short = annotated(1_500).record.unwrap().unwrap();
    let kept: Vec<_> = short.original.keys().map(|name| &**name).collect();
    assert_eq!(kept, ["app"], "the Pod has no other container");
    assert!(short.marks.lacked.is_empty());
    let long = annotated(25_000);
    assert_eq!(long.record, Some(Err(RefusedRecord::Unreadable)));
    assert!(
        long.is_resized_by(Resizer::Tuning),
        "it is told of at the end"
    );
}
