//! The watches: one task a kind, tolerant of single bad objects, resynchronised after losses. A
//! list after a loss is applied object by object, and what it lacks is removed at its end, so there
//! is never half a cluster. A refused watch is retried for ever, and after a minute its kind counts
//! as not listed; a watch that ends or panics ends the service. Custom resources that cannot be
//! listed for a minute are no longer waited for: they count as absent until they list again.

mod custom_resources;
mod discovery;
mod events;
mod object;
mod refusals;
mod watch_loop;

use std::collections::HashMap;
use std::time::Duration;

use custom_resources::CustomWatch;
use kube::Client;
use kube::runtime::watcher::Config;
use tokio::task::{Id, JoinSet};

use super::metrics::ClusterMetrics;
use super::state::ClusterState;
use crate::telemetry::RateLimited;
pub use custom_resources::{LookError, look, look_in_any_version};
pub(crate) use discovery::is_served;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::scaled_kind::ScaledKind;

use crate::watched_types::{
    WatchedAutoscaler, WatchedCronHpa, WatchedDaemonSet, WatchedDeployment,
    WatchedDisruptionBudget, WatchedHorizontalPortrait, WatchedIhpa, WatchedJob, WatchedNamespace,
    WatchedNode, WatchedPod, WatchedReplicaProfile, WatchedReplicaSet, WatchedScaledObject,
    WatchedStatefulSet,
};
pub use object::{WatchSink, WatchedObject};
pub use watch_loop::LeaseName;
use watch_loop::{WatchContext, objects};

/// The time between two lookups of kinds that not every cluster serves: KEDA's ScaledObjects, and
/// Evenkeel's own.
pub(crate) const DISCOVERY: Duration = Duration::from_mins(5);

/// The watches in addition to the kinds that every Evenkeel watches.
#[derive(Debug)]
pub struct OptionalWatches {
    /// The time between two looks for kinds that not every cluster serves.
    pub discovery: Duration,
    /// The Lease of a second scheduler, where Pods are given to one.
    pub second_scheduler: Option<LeaseName>,
    pub kinds: Vec<ScaledKind>,
}

/// The watches at work; dropped, they stop.
#[derive(Debug, Default)]
pub struct Watches {
    tasks: JoinSet<()>,
    /// The kinds by the names that metrics and logs have for them.
    kinds: HashMap<Id, String>,
}

pub(crate) struct WatchFeed<'a, P> {
    pub(crate) kind: Kind,
    pub(crate) picture: &'a P,
    pub(crate) metrics: &'a ClusterMetrics,
}

/// The client, the picture and the metrics of the service's watches.
struct WatchParts<'a> {
    client: &'a Client,
    state: &'a ClusterState,
    metrics: &'a ClusterMetrics,
}

impl WatchParts<'_> {
    fn context(&self, kind: Kind) -> WatchContext {
        WatchContext {
            kind,
            state: self.state.clone(),
            metrics: self.metrics.clone(),
            warned: RateLimited::default(),
        }
    }
}

/// A watch that is at work no more, though none should end. What it fed would grow old in silence.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    #[error("the watch of {kind} ended")]
    Ended { kind: String },
    #[error("the watch of {kind} was interrupted")]
    BrokeOff {
        kind: String,
        source: tokio::task::JoinError,
    },
}

impl Watches {
    pub fn start(
        client: &Client,
        state: &ClusterState,
        metrics: &ClusterMetrics,
        further: OptionalWatches,
    ) -> Self {
        let OptionalWatches {
            discovery,
            second_scheduler,
            kinds,
        } = further;
        let parts = WatchParts {
            client,
            state,
            metrics,
        };
        let mut all = Self::default();
        all.add_objects::<WatchedNode>(Kind::Node, &parts);
        all.add_objects::<WatchedPod>(Kind::Pod, &parts);
        all.add_objects::<WatchedNamespace>(Kind::Namespace, &parts);
        all.add_objects::<WatchedReplicaSet>(Kind::ReplicaSet, &parts);
        all.add_objects::<WatchedJob>(Kind::Job, &parts);
        all.add_objects::<WatchedAutoscaler>(Kind::HorizontalPodAutoscaler, &parts);
        all.add_objects::<WatchedDeployment>(Kind::Deployment, &parts);
        all.add_objects::<WatchedStatefulSet>(Kind::StatefulSet, &parts);
        all.add_objects::<WatchedDaemonSet>(Kind::DaemonSet, &parts);
        all.add_objects::<WatchedDisruptionBudget>(Kind::PodDisruptionBudget, &parts);
        all.add_defined(&parts, discovery);
        for scaled in kinds {
            let watch = CustomWatch::new(scaled, client.clone(), state, metrics, discovery);
            all.add_custom(watch);
        }
        if let Some(lease) = second_scheduler {
            state.expect_second_scheduler(&lease.name);
            all.add(Kind::Lease, |kind| {
                watch_loop::lease(client.clone(), parts.context(kind), lease)
            });
        }
        all
    }

    /// Starts the watches of external portraits, of their autoscalers, and of opted-in namespaces.
    pub fn of_portraits(client: &Client, state: &ClusterState, metrics: &ClusterMetrics) -> Self {
        let parts = WatchParts {
            client,
            state,
            metrics,
        };
        let mut all = Self::default();
        all.add_objects::<WatchedNamespace>(Kind::Namespace, &parts);
        all.add_while_served::<WatchedIhpa>(Kind::Ihpa, &parts, DISCOVERY);
        all.add_while_served::<WatchedHorizontalPortrait>(
            Kind::HorizontalPortrait,
            &parts,
            DISCOVERY,
        );
        all
    }

    /// Adds the watches of KEDA's and Evenkeel's own kinds, which not every cluster serves.
    fn add_defined(&mut self, parts: &WatchParts<'_>, discovery: Duration) {
        self.add_while_served::<WatchedScaledObject>(Kind::ScaledObject, parts, discovery);
        self.add_while_served::<WatchedCronHpa>(Kind::CronHpa, parts, discovery);
        self.add_while_served::<WatchedReplicaProfile>(Kind::ReplicaProfile, parts, discovery);
        self.add_while_served::<WatchedIhpa>(Kind::Ihpa, parts, discovery);
        self.add_while_served::<WatchedHorizontalPortrait>(
            Kind::HorizontalPortrait,
            parts,
            discovery,
        );
    }

    /// Adds the watch of the objects of a kind that `config` selects, which feeds any picture.
    pub(crate) fn follow<K, P>(
        &mut self,
        client: &Client,
        config: Config,
        watched: &WatchFeed<'_, P>,
    ) where
        P: WatchSink + Clone + Send + Sync + 'static,
        K: WatchedObject<P>,
    {
        let &WatchFeed {
            kind,
            picture,
            metrics,
        } = watched;
        let watch = WatchContext {
            kind,
            state: picture.clone(),
            metrics: metrics.clone(),
            warned: RateLimited::default(),
        };
        let client = client.clone();
        self.add(kind, |_| {
            watch_loop::selected::<K, P>(client, config, watch)
        });
    }

    /// Waits for the first watch that ends; for ever while all are at work.
    pub async fn ended(&mut self) -> WatchError {
        let Some(ended) = self.tasks.join_next_with_id().await else {
            return std::future::pending().await;
        };
        let id = match &ended {
            Ok((id, ())) => *id,
            Err(error) => error.id(),
        };
        let kind = self
            .kinds
            .remove(&id)
            .expect("each task was added with its kind");
        match ended {
            Ok(_) => WatchError::Ended { kind },
            Err(source) => WatchError::BrokeOff { kind, source },
        }
    }

    fn add_objects<K: WatchedObject>(&mut self, kind: Kind, parts: &WatchParts<'_>) {
        self.add(kind, |kind| {
            objects::<K>(parts.client.clone(), parts.context(kind))
        });
    }

    fn add_while_served<K: WatchedObject>(
        &mut self,
        kind: Kind,
        parts: &WatchParts<'_>,
        discovery: Duration,
    ) {
        self.add(kind, |kind| {
            discovery::while_served::<K>(parts.client.clone(), parts.context(kind), discovery)
        });
    }

    fn add<F>(&mut self, kind: Kind, watch: impl FnOnce(Kind) -> F)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        self.spawn(kind.singular(), watch(kind));
    }

    fn add_custom(&mut self, watch: CustomWatch) {
        let name = watch.expect();
        self.spawn(name, watch.run());
    }

    fn spawn(&mut self, name: String, watch: impl Future<Output = ()> + Send + 'static) {
        let id = self.tasks.spawn(watch).id();
        self.kinds.insert(id, name);
    }
}

#[cfg(test)]
mod tests;
