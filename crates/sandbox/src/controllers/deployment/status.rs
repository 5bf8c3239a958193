//! The status of a Deployment: counts of its ReplicaSets, and conditions for `kubectl rollout
//! status` and `kubectl describe`.

use jiff::Timestamp;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use super::replicas::{available, desired, present};
use super::rolling::bounds;
use crate::objects::{condition_since, stamp};

#[derive(Clone, Copy)]
pub(super) struct Versions<'a> {
    /// ReplicaSet of the present template; `None` before it is created.
    pub(super) newest: Option<&'a ReplicaSet>,
    pub(super) old: &'a [&'a ReplicaSet],
}

/// If it differs.
pub(super) async fn write(
    client: &Client,
    deployment: &Deployment,
    versions: Versions<'_>,
    now: Timestamp,
) -> kube::Result<()> {
    let status = status(deployment, versions, &stamp(now));
    let is = json!(deployment.status);
    let same = |(field, value): (&String, &Value)| {
        // Stored objects lack zero counts.
        is[field] == *value || (is[field].is_null() && *value == 0)
    };
    if status.as_object().into_iter().flatten().all(same) {
        return Ok(());
    }
    let namespace = deployment.namespace().unwrap_or_default();
    let api: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(&deployment.name_any(), &PatchParams::default(), &patch)
        .await
        .map(drop)
}

fn status(deployment: &Deployment, versions: Versions<'_>, now: &str) -> Value {
    let Versions { newest, old } = versions;
    let sum = |count: fn(&ReplicaSet) -> i32| -> i32 {
        newest.iter().chain(old).map(|set| count(set)).sum()
    };
    let ready = |set: &ReplicaSet| {
        let status = set.status.as_ref();
        status.and_then(|status| status.ready_replicas).unwrap_or(0)
    };
    let desired = desired(deployment);
    let (total, has) = (sum(present), sum(available));
    let updated = newest.map_or(0, present);
    let spec = deployment.spec.clone().unwrap_or_default();
    let enough = has >= desired - bounds(&spec, desired).unavailable;
    let before = json!(deployment.status);
    // A rollout stays complete if Pods become unavailable later.
    let told = before["conditions"].as_array().into_iter().flatten();
    let was_complete = told
        .filter(|is| is["type"] == "Progressing")
        .any(|is| is["reason"] == "NewReplicaSetAvailable");
    let is_of_one = newest.is_some() && updated == total;
    let complete =
        (updated == desired && total == desired && has == desired) || (was_complete && is_of_one);
    let name = newest.map(ResourceExt::name_any).unwrap_or_default();
    let (availability, progress) = (availability(enough), progress(complete, &name));
    let condition = |kind: &str, (holds, reason, message): DeploymentConditionParts| {
        let since = condition_since(&before, kind, holds, now);
        let told = before["conditions"].as_array().into_iter().flatten();
        let mut told = told.filter(|is| is["type"] == kind && is["reason"] == reason);
        let update = told.next().and_then(|is| is["lastUpdateTime"].as_str());
        json!({
            "type": kind, "status": holds, "reason": reason, "message": message,
            "lastTransitionTime": since, "lastUpdateTime": update.unwrap_or(now),
        })
    };
    json!({
        "replicas": total, "readyReplicas": sum(ready), "availableReplicas": has,
        "updatedReplicas": updated, "unavailableReplicas": (total.max(desired) - has).max(0),
        "observedGeneration": deployment.metadata.generation,
        "conditions": [condition("Available", availability), condition("Progressing", progress)],
    })
}

/// Status, reason and message.
type DeploymentConditionParts = (&'static str, &'static str, String);

fn availability(enough: bool) -> DeploymentConditionParts {
    if enough {
        (
            "True",
            "MinimumReplicasAvailable",
            "Deployment has minimum availability.".to_owned(),
        )
    } else {
        (
            "False",
            "MinimumReplicasUnavailable",
            "Deployment does not have minimum availability.".to_owned(),
        )
    }
}

/// Progress of the rollout of a ReplicaSet.
fn progress(complete: bool, name: &str) -> DeploymentConditionParts {
    if complete {
        (
            "True",
            "NewReplicaSetAvailable",
            format!("ReplicaSet \"{name}\" has successfully progressed."),
        )
    } else {
        (
            "True",
            "ReplicaSetUpdated",
            format!("ReplicaSet \"{name}\" is progressing."),
        )
    }
}
