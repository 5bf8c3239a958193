//! The controllers that turn Deployments into Pods and scale them, as kube-controller-manager
//! does in its simplest correct form.

mod autoscaling;
mod deployment;
mod garbage;
mod replica_set;

use std::time::Duration;

use kube::Client;
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::store::Stores;
use super::{Events, Pace};

pub use autoscaling::{Autoscaling, sync};

/// How long a controller waits for its own writes to be seen before it looks again: at every
/// change of the cluster, but not more often.
const SETTLE: Duration = Duration::from_millis(5);

/// Looks again at least this often, so that a write that failed is tried again.
const RESYNC: Duration = Duration::from_secs(2);

/// Starts all controllers; they run until `tasks` is dropped.
pub fn start(
    client: &Client,
    stores: &Stores,
    pace: &Pace,
    events: &Events,
    tasks: &mut JoinSet<()>,
) {
    tasks.spawn(deployment::run(client.clone(), stores.clone()));
    tasks.spawn(replica_set::run(client.clone(), stores.clone()));
    tasks.spawn(garbage::run(client.clone(), stores.clone()));
    let autoscaling =
        Autoscaling::new(client.clone(), stores.clone(), pace.clone(), events.clone());
    tasks.spawn(autoscaling.run());
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
