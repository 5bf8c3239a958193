//! Nodes without machines: they say Ready, and the taint that the API server puts on every new
//! Node is taken off, which node-lifecycle-controller would do where it ran.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

/// The properties of each of a group of nodes.
#[derive(Debug, Clone)]
pub(crate) struct NodeShape {
    /// Capacity and allocatable by resource name.
    pub resources: BTreeMap<&'static str, String>,
    pub annotations: BTreeMap<String, String>,
}

impl Default for NodeShape {
    fn default() -> Self {
        let resources = [
            ("cpu", "8"),
            ("memory", "32Gi"),
            ("ephemeral-storage", "100Gi"),
            ("pods", "110"),
        ];
        Self {
            resources: resources
                .map(|(name, quantity)| (name, quantity.to_owned()))
                .into(),
            annotations: BTreeMap::new(),
        }
    }
}

impl NodeShape {
    /// The same with one annotation more.
    #[must_use]
    pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }
}

/// Creates `PREFIX-0` .. `PREFIX-(count - 1)` and answers their names.
pub(crate) async fn create(
    client: &Client,
    prefix: &str,
    count: usize,
    shape: &NodeShape,
) -> Vec<String> {
    let nodes: Api<Node> = Api::all(client.clone());
    let mut names = Vec::with_capacity(count);
    for index in 0..count {
        let name = format!("{prefix}-{index}");
        let node = serde_json::from_value(node(&name, shape)).expect("the Node is well formed");
        nodes
            .create(&PostParams::default(), &node)
            .await
            .unwrap_or_else(|error| panic!("Node {name}: {error}"));
        let untainted = Patch::Merge(json!({"spec": {"taints": null}}));
        nodes
            .patch(&name, &PatchParams::default(), &untainted)
            .await
            .unwrap_or_else(|error| panic!("Node {name}: {error}"));
        names.push(name);
    }
    names
}

fn node(name: &str, shape: &NodeShape) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": shape.annotations,
            "labels": {
                "kubernetes.io/hostname": name,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
        "status": {
            "capacity": shape.resources,
            "allocatable": shape.resources,
            "conditions": [
                condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                condition("Ready", "True", "KubeletReady"),
            ],
            "addresses": [{"type": "Hostname", "address": name}],
            "nodeInfo": {
                "machineID": name,
                "systemUUID": name,
                "bootID": name,
                "kernelVersion": "6.1.0",
                "osImage": "none",
                "containerRuntimeVersion": "none://1.0",
                "kubeletVersion": "v1.36.0",
                "kubeProxyVersion": "",
                "operatingSystem": "linux",
                "architecture": "amd64",
            },
        },
    })
}

fn condition(kind: &str, status: &str, reason: &str) -> Value {
    let now = evenkeel_clock::now().to_string();
    json!({
        "type": kind,
        "status": status,
        "reason": reason,
        "message": reason,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    })
}
