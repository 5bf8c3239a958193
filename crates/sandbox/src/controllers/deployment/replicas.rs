//! Replicas of a Deployment and its ReplicaSets, wanted and present.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};

pub(super) fn desired(deployment: &Deployment) -> i32 {
    let spec = deployment.spec.as_ref();
    spec.and_then(|spec| spec.replicas).unwrap_or(1)
}

pub(super) fn wanted(set: &ReplicaSet) -> i32 {
    let spec = set.spec.as_ref();
    spec.and_then(|spec| spec.replicas).unwrap_or(1)
}

pub(super) fn present(set: &ReplicaSet) -> i32 {
    set.status.as_ref().map_or(0, |status| status.replicas)
}

pub(super) fn available(set: &ReplicaSet) -> i32 {
    let status = set.status.as_ref();
    status
        .and_then(|status| status.available_replicas)
        .unwrap_or(0)
}
