//! The treatment of each kind of watched object, and the key by which it is known.
//!
//! A Pod is known by its UID, since its successor may take its name before its end has been seen.
//! Objects of scaling are known by their names: two autoscalers at once for one target would be a conflict,
//! and one that was made anew is none.

use std::collections::HashSet;
use std::sync::Arc;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::cluster::autoscaling::{self, ScalingObject};
use crate::cluster::state::ClusterState;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::lease::Record;
use evenkeel_kubernetes::watched::{
    WatchedAutoscaler, WatchedCronHpa, WatchedDeployment, WatchedNamespace, WatchedNode,
    WatchedPod, WatchedScaledObject, WatchedStatefulSet,
};

/// An object that the state takes.
pub(super) trait WatchedObject {
    /// Takes the object as it now is.
    fn apply(&self, state: &ClusterState);
    /// The key by which it is known.
    fn key(metadata: &ObjectMeta) -> String;
    /// Forgets the object with this key.
    fn remove(state: &ClusterState, key: &str);
    /// Forgets all but these.
    fn retain(state: &ClusterState, keep: &HashSet<String>);
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
        state.apply_scheduler_lease(&Record::of(self), state.now());
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
                state.remove_scaling_object($kind, key);
            }

            fn retain(state: &ClusterState, keep: &HashSet<String>) {
                state.retain_scaling_object($kind, |key| keep.contains(key));
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
    ScalingObject::checked,
    cron_hpa
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
    WatchedScaledObject,
    Kind::ScaledObject,
    ScalingObject::ScaledObject,
    scaled_object
);
