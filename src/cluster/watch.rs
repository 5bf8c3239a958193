//! The watches: one task a kind, tolerant of single bad objects, resynchronised after losses.
//!
//! A list after a loss is applied object by object while the old picture stands, and what it did
//! not hold is removed at its end: there is never a moment with half a cluster.

mod discovery;
mod follow;
mod object;

use std::time::Duration;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::batch::v1::Job;
use kube::Client;
use tokio::task::JoinSet;

use super::metrics::Metrics;
use super::state::ClusterState;
use crate::telemetry::RateLimited;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::watched::{
    WatchedAutoscaler, WatchedDeployment, WatchedNamespace, WatchedNode, WatchedPod,
    WatchedStatefulSet,
};
use follow::{Watch, objects, owners};

/// The time between two looks for KEDA's ScaledObjects.
pub const DISCOVERY: Duration = Duration::from_secs(300);

/// Starts all watches; they run until the set is dropped. `discovery` is the time between two looks
/// for kinds that not every cluster serves.
pub fn start(
    client: &Client,
    state: &ClusterState,
    metrics: &Metrics,
    discovery: Duration,
    tasks: &mut JoinSet<()>,
) {
    let watch = |kind| Watch {
        kind,
        state: state.clone(),
        metrics: metrics.clone(),
        warned: RateLimited::default(),
    };
    tasks.spawn(objects::<WatchedNode>(client.clone(), watch(Kind::Node)));
    tasks.spawn(objects::<WatchedPod>(client.clone(), watch(Kind::Pod)));
    tasks.spawn(objects::<WatchedNamespace>(
        client.clone(),
        watch(Kind::Namespace),
    ));
    tasks.spawn(owners::<ReplicaSet>(
        client.clone(),
        watch(Kind::ReplicaSet),
    ));
    tasks.spawn(owners::<Job>(client.clone(), watch(Kind::Job)));
    tasks.spawn(objects::<WatchedAutoscaler>(
        client.clone(),
        watch(Kind::HorizontalPodAutoscaler),
    ));
    tasks.spawn(objects::<WatchedDeployment>(
        client.clone(),
        watch(Kind::Deployment),
    ));
    tasks.spawn(objects::<WatchedStatefulSet>(
        client.clone(),
        watch(Kind::StatefulSet),
    ));
    tasks.spawn(discovery::scaled_objects(
        client.clone(),
        watch(Kind::ScaledObject),
        discovery,
    ));
}
