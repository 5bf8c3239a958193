//! Objects of each kind as a watch shows them, for level-triggered controllers: these wake at any
//! change and compare the present state with the wanted one, which is cheap at this size and misses
//! no event. The stores are kube's reflectors, with one signal for changes of any of them.

use std::borrow::Cow;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;

use futures::StreamExt as _;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::apps::v1::{Deployment, ReplicaSet};
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{Node, Pod, Service};
use k8s_openapi::api::discovery::v1::EndpointSlice;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::runtime::reflector::{self, ObjectRef, reflector};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tracing::debug;

pub trait StorableObject:
    Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

impl<K> StorableObject for K where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static
{
}

/// Objects of one kind; clones share them.
#[derive(Debug, Clone)]
pub struct ReflectorStore<K: StorableObject>(reflector::Store<K>);

impl<K: StorableObject> ReflectorStore<K> {
    /// A task of `tasks` fills it from a watch and signals `changes`.
    fn start(client: Client, changes: watch::Sender<u64>, tasks: &mut JoinSet<()>) -> Self {
        let (store, writer) = reflector::store();
        let events = watcher(Api::<K>::all(client), Config::default()).default_backoff();
        tasks.spawn(async move {
            let mut events = pin!(reflector(writer, events));
            while let Some(event) = events.next().await {
                match event {
                    Ok(Event::Init | Event::InitApply(_)) => {}
                    Ok(Event::InitDone | Event::Apply(_) | Event::Delete(_)) => {
                        changes.send_modify(|version| *version += 1);
                    }
                    // The watch restarts by itself; a planned fault causes this.
                    Err(error) => debug!(%error, kind = %K::kind(&()), "a watch was interrupted"),
                }
            }
        });
        Self(store)
    }

    /// By namespace and name.
    pub fn list(&self) -> Vec<Arc<K>> {
        let mut objects = self.0.state();
        objects.sort_unstable_by(|one, other| {
            let (one, other) = (one.meta(), other.meta());
            (&one.namespace, &one.name).cmp(&(&other.namespace, &other.name))
        });
        objects
    }

    /// The namespace of nodes is empty.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<K>> {
        let reference = ObjectRef::new(name);
        self.0.get(&match namespace {
            "" => reference,
            namespace => reference.within(namespace),
        })
    }
}

/// With all of its fields: the generated type lacks those of newer versions of Kubernetes, and
/// would lose them in a write.
#[derive(Debug, Clone, Deserialize)]
pub struct StoredAutoscaler {
    pub metadata: ObjectMeta,
    #[serde(default)]
    pub spec: Value,
    #[serde(default)]
    pub status: Value,
}

impl Resource for StoredAutoscaler {
    type DynamicType = ();
    type Scope = NamespaceResourceScope;

    fn kind((): &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::kind(&())
    }

    fn group((): &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::group(&())
    }

    fn version((): &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::version(&())
    }

    fn plural((): &()) -> Cow<'_, str> {
        HorizontalPodAutoscaler::plural(&())
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

/// All that the controllers read; clones share it.
#[derive(Debug, Clone)]
pub struct Stores {
    pub pods: ReflectorStore<Pod>,
    pub nodes: ReflectorStore<Node>,
    pub deployments: ReflectorStore<Deployment>,
    pub replica_sets: ReflectorStore<ReplicaSet>,
    pub autoscalers: ReflectorStore<StoredAutoscaler>,
    pub budgets: ReflectorStore<PodDisruptionBudget>,
    pub services: ReflectorStore<Service>,
    pub slices: ReflectorStore<EndpointSlice>,
    changes: watch::Sender<u64>,
}

impl Stores {
    /// Watches in `tasks` fill the stores.
    pub fn start(client: &Client, tasks: &mut JoinSet<()>) -> Self {
        let changes = watch::Sender::new(0);
        Self {
            pods: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            nodes: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            deployments: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            replica_sets: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            autoscalers: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            budgets: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            services: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            slices: ReflectorStore::start(client.clone(), changes.clone(), tasks),
            changes,
        }
    }

    /// Every change from now on.
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}
