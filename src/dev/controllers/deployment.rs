//! Deployments: one ReplicaSet for each version of the template, the newest of which has the
//! replicas; the older ones give theirs up when the newest is ready.

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tracing::debug;

use super::Turns;
use crate::dev::store::Stores;

/// The label that tells the versions of a template apart.
const HASH: &str = "pod-template-hash";

pub(super) async fn run(client: Client, stores: Stores) {
    let mut turns = Turns::of(&stores);
    loop {
        let sets = stores.replica_sets.list();
        for deployment in stores.deployments.list() {
            if deployment.metadata.deletion_timestamp.is_none()
                && let Err(error) = reconcile(&client, &deployment, &sets).await
            {
                debug!(%error, deployment = deployment.name_any(), "a Deployment could not be kept");
            }
        }
        turns.next().await;
    }
}

async fn reconcile(
    client: &Client,
    deployment: &Deployment,
    sets: &[Arc<ReplicaSet>],
) -> kube::Result<()> {
    let namespace = deployment.namespace().unwrap_or_default();
    let api: Api<ReplicaSet> = Api::namespaced(client.clone(), &namespace);
    let uid = deployment.uid().unwrap_or_default();
    let owned = sets.iter().filter(|set| {
        let owners = set.owner_references();
        owners.iter().any(|owner| owner.uid == uid)
    });
    let owned: Vec<&ReplicaSet> = owned.map(AsRef::as_ref).collect();
    let hash = template_hash(deployment);
    let newest = owned
        .iter()
        .find(|set| set.labels().get(HASH) == Some(&hash));
    let wanted = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    let Some(newest) = newest else {
        let made = api
            .create(&PostParams::default(), &replica_set(deployment, &hash))
            .await;
        // Made a moment ago, and not shown by the watch yet.
        let conflict = matches!(&made, Err(kube::Error::Api(status)) if status.code == 409);
        return if conflict { Ok(()) } else { made.map(drop) };
    };
    scale(&api, newest, wanted).await?;
    let ready = |set: &ReplicaSet| set.status.as_ref().and_then(|status| status.ready_replicas);
    if ready(newest).unwrap_or(0) >= wanted {
        for old in owned
            .iter()
            .filter(|set| set.name_any() != newest.name_any())
        {
            scale(&api, old, 0).await?;
        }
    }
    status(client, deployment, &owned, newest).await
}

async fn scale(api: &Api<ReplicaSet>, set: &ReplicaSet, replicas: i32) -> kube::Result<()> {
    let has = set.spec.as_ref().and_then(|spec| spec.replicas);
    if has == Some(replicas) {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    api.patch(&set.name_any(), &PatchParams::default(), &patch)
        .await
        .map(drop)
}

/// Names a version of the template.
fn template_hash(deployment: &Deployment) -> String {
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let mut hash = DefaultHasher::new();
    json!(template).to_string().hash(&mut hash);
    format!("{:010x}", hash.finish() >> 24)
}

fn replica_set(deployment: &Deployment, hash: &str) -> ReplicaSet {
    let spec = deployment.spec.clone().unwrap_or_default();
    let mut template = spec.template;
    let mut metadata = template.metadata.take().unwrap_or_default();
    let labels = metadata.labels.get_or_insert_default();
    labels.insert(HASH.to_owned(), hash.to_owned());
    let labels = labels.clone();
    template.metadata = Some(metadata);
    let mut selected = spec.selector.match_labels.unwrap_or_default();
    selected.insert(HASH.to_owned(), hash.to_owned());
    ReplicaSet {
        metadata: ObjectMeta {
            name: Some(format!("{}-{hash}", deployment.name_any())),
            namespace: deployment.namespace(),
            labels: Some(labels),
            owner_references: deployment
                .controller_owner_ref(&())
                .map(|owner| vec![owner]),
            ..ObjectMeta::default()
        },
        spec: Some(ReplicaSetSpec {
            replicas: spec.replicas,
            selector: LabelSelector {
                match_labels: Some(selected),
                match_expressions: spec.selector.match_expressions,
            },
            template: Some(template),
            ..ReplicaSetSpec::default()
        }),
        status: None,
    }
}

async fn status(
    client: &Client,
    deployment: &Deployment,
    sets: &[&ReplicaSet],
    newest: &ReplicaSet,
) -> kube::Result<()> {
    let replicas = |set: &ReplicaSet| set.status.as_ref().map_or(0, |status| status.replicas);
    let ready = |set: &&ReplicaSet| {
        let status = set.status.as_ref();
        status.and_then(|status| status.ready_replicas).unwrap_or(0)
    };
    let ready: i32 = sets.iter().map(ready).sum();
    let total: i32 = sets.iter().map(|set| replicas(set)).sum();
    let updated = replicas(newest);
    let wanted = deployment
        .spec
        .as_ref()
        .and_then(|spec| spec.replicas)
        .unwrap_or(1);
    let is = deployment.status.clone().unwrap_or_default();
    let generation = deployment.metadata.generation;
    let same = is.replicas.unwrap_or(0) == total
        && is.ready_replicas.unwrap_or(0) == ready
        && is.updated_replicas.unwrap_or(0) == updated
        && is.observed_generation == generation;
    if same {
        return Ok(());
    }
    let patch = Patch::Merge(json!({"status": {
        "replicas": total, "readyReplicas": ready, "availableReplicas": ready,
        "updatedReplicas": updated, "unavailableReplicas": (wanted - ready).max(0),
        "observedGeneration": generation,
    }}));
    let namespace = deployment.namespace().unwrap_or_default();
    let api: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    api.patch_status(&deployment.name_any(), &PatchParams::default(), &patch)
        .await
        .map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dev::objects;
    use crate::simulate::Scenario;

    #[test]
    fn a_template_names_its_version_and_replicas_do_not_change_it() {
        let mut deployment = objects::deployment(&Scenario::mixed().workloads[0]);
        let hash = template_hash(&deployment);
        deployment.spec.as_mut().unwrap().replicas = Some(99);
        assert_eq!(template_hash(&deployment), hash);
        let containers = &mut deployment
            .spec
            .as_mut()
            .unwrap()
            .template
            .spec
            .as_mut()
            .unwrap()
            .containers;
        containers[0].image = Some("other".to_owned());
        assert_ne!(template_hash(&deployment), hash);
        let set = replica_set(&deployment, "abc");
        let spec = set.spec.unwrap();
        let labels = spec.template.unwrap().metadata.unwrap().labels.unwrap();
        for (key, value) in spec.selector.match_labels.unwrap() {
            assert_eq!(labels.get(&key), Some(&value), "{key}");
        }
    }
}
