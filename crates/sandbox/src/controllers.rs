//! The controllers of kube-controller-manager: Deployments become Pods and are scaled, Services
//! find them, disruption budgets are counted, and Pods leave silent nodes.

mod autoscaling;
mod deployment;
mod disruption;
mod endpoints;
mod node;
mod pod_garbage_collector;
mod replica_set;
mod resync;

use kube::Client;
use tokio::task::JoinSet;

use super::recorder::Recorder;
use super::store::Stores;
use super::{SandboxEventSink, Timeline};

use autoscaling::AutoscalingController;
pub use autoscaling::sync;

/// They run until `tasks` is dropped.
pub fn start(
    client: &Client,
    stores: &Stores,
    timeline: &Timeline,
    events: &SandboxEventSink,
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
    let autoscaling = AutoscalingController {
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
    tasks.spawn(pod_garbage_collector::run(client.clone(), stores.clone()));
}
