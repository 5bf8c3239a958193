//! The status of a ReplicaSet: counts of its Pods, of ready and of available ones.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Pod, PodCondition};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tracing::debug;

/// If it has changed.
pub(super) async fn write(client: &Client, set: &ReplicaSet, pods: &[Arc<Pod>], now: Timestamp) {
    let ready = pods.iter().filter(|pod| is_ready(pod)).count();
    let spec = set.spec.as_ref();
    let least = spec.and_then(|spec| spec.min_ready_seconds).unwrap_or(0);
    let least = SignedDuration::from_secs(least.into());
    let available = pods.iter().filter(|pod| is_available(pod, least, now));
    let available = available.count();
    let labelled = json!({
        "replicas": pods.len(), "fullyLabeledReplicas": pods.len(), "readyReplicas": ready,
        "availableReplicas": available, "observedGeneration": set.metadata.generation,
    });
    let is = set.status.as_ref().map(|status| {
        json!({
            "replicas": status.replicas,
            "fullyLabeledReplicas": status.fully_labeled_replicas.unwrap_or(0),
            "readyReplicas": status.ready_replicas.unwrap_or(0),
            "availableReplicas": status.available_replicas.unwrap_or(0),
            "observedGeneration": status.observed_generation,
        })
    });
    if is.as_ref() == Some(&labelled) {
        return;
    }
    let api: Api<ReplicaSet> =
        Api::namespaced(client.clone(), &set.namespace().unwrap_or_default());
    let patch = Patch::Merge(json!({"status": labelled}));
    if let Err(error) = api
        .patch_status(&set.name_any(), &PatchParams::default(), &patch)
        .await
    {
        debug!(%error, set = set.name_any(), "a status could not be written");
    }
}

pub(in crate::controllers) fn is_ready(pod: &Pod) -> bool {
    readiness(pod).is_some()
}

/// Ready for at least `least`.
fn is_available(pod: &Pod, least: SignedDuration, now: Timestamp) -> bool {
    readiness(pod).is_some_and(|ready| {
        let since = ready.last_transition_time.as_ref();
        least.is_zero() || since.is_some_and(|since| now.duration_since(since.0) >= least)
    })
}

fn readiness(pod: &Pod) -> Option<&PodCondition> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions
        .iter()
        .find(|condition| condition.type_ == "Ready" && condition.status == "True")
}
