//! Objects of one kind as a watch shows them, for controllers that look at the whole picture.
//!
//! Controllers here are level-triggered: they wake when anything changes and compare what is with
//! what should be. At the size of a cluster on one machine that costs nothing, and no event can
//! be missed.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::sync::{Arc, PoisonError, RwLock};

use futures::StreamExt as _;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::debug;

/// Namespace and name; the namespace of a node is empty.
pub type Key = (String, String);

type Objects<K> = BTreeMap<Key, Arc<K>>;

/// The objects of one kind; clones share them.
#[derive(Debug)]
pub struct Store<K> {
    objects: Arc<RwLock<Objects<K>>>,
    changes: watch::Sender<u64>,
}

impl<K> Clone for Store<K> {
    fn clone(&self) -> Self {
        Self {
            objects: Arc::clone(&self.objects),
            changes: self.changes.clone(),
        }
    }
}

impl<K> Store<K> {
    fn new(changes: watch::Sender<u64>) -> Self {
        Self {
            objects: Arc::default(),
            changes,
        }
    }

    /// All objects, by namespace and name.
    #[must_use]
    pub fn list(&self) -> Vec<Arc<K>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects.values().cloned().collect()
    }

    /// One object.
    #[must_use]
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let objects = self.objects.read().unwrap_or_else(PoisonError::into_inner);
        objects
            .get(&(namespace.to_owned(), name.to_owned()))
            .cloned()
    }

    fn change(&self, change: impl FnOnce(&mut Objects<K>)) {
        change(&mut self.objects.write().unwrap_or_else(PoisonError::into_inner));
        self.changes.send_modify(|version| *version += 1);
    }
}

impl<K> Store<K>
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    /// Fills the store from a watch, for ever.
    async fn follow(self, client: Client) {
        let mut events =
            std::pin::pin!(watcher(Api::<K>::all(client), Config::default()).default_backoff());
        let mut listed = Objects::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed = Objects::new(),
                Ok(Event::InitApply(object)) => {
                    listed.insert(key(&object), Arc::new(object));
                }
                Ok(Event::InitDone) => {
                    let listed = std::mem::take(&mut listed);
                    self.change(|objects| *objects = listed);
                }
                Ok(Event::Apply(object)) => self.change(|objects| {
                    objects.insert(key(&object), Arc::new(object));
                }),
                Ok(Event::Delete(object)) => self.change(|objects| {
                    objects.remove(&key(&object));
                }),
                // The watch begins again by itself; a fault on command brings this about.
                Err(error) => debug!(%error, kind = %K::kind(&()), "a watch was interrupted"),
            }
        }
    }
}

fn key<K: Resource>(object: &K) -> Key {
    (object.namespace().unwrap_or_default(), object.name_any())
}

/// Everything that the controllers look at; clones share it.
#[derive(Debug, Clone)]
pub struct Stores {
    /// All Pods.
    pub pods: Store<Pod>,
    /// All nodes.
    pub nodes: Store<Node>,
    /// All Deployments.
    pub deployments: Store<Deployment>,
    /// All ReplicaSets.
    pub replica_sets: Store<ReplicaSet>,
    /// All HorizontalPodAutoscalers.
    pub autoscalers: Store<HorizontalPodAutoscaler>,
    /// All PodDisruptionBudgets.
    pub budgets: Store<PodDisruptionBudget>,
    /// All Services.
    pub services: Store<Service>,
    /// All EndpointSlices.
    pub slices: Store<EndpointSlice>,
    changes: watch::Sender<u64>,
}

impl Stores {
    /// Empty stores that are filled by watches in `tasks`.
    pub fn start(client: &Client, tasks: &mut JoinSet<()>) -> Self {
        let changes = watch::Sender::new(0);
        let stores = Self {
            pods: Store::new(changes.clone()),
            nodes: Store::new(changes.clone()),
            deployments: Store::new(changes.clone()),
            replica_sets: Store::new(changes.clone()),
            autoscalers: Store::new(changes.clone()),
            budgets: Store::new(changes.clone()),
            services: Store::new(changes.clone()),
            slices: Store::new(changes.clone()),
            changes,
        };
        tasks.spawn(stores.pods.clone().follow(client.clone()));
        tasks.spawn(stores.nodes.clone().follow(client.clone()));
        tasks.spawn(stores.deployments.clone().follow(client.clone()));
        tasks.spawn(stores.replica_sets.clone().follow(client.clone()));
        tasks.spawn(stores.autoscalers.clone().follow(client.clone()));
        tasks.spawn(stores.budgets.clone().follow(client.clone()));
        tasks.spawn(stores.services.clone().follow(client.clone()));
        tasks.spawn(stores.slices.clone().follow(client.clone()));
        stores
    }

    /// Tells of every change from now on.
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
