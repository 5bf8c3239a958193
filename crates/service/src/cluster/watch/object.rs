//! The treatment of each kind of watched object, and its key. A Pod is keyed by its UID, because
//! its successor may have its name before its end is seen. Objects of scaling are keyed by name:
//! two autoscalers at once for one target would conflict, and one made anew is none.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::lease::LeaseRecord;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use serde::de::DeserializeOwned;

use crate::cluster::autoscaling;
use crate::cluster::autoscaling::ScalingObject;
use crate::cluster::owners::Owner;
use crate::cluster::state::ClusterState;
use crate::watched_types::{
    WatchedAutoscaler, WatchedCronHpa, WatchedDaemonSet, WatchedDeployment,
    WatchedDisruptionBudget, WatchedHorizontalPortrait, WatchedIhpa, WatchedJob, WatchedNamespace,
    WatchedNode, WatchedPod, WatchedReplicaProfile, WatchedReplicaSet, WatchedScaledObject,
    WatchedStatefulSet,
};

/// The data that watches feed: the service's of the cluster, or the agent's of its node.
pub trait WatchSink {
    /// All objects of the kind are known.
    fn set_synced(&self, kind: Kind);
    /// They are not any more.
    fn set_unsynced(&self, kind: Kind);
    /// They cannot be known, and are waited for no longer.
    fn abandon(&self, kind: Kind) {
        self.set_unsynced(kind);
    }
    /// Waits until objects of the kind are wanted that were seen and not kept.
    fn unlisted(&self, _: Kind) -> impl Future<Output = ()> + Send {
        std::future::pending()
    }
}

impl WatchSink for ClusterState {
    fn set_synced(&self, kind: Kind) {
        Self::set_synced(self, kind);
    }

    fn set_unsynced(&self, kind: Kind) {
        Self::set_unsynced(self, kind);
    }

    fn abandon(&self, kind: Kind) {
        self.scaling().abandon(kind);
    }

    async fn unlisted(&self, kind: Kind) {
        Self::unlisted(self, kind).await;
    }
}

/// An object that the picture takes.
pub trait WatchedObject<P = ClusterState>:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static
{
    /// Takes the object as it now is.
    fn apply(&self, state: &P);
    fn key(metadata: &ObjectMeta) -> String;
    fn remove(state: &P, key: &str);
    /// Forgets all but these.
    fn retain(state: &P, keep: &HashSet<String>);
}

impl WatchedObject for WatchedNode {
    fn apply(&self, state: &ClusterState) {
        state.apply_node(&self.node, state.now());
    }

    fn key(metadata: &ObjectMeta) -> String {
        metadata.name.clone().unwrap_or_default()
    }

    fn remove(state: &ClusterState, key: &str) {
        state.remove_node(key);
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        state.retain_nodes(|name| keep.contains(name));
    }
}

impl WatchedObject for WatchedPod {
    fn apply(&self, state: &ClusterState) {
        state.apply_pod(&self.pod, state.now());
    }

    fn key(metadata: &ObjectMeta) -> String {
        metadata.uid.clone().unwrap_or_default()
    }

    fn remove(state: &ClusterState, key: &str) {
        state.remove_pod(key, state.now());
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        state.retain_pods(|uid| keep.contains(uid), state.now());
    }
}

impl WatchedObject for WatchedNamespace {
    fn apply(&self, state: &ClusterState) {
        state.apply_namespace(&self.namespace, state.now());
    }

    fn key(metadata: &ObjectMeta) -> String {
        metadata.name.clone().unwrap_or_default()
    }

    fn remove(state: &ClusterState, key: &str) {
        state.remove_namespace(key, state.now());
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        state.retain_namespaces(|name| keep.contains(name), state.now());
    }
}

/// The Lease of the second scheduler, the only one that is watched.
impl WatchedObject for Lease {
    fn apply(&self, state: &ClusterState) {
        state.apply_scheduler_lease(&LeaseRecord::of(self), state.now());
    }

    fn key(metadata: &ObjectMeta) -> String {
        metadata.name.clone().unwrap_or_default()
    }

    fn remove(state: &ClusterState, _: &str) {
        state.remove_scheduler_lease();
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        if keep.is_empty() {
            state.remove_scheduler_lease();
        }
    }
}

/// A ReplicaSet links its Pods and their workload, keyed by UID; one without an owner may be scaled
/// itself. Its copies of the Deployment's annotations say nothing.
impl WatchedObject for WatchedReplicaSet {
    fn apply(&self, state: &ClusterState) {
        let metadata = &self.workload.metadata;
        let owner = metadata.controller().map(Owner::from);
        let stands_alone = owner.is_none();
        state.apply_owner(Kind::ReplicaSet, &ControllerKey::of_object(metadata), owner);
        if stands_alone {
            let workload = Arc::new(self.workload.clone());
            state.apply_scaling_object(ScalingObject::Workload(workload));
        } else {
            let (namespace, name) = (metadata.namespace.as_deref(), metadata.name.as_deref());
            let key = autoscaling::key(namespace, name);
            state.scaling().remove(Kind::ReplicaSet, &key);
        }
    }

    fn key(metadata: &ObjectMeta) -> String {
        let key = autoscaling::key(metadata.namespace.as_deref(), metadata.name.as_deref());
        format!("{}/{key}", metadata.uid.as_deref().unwrap_or_default())
    }

    fn remove(state: &ClusterState, key: &str) {
        let (owner, key) = owner_and_key(key);
        state.remove_owner(Kind::ReplicaSet, &owner);
        state.scaling().remove(Kind::ReplicaSet, key);
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        let parts = keep.iter().map(|key| owner_and_key(key));
        let (owners, keys): (HashSet<ControllerKey>, HashSet<&str>) = parts.unzip();
        state.retain_owners(Kind::ReplicaSet, |owner| owners.contains(owner));
        state
            .scaling()
            .retain(Kind::ReplicaSet, |key| keys.contains(key));
    }
}

/// A Job is a link between its Pods and the CronJob behind them, known as a ReplicaSet is.
impl WatchedObject for WatchedJob {
    fn apply(&self, state: &ClusterState) {
        let metadata = &self.job.metadata;
        let owner = metadata.controller().map(Owner::from);
        state.apply_owner(Kind::Job, &ControllerKey::of_object(metadata), owner);
    }

    fn key(metadata: &ObjectMeta) -> String {
        WatchedReplicaSet::key(metadata)
    }

    fn remove(state: &ClusterState, key: &str) {
        state.remove_owner(Kind::Job, &owner_and_key(key).0);
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        let owners: HashSet<_> = keep.iter().map(|key| owner_and_key(key).0).collect();
        state.retain_owners(Kind::Job, |owner| owners.contains(owner));
    }
}

/// The parts of a key `uid/namespace/name`: the owner of Pods, and `namespace/name`.
fn owner_and_key(key: &str) -> (ControllerKey, &str) {
    let (uid, key) = key.split_once('/').unwrap_or((key, ""));
    let (namespace, _) = key.split_once('/').unwrap_or_default();
    (ControllerKey::new(namespace, uid), key)
}

impl WatchedObject for WatchedReplicaProfile {
    fn apply(&self, state: &ClusterState) {
        state.apply_profile(&self.profile);
    }

    fn key(metadata: &ObjectMeta) -> String {
        autoscaling::key(metadata.namespace.as_deref(), metadata.name.as_deref())
    }

    fn remove(state: &ClusterState, key: &str) {
        state.retain_profiles(|other| other != key);
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        state.retain_profiles(|key| keep.contains(key));
    }
}

impl WatchedObject for WatchedDisruptionBudget {
    fn apply(&self, state: &ClusterState) {
        let metadata = &self.budget.metadata;
        let key = autoscaling::key(metadata.namespace.as_deref(), metadata.name.as_deref());
        state.profiles().apply_budget(key, &self.budget);
    }

    fn key(metadata: &ObjectMeta) -> String {
        autoscaling::key(metadata.namespace.as_deref(), metadata.name.as_deref())
    }

    fn remove(state: &ClusterState, key: &str) {
        state.profiles().retain_budgets(|other| other != key);
    }

    fn retain(state: &ClusterState, keep: &HashSet<String>) {
        state.profiles().retain_budgets(|key| keep.contains(key));
    }
}

macro_rules! scaled {
    ($watched:ty, $kind:expr, $variant:path, $field:ident) => {
        impl WatchedObject for $watched {
            fn apply(&self, state: &ClusterState) {
                state.apply_scaling_object($variant(Arc::new(self.$field.clone())));
            }

            fn key(metadata: &ObjectMeta) -> String {
                autoscaling::key(metadata.namespace.as_deref(), metadata.name.as_deref())
            }

            fn remove(state: &ClusterState, key: &str) {
                state.scaling().remove($kind, key);
            }

            fn retain(state: &ClusterState, keep: &HashSet<String>) {
                state.scaling().retain($kind, |key| keep.contains(key));
            }
        }
    };
}

scaled!(
    WatchedAutoscaler,
    Kind::HorizontalPodAutoscaler,
    ScalingObject::Autoscaler,
    autoscaler
);
scaled!(
    WatchedCronHpa,
    Kind::CronHpa,
    ScalingObject::CronHpa,
    cron_hpa
);
scaled!(WatchedIhpa, Kind::Ihpa, ScalingObject::Ihpa, ihpa);
scaled!(
    WatchedHorizontalPortrait,
    Kind::HorizontalPortrait,
    ScalingObject::HorizontalPortrait,
    portrait
);
scaled!(
    WatchedDeployment,
    Kind::Deployment,
    ScalingObject::Workload,
    workload
);
scaled!(
    WatchedStatefulSet,
    Kind::StatefulSet,
    ScalingObject::Workload,
    workload
);
scaled!(
    WatchedDaemonSet,
    Kind::DaemonSet,
    ScalingObject::Workload,
    workload
);
scaled!(
    WatchedScaledObject,
    Kind::ScaledObject,
    ScalingObject::ScaledObject,
    scaled_object
);

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use serde_json::{Value, json};

    use super::*;
    use crate::cluster::Settings;

    fn state() -> ClusterState {
        let state = ClusterState::new(Settings::default());
        let namespace = json!({"metadata": {"name": "shop",
            "annotations": {"evenkeel.dev/enabled": "true"}}});
        let namespace = serde_json::from_value(namespace).unwrap();
        state.apply_namespace(&namespace, Timestamp::UNIX_EPOCH);
        state
    }

    fn replica_set(name: &str, owner: &Value) -> WatchedReplicaSet {
        serde_json::from_value(json!({
            "metadata": {"name": name, "namespace": "shop", "uid": format!("uid-{name}"),
                "annotations": {"evenkeel.dev/scaling": "direct"}, "ownerReferences": owner},
            "spec": {"replicas": 3}}))
        .unwrap()
    }

    fn targets(state: &ClusterState) -> Vec<String> {
        let view = state.scaling_view();
        view.targets
            .iter()
            .map(|one| one.target.to_string())
            .collect()
    }

    #[test]
    fn a_replica_set_is_scaled_where_it_stands_alone() {
        let state = state();
        let deployment = json!([{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web",
            "uid": "d", "controller": true}]);
        let alone = replica_set("cache", &json!([]));
        alone.apply(&state);
        replica_set("web-7c5ddb8f4", &deployment).apply(&state);
        assert_eq!(targets(&state), ["ReplicaSet cache"]);
        // Adopted, and orphaned again.
        replica_set("cache", &deployment).apply(&state);
        assert_eq!(targets(&state), [""; 0]);
        alone.apply(&state);
        let key = WatchedReplicaSet::key(&alone.metadata);
        WatchedReplicaSet::retain(&state, &HashSet::from([key.clone()]));
        assert_eq!(targets(&state), ["ReplicaSet cache"]);
        WatchedReplicaSet::remove(&state, &key);
        assert_eq!(targets(&state), [""; 0]);
    }
}
