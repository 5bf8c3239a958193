//! Bindings, written concurrently with the scheduler's next choice.

use evenkeel_objects::pod_name::PodName;
use k8s_openapi::api::core::v1::{Binding, Pod};
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;

use super::extender::Extender;
use super::placement_choice::PlacementChoice;
use crate::SandboxEvent;
use crate::control_plane_context::ControlPlaneContext;
use crate::recorder::reference;

#[derive(Debug, thiserror::Error)]
pub(super) enum NotBound {
    #[error(transparent)]
    Api(#[from] kube::Error),
    /// Refusal of an extender that is not ignorable.
    #[error("{0}")]
    Extender(String),
}

#[derive(Clone)]
pub(super) struct Binder {
    pub(super) client: Client,
    pub(super) parts: ControlPlaneContext,
}

impl Binder {
    /// By the API server, or by an extender.
    pub(super) async fn bind(
        &self,
        pod: &Pod,
        placed: &PlacementChoice,
        extenders: &[Extender],
    ) -> Result<(), NotBound> {
        for extender in extenders {
            let bound = extender.bind(pod, &placed.node).await;
            if bound.map_err(NotBound::Extender)? {
                self.tell(pod, placed);
                return Ok(());
            }
        }
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
        self.tell(pod, placed);
        Ok(())
    }

    fn tell(&self, pod: &Pod, placed: &PlacementChoice) {
        let namespace = pod.namespace().unwrap_or_default();
        let message = format!(
            "Successfully assigned {namespace}/{} to {}",
            pod.name_any(),
            placed.node
        );
        let recorder = &self.parts.recorder;
        recorder.normal(reference(pod), "Scheduled", message);
        let event = SandboxEvent::PodPlaced {
            pod: PodName::new(&namespace, &pod.name_any()),
            node: placed.node.clone(),
            annotations: pod.annotations().clone(),
            score: placed.score,
            why: placed.why.clone(),
        };
        self.parts.tell(event);
    }
}
