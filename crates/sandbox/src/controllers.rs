//! The controllers of kube-controller-manager: Deployments become Pods and are scaled, Services
//! find them, disruption budgets are counted, and silent nodes are left.

mod autoscaling;
mod deployment;
mod disruption;
mod endpoints;
mod garbage;
mod node;
mod replica_set;

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::recorder::Recorder;
use super::store::Stores;
use super::{Events, Timeline};

use autoscaling::Autoscaling;
pub use autoscaling::sync;

/// How long a controller waits for its own writes to be seen before it looks again: at every
/// change of the cluster, but not more often.
const SETTLE: Duration = Duration::from_millis(5);

/// Looks again at least this often, so that a write that failed is tried again.
const RESYNC: Duration = Duration::from_secs(2);

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

/// Tells a controller when to look again.
struct Turns(watch::Receiver<u64>);

impl Turns {
    /// Of a controller that is about to look.
    fn of(stores: &Stores) -> Self {
        Self(stores.changes())
    }

    /// Waits until something has changed since the last look, or it is time to try again.
    async fn next(&mut self) {
        tokio::time::sleep(SETTLE).await;
        // An error would mean that the stores are gone, and with them whoever runs this.
        let _ = tokio::time::timeout(RESYNC, self.0.changed()).await;
    }
}
