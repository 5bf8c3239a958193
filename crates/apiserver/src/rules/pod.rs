//! Pods: defaults of the spec, requests from limits, tolerations of lost nodes, QoS class.

use serde_json::{Value, json};

use crate::error::Cause;
use crate::meta;
use crate::rules::pod_spec;
use crate::rules::pod_spec::CONTAINERS;

/// Seconds that a Pod stays on a node that is not ready or not reachable.
const PATIENCE: u64 = 300;

pub(super) fn defaults(pod: &mut Value) {
    let spec = meta::child(pod, "spec");
    pod_spec::defaults(spec);
    meta::default(spec, "enableServiceLinks", true);
    for list in CONTAINERS {
        for container in meta::each_mut(spec, list) {
            requests_from_limits(container);
        }
    }
}

pub(super) fn complete(pod: &mut Value) {
    let class = qos_class(&pod["spec"]);
    meta::child(pod, "status")["qosClass"] = class.into();
}

/// Every new Pod gets these.
pub(crate) fn tolerate_lost_nodes(pod: &mut Value) {
    let spec = meta::child(pod, "spec");
    for taint in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let tolerated = meta::list(spec, "/tolerations").iter().any(|toleration| {
            let key = meta::text(toleration, "/key");
            let effect = meta::text(toleration, "/effect");
            (key == taint || key.is_empty()) && matches!(effect, "NoExecute" | "")
        });
        if tolerated {
            continue;
        }
        if !spec["tolerations"].is_array() {
            spec["tolerations"] = json!([]);
        }
        if let Some(tolerations) = spec["tolerations"].as_array_mut() {
            tolerations.push(json!({"key": taint, "operator": "Exists",
                "effect": "NoExecute", "tolerationSeconds": PATIENCE}));
        }
    }
}

fn requests_from_limits(container: &mut Value) {
    let Some(limits) = meta::map(container, "/resources/limits").cloned() else {
        return;
    };
    let requests = meta::child(meta::child(container, "resources"), "requests");
    for (name, limit) in limits {
        meta::default(requests, &name, limit);
    }
}

/// By the containers' requests and limits.
pub(crate) fn qos_class(spec: &Value) -> &'static str {
    let mut any = false;
    let mut guaranteed = true;
    let containers = CONTAINERS
        .iter()
        .flat_map(|list| meta::list(&spec[*list], ""));
    for container in containers {
        for resource in ["cpu", "memory"] {
            let request = &container["resources"]["requests"][resource];
            let limit = &container["resources"]["limits"][resource];
            any |= !request.is_null() || !limit.is_null();
            guaranteed &= !limit.is_null() && request == limit;
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}

pub(super) fn validate(pod: &Value, causes: &mut Vec<Cause>) {
    pod_spec::validate(&pod["spec"], "spec", causes);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_become_requests_and_decide_the_class() {
        let container =
            |resources: Value| json!({"spec": {"containers": [{"resources": resources}]}});
        for (resources, class) in [
            (json!({}), "BestEffort"),
            (
                json!({"limits": {"cpu": "1", "memory": "1Gi"}}),
                "Guaranteed",
            ),
            (json!({"requests": {"cpu": "1"}}), "Burstable"),
            (json!({"limits": {"cpu": "1"}}), "Burstable"),
        ] {
            let mut pod = container(resources);
            defaults(&mut pod);
            complete(&mut pod);
            assert_eq!(pod["status"]["qosClass"], class);
        }
    }

    #[test]
    fn lost_nodes_are_tolerated_once() {
        let mut pod = json!({"spec": {"tolerations": [
            {"key": "node.kubernetes.io/not-ready", "effect": "NoExecute"}]}});
        for _ in 0..2 {
            tolerate_lost_nodes(&mut pod);
            assert_eq!(meta::list(&pod, "/spec/tolerations").len(), 2);
        }
    }
}
