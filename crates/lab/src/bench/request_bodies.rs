//! Request bodies like those of the API server and kube-scheduler.

use serde_json::{Value, json};

pub(super) const NAMESPACE: &str = "bench";

/// Environment variables that make the Pod as large as an ordinary one.
const VARIABLES: usize = 40;

pub(super) fn node_name(index: u32) -> String {
    format!("node-{index:05}")
}

/// An AdmissionReview of the creation of a Pod of about 5 KB.
pub(super) fn admission_review() -> Vec<u8> {
    let mut body = json!({
        "kind": "AdmissionReview",
        "apiVersion": "admission.k8s.io/v1",
        "request": {
            "uid": "0df28fbd-5f5f-11e8-bc74-36e6bb280816",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": NAMESPACE,
            "operation": "CREATE",
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
            "object": pod(),
            "oldObject": null,
            "dryRun": true,
            "options": {"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"},
        },
    })
    .to_string();
    // The API server ends its bodies with a newline.
    body.push('\n');
    body.into_bytes()
}

/// The extender's arguments: a Pod, and the names of `nodes` nodes.
pub(super) fn extender_args(nodes: u32) -> Vec<u8> {
    let names: Vec<String> = (0..nodes).map(node_name).collect();
    let body = json!({"Pod": pod(), "Nodes": null, "NodeNames": names});
    body.to_string().into_bytes()
}

fn pod() -> Value {
    let variables: Vec<Value> = (0..VARIABLES)
        .map(|index| {
            json!({
                "name": format!("SETTING_{index:02}"),
                "value": "a value as applications have them, of some length",
            })
        })
        .collect();
    json!({
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": {
            "generateName": "web-7c9f8d5b6-",
            "namespace": NAMESPACE,
            "uid": "8f0e2f6e-4a0c-4d62-9d0e-2a6c5f0b1c3d",
            "labels": {"app": "web", "pod-template-hash": "7c9f8d5b6"},
            "annotations": {"evenkeel.dev/network-io": "200Mbps"},
            "ownerReferences": [{
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "name": "web-7c9f8d5b6",
                "uid": "5b1d5c1e-0d3a-4f43-8a3e-7f0a9f7f0f11",
                "controller": true,
                "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "containers": [{
                "name": "web",
                "image": "registry.example.org/web:1.0",
                "env": variables,
                "resources": {"requests": {"cpu": "500m", "memory": "512Mi", "ephemeral-storage": "1Gi"}},
                "terminationMessagePath": "/dev/termination-log",
                "imagePullPolicy": "IfNotPresent",
            }],
            "restartPolicy": "Always",
            "serviceAccountName": "default",
            "schedulerName": "default-scheduler",
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ],
            "priority": 0,
            "enableServiceLinks": true,
        },
        "status": {},
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_admission_review_is_as_large_as_it_says() {
        let size = admission_review().len();
        assert!((4_500..6_000).contains(&size), "{size}");
    }
}
