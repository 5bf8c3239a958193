//! Revisions: numbers of a Deployment's versions, for `kubectl rollout history` and `undo`. The
//! current version has the highest; one that returns gets a new number.

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

const REVISION: &str = "deployment.kubernetes.io/revision";

pub(super) async fn write(
    client: &Client,
    deployment: &Deployment,
    newest: &ReplicaSet,
    old: &[&ReplicaSet],
) -> kube::Result<()> {
    let revision = of_newest(newest, old);
    let namespace = deployment.namespace().unwrap_or_default();
    let patch = Patch::Merge(numbered(revision));
    if number(newest) != revision {
        let sets: Api<ReplicaSet> = Api::namespaced(client.clone(), &namespace);
        sets.patch(&newest.name_any(), &PatchParams::default(), &patch)
            .await?;
    }
    if number(deployment) != revision {
        let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
        deployments
            .patch(&deployment.name_any(), &PatchParams::default(), &patch)
            .await?;
    }
    Ok(())
}

fn of_newest(newest: &ReplicaSet, old: &[&ReplicaSet]) -> i64 {
    let before = old.iter().map(|set| number(*set)).max().unwrap_or(0);
    number(newest).max(before + 1)
}

/// 0 by default.
fn number(object: &impl ResourceExt) -> i64 {
    let text = object.annotations().get(REVISION);
    text.and_then(|text| text.parse().ok()).unwrap_or(0)
}

fn numbered(revision: i64) -> Value {
    json!({"metadata": {"annotations": {REVISION: revision.to_string()}}})
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(revision: Option<i64>) -> ReplicaSet {
        let mut set = ReplicaSet::default();
        let text = revision.map(|revision| (REVISION.to_owned(), revision.to_string()));
        set.metadata.annotations = Some(text.into_iter().collect());
        set
    }

    #[test]
    fn the_version_in_force_has_the_highest_number_and_keeps_it() {
        assert_eq!(of_newest(&set(None), &[]), 1);
        let (first, second) = (set(Some(1)), set(Some(2)));
        assert_eq!(of_newest(&set(None), &[&first, &second]), 3);
        assert_eq!(of_newest(&second, &[&first]), 2);
        // Rolled back to.
        assert_eq!(of_newest(&first, &[&second]), 3);
    }
}
