//! Deployments: one ReplicaSet for each version of the template. The newest replaces the older ones
//! by the strategy: within its bounds, or once they are gone.

mod replicas;
mod revision;
mod rolling;
mod status;

use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use k8s_openapi::api::apps::v1::{Deployment, DeploymentSpec, ReplicaSet, ReplicaSetSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource as _, ResourceExt as _};
use serde_json::json;
use tracing::debug;

use self::replicas::{available, desired, present, wanted};
use self::rolling::{Set, bounds};
use self::status::Versions;
use super::resync::ResyncSignal;
use crate::recorder::{Recorder, reference};
use crate::safe_name;
use crate::store::Stores;
use evenkeel_clock::Clock;

/// Distinguishes the versions of a template.
const HASH: &str = "pod-template-hash";
/// Old ReplicaSets that are kept by default.
const HISTORY: i32 = 10;

pub(super) struct Deployments {
    pub(super) client: Client,
    pub(super) stores: Stores,
    pub(super) clock: Clock,
    pub(super) recorder: Recorder,
}

impl Deployments {
    pub(super) async fn run(self) {
        let mut turns = ResyncSignal::of(&self.stores);
        loop {
            let sets = self.stores.replica_sets.list();
            for deployment in self.stores.deployments.list() {
                if deployment.metadata.deletion_timestamp.is_none()
                    && let Err(error) = self.reconcile(&deployment, &sets).await
                {
                    debug!(%error, deployment = deployment.name_any(), "a Deployment could not be kept");
                }
            }
            turns.next().await;
        }
    }

    async fn reconcile(
        &self,
        deployment: &Deployment,
        sets: &[Arc<ReplicaSet>],
    ) -> kube::Result<()> {
        let Some(spec) = &deployment.spec else {
            return Ok(());
        };
        let owned = owned(deployment, sets);
        let hash = template_hash(deployment);
        let (newest, old): (Vec<_>, Vec<_>) = owned
            .into_iter()
            .partition(|set| set.labels().get(HASH) == Some(&hash));
        let paused = spec.paused == Some(true);
        match newest.first() {
            Some(newest) if paused => self.follow(deployment, newest, &old).await?,
            Some(newest) => self.roll(deployment, newest, &old).await?,
            None if paused => {}
            None => return self.begin(deployment, &hash).await,
        }
        if let Some(newest) = newest.first() {
            revision::write(&self.client, deployment, newest, &old).await?;
        }
        self.forget(spec, deployment, &old).await?;
        let versions = Versions {
            newest: newest.first().copied(),
            old: &old,
        };
        status::write(&self.client, deployment, versions, self.clock.now()).await
    }

    /// Creates the ReplicaSet of a new version, without Pods.
    async fn begin(&self, deployment: &Deployment, hash: &str) -> kube::Result<()> {
        let made = self
            .sets(deployment)
            .create(&PostParams::default(), &replica_set(deployment, hash))
            .await;
        // Created a moment ago, and not in the watch yet.
        let conflict = matches!(&made, Err(kube::Error::Api(status)) if status.code == 409);
        if conflict { Ok(()) } else { made.map(drop) }
    }

    /// Scales a paused Deployment: only its newest version, without replacement.
    async fn follow(
        &self,
        deployment: &Deployment,
        newest: &ReplicaSet,
        old: &[&ReplicaSet],
    ) -> kube::Result<()> {
        if old.iter().all(|set| wanted(set) == 0) {
            self.scale(deployment, newest, desired(deployment)).await?;
        }
        Ok(())
    }

    async fn roll(
        &self,
        deployment: &Deployment,
        newest: &ReplicaSet,
        old: &[&ReplicaSet],
    ) -> kube::Result<()> {
        let spec = deployment.spec.clone().unwrap_or_default();
        let desired = desired(deployment);
        let strategy = spec.strategy.as_ref().and_then(|one| one.type_.as_deref());
        let (grown, shrunk) = if strategy == Some("Recreate") {
            let gone = old.iter().all(|set| wanted(set) == 0 && present(set) == 0);
            let first = if gone { desired } else { wanted(newest) };
            (first, vec![0; old.len()])
        } else {
            let old: Vec<Set> = old.iter().map(|set| counted(set)).collect();
            rolling::next(desired, bounds(&spec, desired), counted(newest), &old)
        };
        self.scale(deployment, newest, grown).await?;
        for (set, replicas) in old.iter().zip(shrunk) {
            self.scale(deployment, set, replicas).await?;
        }
        Ok(())
    }

    async fn scale(
        &self,
        deployment: &Deployment,
        set: &ReplicaSet,
        replicas: i32,
    ) -> kube::Result<()> {
        let has = wanted(set);
        if has == replicas {
            return Ok(());
        }
        // If another client scaled it in between, the patch fails and the next turn sees the count.
        let patch = Patch::Merge(json!({
            "metadata": {"resourceVersion": set.resource_version()},
            "spec": {"replicas": replicas},
        }));
        self.sets(deployment)
            .patch(&set.name_any(), &PatchParams::default(), &patch)
            .await?;
        let way = if replicas > has { "up" } else { "down" };
        let message = format!(
            "Scaled {way} replica set {} from {has} to {replicas}",
            set.name_any()
        );
        self.recorder
            .normal(reference(deployment), "ScalingReplicaSet", message);
        Ok(())
    }

    /// Deletes the oldest versions beyond the history.
    async fn forget(
        &self,
        spec: &DeploymentSpec,
        deployment: &Deployment,
        old: &[&ReplicaSet],
    ) -> kube::Result<()> {
        let kept = spec.revision_history_limit.unwrap_or(HISTORY);
        let kept = usize::try_from(kept).unwrap_or(0);
        let empty = old
            .iter()
            .filter(|set| wanted(set) == 0 && present(set) == 0);
        for set in empty.take(old.len().saturating_sub(kept)) {
            self.sets(deployment)
                .delete(&set.name_any(), &DeleteParams::default())
                .await?;
        }
        Ok(())
    }

    fn sets(&self, deployment: &Deployment) -> Api<ReplicaSet> {
        let namespace = deployment.namespace().unwrap_or_default();
        Api::namespaced(self.client.clone(), &namespace)
    }
}

/// Oldest first.
fn owned<'a>(deployment: &Deployment, sets: &'a [Arc<ReplicaSet>]) -> Vec<&'a ReplicaSet> {
    let uid = deployment.uid().unwrap_or_default();
    let ours = |set: &&Arc<ReplicaSet>| {
        let owners = set.owner_references();
        owners.iter().any(|owner| owner.uid == uid) && set.metadata.deletion_timestamp.is_none()
    };
    let mut owned: Vec<&ReplicaSet> = sets.iter().filter(ours).map(AsRef::as_ref).collect();
    owned.sort_by_key(|set| (set.creation_timestamp().map(|time| time.0), set.name_any()));
    owned
}

fn counted(set: &ReplicaSet) -> Set {
    Set {
        wanted: wanted(set),
        available: available(set),
    }
}

/// Identifies a version of the template.
fn template_hash(deployment: &Deployment) -> String {
    let template = deployment.spec.as_ref().map(|spec| &spec.template);
    let mut hash = DefaultHasher::new();
    json!(template).to_string().hash(&mut hash);
    safe_name::encode(u32::try_from(hash.finish() >> 32).unwrap_or(u32::MAX))
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
            replicas: Some(0),
            min_ready_seconds: spec.min_ready_seconds,
            selector: LabelSelector {
                match_labels: Some(selected),
                match_expressions: spec.selector.match_expressions,
            },
            template: Some(template),
        }),
        status: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::objects;
    use crate::scenario::Scenario;

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
