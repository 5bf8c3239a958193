//! Bindings: what a scheduler writes once it has chosen, beside its next choice.

use k8s_openapi::api::core::v1::{Binding, Pod};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use super::placed::Placed;
use crate::Event;
use crate::parts::Parts;
use crate::recorder::reference;
use evenkeel_core::placement::usage::PodName;

/// Binds Pods, and tells of it.
#[derive(Clone)]
pub(super) struct Binder {
    pub(super) client: Client,
    pub(super) parts: Parts,
}

impl Binder {
    /// Binds a Pod to the node that was chosen.
    pub(super) async fn bind(&self, pod: &Pod, placed: &Placed) -> kube::Result<()> {
        let namespace = pod.namespace().unwrap_or_default();
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &namespace);
        let binding: Binding = serde_json::from_value(json!({
            "metadata": {"name": pod.name_any(), "namespace": namespace, "uid": pod.uid()},
            "target": {"kind": "Node", "name": placed.node},
        }))
        .map_err(kube::Error::SerdeError)?;
        let _: serde_json::Value = api
            .create_subresource("binding", &pod.name_any(), &PostParams::default(), &binding)
            .await?;
        let message = format!(
            "Successfully assigned {namespace}/{} to {}",
            pod.name_any(),
            placed.node
        );
        let recorder = &self.parts.recorder;
        recorder.normal(reference(pod), "Scheduled", message);
        let event = Event::PodPlaced {
            pod: PodName::new(&namespace, &pod.name_any()),
            node: placed.node.clone(),
            annotations: pod.annotations().clone(),
            score: placed.score,
            why: placed.why.clone(),
        };
        self.parts.tell(event);
        Ok(())
    }
}
