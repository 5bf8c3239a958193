//! Objects that tests make: namespaces that take Pods, and Pods.

use std::collections::BTreeMap;

use futures::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::api::{ListParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use super::clear::await_service_account;
use super::wait::eventually;

/// A Pod as tests describe it.
#[derive(Debug, Clone, Default)]
pub(crate) struct PodSketch {
    pub annotations: BTreeMap<String, String>,
    /// Requests of its only container.
    pub requests: BTreeMap<&'static str, String>,
    /// The JSON that is merged into the object: labels, constraints.
    pub more: Value,
}

impl PodSketch {
    /// A Pod that requests this much.
    pub(crate) fn requesting(cpu: &str, memory: &str) -> Self {
        let requests = [("cpu", cpu.to_owned()), ("memory", memory.to_owned())];
        Self {
            annotations: BTreeMap::new(),
            requests: requests.into(),
            more: Value::Null,
        }
    }

    /// The same with `more` merged into the object.
    #[must_use]
    pub(crate) fn with(mut self, more: Value) -> Self {
        self.more = more;
        self
    }

    /// The same with one annotation more.
    #[must_use]
    pub(crate) fn annotated(mut self, key: &str, value: &str) -> Self {
        self.annotations.insert(key.to_owned(), value.to_owned());
        self
    }

    /// The object, named.
    pub(crate) fn to_pod(&self, name: &str) -> Pod {
        let mut pod = json!({
            "metadata": {"name": name, "annotations": self.annotations},
            "spec": {"containers": [{
                "name": "app",
                "image": "registry.example/app:1",
                "resources": {"requests": self.requests},
            }]},
        });
        if !self.more.is_null() {
            json_patch::merge(&mut pod, &self.more);
        }
        serde_json::from_value(pod).expect("the Pod is well formed")
    }

    /// Creates it and answers what the API server made of it.
    pub(crate) async fn create(&self, client: &Client, namespace: &str, name: &str) -> Pod {
        Api::namespaced(client.clone(), namespace)
            .create(&PostParams::default(), &self.to_pod(name))
            .await
            .unwrap_or_else(|error| panic!("Pod {namespace}/{name}: {error}"))
    }
}

/// Creates `count` Pods, a few at a time.
pub(crate) async fn create_pods(
    client: &Client,
    namespace: &str,
    count: usize,
    sketch: &PodSketch,
) {
    stream::iter(0..count)
        .for_each_concurrent(8, async |index| {
            sketch
                .create(client, namespace, &format!("pod-{index}"))
                .await;
        })
        .await;
}

/// Creates a namespace and waits until it takes Pods.
pub(crate) async fn create_namespace(client: &Client, name: &str, annotations: &[(&str, &str)]) {
    let annotations: BTreeMap<_, _> = annotations.iter().copied().collect();
    let namespace: Namespace = serde_json::from_value(json!({
        "metadata": {"name": name, "annotations": annotations},
    }))
    .expect("the Namespace is well formed");
    Api::all(client.clone())
        .create(&PostParams::default(), &namespace)
        .await
        .unwrap_or_else(|error| panic!("Namespace {name}: {error}"));
    await_service_account(client, name).await;
}

/// All Pods of a namespace.
pub(crate) async fn pods(client: &Client, namespace: &str) -> Vec<Pod> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let list = pods.list(&ListParams::default()).await;
    list.unwrap_or_else(|error| panic!("Pods of {namespace}: {error}"))
        .items
}

/// The node that a Pod was bound to.
pub(crate) fn node_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.node_name.as_deref()
}

/// Waits until all Pods of a namespace run; answers how many each node has.
pub(crate) async fn await_running(client: &Client, namespace: &str) -> BTreeMap<String, usize> {
    eventually(&format!("all Pods of {namespace} run"), async || {
        let pods = pods(client, namespace).await;
        let mut by_node = BTreeMap::new();
        for pod in &pods {
            let status = pod.status.as_ref();
            let phase = status.and_then(|status| status.phase.as_deref());
            match (phase, node_of(pod)) {
                (Some("Running"), Some(node)) => *by_node.entry(node.to_owned()).or_default() += 1,
                _ => return Err(format!("{:?} is {phase:?}", pod.metadata.name)),
            }
        }
        Ok(by_node)
    })
    .await
}
