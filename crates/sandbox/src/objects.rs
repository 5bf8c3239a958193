//! The scenario as Kubernetes objects.

use evenkeel_units::{Amount, Resource, Resources};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Namespace, Node};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::adapter::REQUESTS;
use crate::scenario::{NodeShape, ScaleBy, ScenarioHpa, ScenarioWorkload};

/// The workload of a Pod.
pub const APP: &str = "app.kubernetes.io/name";

/// Nothing pulls it.
const IMAGE: &str = "registry.example/evenkeel/simulated:1";

pub fn namespace(name: &str) -> Namespace {
    typed(json!({"metadata": {"name": name}}))
}

/// Without its status, which is a resource of its own.
pub fn node(shape: &NodeShape) -> Node {
    typed(json!({
        "metadata": {
            "name": shape.name,
            "labels": {"kubernetes.io/hostname": shape.name, "kubernetes.io/os": "linux"},
        },
    }))
}

/// `ready` holds since `now`.
pub fn node_status(shape: &NodeShape, ready: bool, now: jiff::Timestamp) -> Value {
    let (status, reason, message) = if ready {
        ("True", "KubeletReady", "kubelet is posting ready status")
    } else {
        (
            "Unknown",
            "NodeStatusUnknown",
            "Kubelet stopped posting node status.",
        )
    };
    let mut amounts = quantities(&shape.capacity);
    amounts["pods"] = shape.pods.to_string().into();
    json!({"status": {
        "capacity": amounts,
        "allocatable": amounts,
        "conditions": [{
            "type": "Ready", "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": stamp(now), "lastTransitionTime": stamp(now),
        }],
        "addresses": [
            {"type": "Hostname", "address": shape.name},
            {"type": "InternalIP", "address": "127.0.0.1"},
        ],
        "nodeInfo": {
            "architecture": "amd64", "operatingSystem": "linux", "osImage": "simulated",
            "kernelVersion": "", "containerRuntimeVersion": "simulated://1",
            "kubeletVersion": "v1.33.0", "kubeProxyVersion": "", "machineID": "",
            "systemUUID": "", "bootID": "",
        },
    }})
}

pub fn deployment(workload: &ScenarioWorkload) -> Deployment {
    let ScenarioWorkload {
        name,
        namespace,
        replicas,
        demand,
        limits,
        annotations,
        ..
    } = workload;
    let mut resources = json!({"requests": quantities(demand)});
    let limits = quantities(limits);
    if limits.as_object().is_some_and(|limits| !limits.is_empty()) {
        resources["limits"] = limits;
    }
    let labels = json!({APP: name});
    typed(json!({
        "metadata": {"name": name, "namespace": namespace, "labels": labels,
            "annotations": annotations},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {"containers": [{
                    "name": "main",
                    "image": IMAGE,
                    "resources": resources,
                }]},
            },
        },
    }))
}

pub fn autoscaler(workload: &ScenarioWorkload, scale: &ScenarioHpa) -> HorizontalPodAutoscaler {
    let ScenarioWorkload {
        name, namespace, ..
    } = workload;
    let annotations = &workload.scale_annotations;
    typed(json!({
        "metadata": {"name": name, "namespace": namespace, "annotations": annotations},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": scale.min,
            "maxReplicas": scale.max,
            "metrics": [metric(scale.by)],
        },
    }))
}

fn metric(by: ScaleBy) -> Value {
    match by {
        ScaleBy::Cpu(share) => {
            let percent = Amount::from_f64(share.get() * 100.0).get();
            let target = json!({"type": "Utilization", "averageUtilization": percent});
            json!({"type": "Resource", "resource": {"name": "cpu", "target": target}})
        }
        ScaleBy::Requests(requests) => {
            let target = json!({"type": "AverageValue", "averageValue": requests.to_string()});
            json!({"type": "Pods", "pods": {"metric": {"name": REQUESTS}, "target": target}})
        }
    }
}

/// Cpu, memory and disk as in requests and capacities, without zeros.
fn quantities(amounts: &Resources<Amount>) -> Value {
    let names = [
        ("cpu", Resource::Cpu, "m"),
        ("memory", Resource::Memory, ""),
        ("ephemeral-storage", Resource::Disk, ""),
    ];
    let given = names
        .into_iter()
        .filter(|(_, resource, _)| amounts[*resource] > Amount::ZERO);
    given
        .map(|(name, resource, suffix)| {
            let text = format!("{}{suffix}", amounts[resource].get());
            (name.to_owned(), Value::from(text))
        })
        .collect()
}

pub fn stamp(now: jiff::Timestamp) -> String {
    now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// Since when a condition holds: unchanged if it held before.
pub(crate) fn condition_since(status: &Value, kind: &str, holds: &str, now: &str) -> String {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    let mut same = conditions.filter(|is| is["type"] == kind && is["status"] == holds);
    let since = same.next().and_then(|is| is["lastTransitionTime"].as_str());
    since.unwrap_or(now).to_owned()
}

/// From JSON that is written in this program.
pub fn typed<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("these objects are written in the shape of their types")
}
