//! The Pods of the node and the namespaces that have opted in, as the watches tell them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evenkeel_disk_io::disk_io_limit;
use evenkeel_disk_io::disk_io_limit::{DiskIoLimit, LimitRefusal};
use evenkeel_disk_io::node_pod::NodePod;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_units::BytesPerSecond;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Client;
use kube::runtime::watcher::Config;
use tokio::sync::Notify;

use crate::cluster;
use crate::cluster::watch::{WatchFeed, WatchSink, WatchedObject, Watches};
use crate::watched_types::{WatchedNamespace, WatchedNodePod};

/// Pause between two looks whether all is known.
const LOOK: Duration = Duration::from_millis(100);

/// The Pods in one page of a list. A Pod may take a megabyte, and a page is read whole. The agent
/// has 128 MiB, so a tenant's large Pods must not end it.
const PAGE: u32 = 10;

const WATCHED: [Kind; 2] = [Kind::Pod, Kind::Namespace];

/// A Pod that asks for a limit, with the limit or why it gets none.
#[derive(Debug)]
pub(super) struct DiskLimitRequest {
    pub(super) pod: Arc<NodePod>,
    pub(super) limit: Result<DiskIoLimit, LimitRefusal>,
}

/// The Pods of a node; clones share them.
#[derive(Debug, Clone, Default)]
pub(super) struct NodePods(Arc<NodePodWatchState>);

#[derive(Debug, Default)]
struct NodePodWatchState {
    known: Mutex<NodePodView>,
    changed: Notify,
}

#[derive(Debug, Default)]
struct NodePodView {
    synced: HashSet<Kind>,
    /// By the UIDs of their objects.
    pods: HashMap<String, Arc<NodePod>>,
    opted_in: HashSet<String>,
}

impl NodePods {
    /// The watches of the Pods of `node`, which the API server selects, and of the namespaces.
    pub(super) fn watches(
        &self,
        client: &Client,
        metrics: &cluster::ClusterMetrics,
        node: &str,
    ) -> Watches {
        let fed = |kind| WatchFeed {
            kind,
            picture: self,
            metrics,
        };
        let of_node = Config::default().fields(&format!("spec.nodeName={node}"));
        let of_node = of_node.page_size(PAGE);
        let mut watches = Watches::default();
        watches.follow::<WatchedNodePod, Self>(client, of_node, &fed(Kind::Pod));
        let all = Config::default();
        watches.follow::<WatchedNamespace, Self>(client, all, &fed(Kind::Namespace));
        watches
    }

    pub(super) fn is_synced(&self) -> bool {
        let known = self.locked();
        WATCHED.iter().all(|kind| known.synced.contains(kind))
    }

    /// Waits until they are.
    pub(super) async fn synced(&self) {
        while !self.is_synced() {
            tokio::time::sleep(LOOK).await;
        }
    }

    /// Waits for the next change, or ends at once where one came since the last call.
    pub(super) async fn changed(&self) {
        self.0.changed.notified().await;
    }

    pub(super) fn running(&self) -> Vec<Arc<NodePod>> {
        let known = self.locked();
        let running = known.pods.values().filter(|pod| !pod.is_finished());
        running.cloned().collect()
    }

    /// The Pods of opted-in namespaces that ask for a limit of at least `least`.
    pub(super) fn asking(&self, least: BytesPerSecond) -> Vec<DiskLimitRequest> {
        let known = self.locked();
        let may = |pod: &&Arc<NodePod>| {
            let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
            !pod.is_finished() && known.opted_in.contains(namespace)
        };
        let pods = known.pods.values().filter(may);
        let asking = pods.filter_map(|pod| {
            let limit = disk_io_limit::wanted(pod, least).transpose()?;
            let pod = Arc::clone(pod);
            Some(DiskLimitRequest { pod, limit })
        });
        asking.collect()
    }

    fn locked(&self) -> MutexGuard<'_, NodePodView> {
        self.0.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut NodePodView)) {
        change(&mut self.locked());
        self.0.changed.notify_one();
    }
}

impl WatchSink for NodePods {
    fn set_synced(&self, kind: Kind) {
        self.change(|known| {
            known.synced.insert(kind);
        });
    }

    fn set_unsynced(&self, kind: Kind) {
        self.change(|known| {
            known.synced.remove(&kind);
        });
    }
}

impl WatchedObject<NodePods> for WatchedNodePod {
    fn apply(&self, state: &NodePods) {
        let pod = Arc::new(self.pod.clone());
        state.change(|known| {
            known.pods.insert(Self::key(&self.metadata), pod);
        });
    }

    fn key(metadata: &ObjectMeta) -> String {
        metadata.uid.clone().unwrap_or_default()
    }

    fn remove(state: &NodePods, key: &str) {
        state.change(|known| {
            known.pods.remove(key);
        });
    }

    fn retain(state: &NodePods, keep: &HashSet<String>) {
        state.change(|known| known.pods.retain(|uid, _| keep.contains(uid)));
    }
}

impl WatchedObject<NodePods> for WatchedNamespace {
    fn apply(&self, state: &NodePods) {
        let metadata = &self.namespace.metadata;
        let (policy, _) = NamespacePolicy::parse(&metadata.annotations);
        let name = metadata.name.clone().unwrap_or_default();
        state.change(|known| {
            if policy.enabled {
                known.opted_in.insert(name);
            } else {
                known.opted_in.remove(&name);
            }
        });
    }

    fn key(metadata: &ObjectMeta) -> String {
        metadata.name.clone().unwrap_or_default()
    }

    fn remove(state: &NodePods, key: &str) {
        state.change(|known| {
            known.opted_in.remove(key);
        });
    }

    fn retain(state: &NodePods, keep: &HashSet<String>) {
        state.change(|known| known.opted_in.retain(|name| keep.contains(name)));
    }
}
