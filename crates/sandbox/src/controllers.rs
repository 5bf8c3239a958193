//! The controllers of kube-controller-manager: Deployments become Pods and are scaled, Services
//! find them, disruption budgets are counted, and silent nodes are left.

mod autoscaling;
mod deployment;
mod disruption;
mod endpoints;
mod garbage;
mod node;
mod replica_set;
mod turns;

use kube::Client;
use tokio::task::JoinSet;

use super::recorder::Recorder;
use super::store::Stores;
use super::{Events, Timeline};

use autoscaling::Autoscaling;
pub use autoscaling::sync;

/// Starts all controllers; they run until `tasks` is dropped.
pub fn start(
    client: &Client,
    stores: &Stores,
    timeline: &Timeline,
    events: &Events,
    tasks: &mut JoinSet<()>,
) {
    let clock = timeline.clock();
    let mut recorder = |component| Recorder::start(client.clone(), component, clock, tasks);
    let deployments = deployment::Deployments {
        client: client.clone(),
        stores: stores.clone(),
        clock,
        recorder: recorder("deployment-controller"),
    };
    let replica_sets = replica_set::ReplicaSets {
        client: client.clone(),
        stores: stores.clone(),
        clock,
        recorder: recorder("replicaset-controller"),
    };
    let nodes = node::Nodes {
        client: client.clone(),
        stores: stores.clone(),
        clock,
        recorder: recorder("node-controller"),
    };
    let autoscaling = Autoscaling {
        client: client.clone(),
        stores: stores.clone(),
        timeline: timeline.clone(),
        events: events.clone(),
        recorder: recorder("horizontal-pod-autoscaler"),
    };
    tasks.spawn(deployments.run());
    tasks.spawn(replica_sets.run());
    tasks.spawn(nodes.run());
    tasks.spawn(autoscaling.run());
    tasks.spawn(disruption::run(client.clone(), stores.clone(), clock));
    tasks.spawn(endpoints::run(client.clone(), stores.clone()));
    tasks.spawn(garbage::run(client.clone(), stores.clone()));
}
