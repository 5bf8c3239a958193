//! One watch: follows the events of a kind, applies each object to the picture, and leaves out what
//! cannot be read.

use std::borrow::Borrow;
use std::collections::HashSet;
use std::fmt::Debug;
use std::marker::PhantomData;

use futures::{Stream, StreamExt as _};
use kube::core::{DeserializeGuard, PartialObjectMeta};
use kube::runtime::watcher::{Config, Error, Event};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tracing::warn;

use super::object::WatchedObject;
use crate::cluster::metrics::{Metrics, WatchOutcome};
use crate::cluster::owners::Owner;
use crate::cluster::state::ClusterState;
use crate::telemetry::RateLimited;
use evenkeel_clock as clock;
use evenkeel_kubernetes::kinds::Kind;

/// One watch and the picture that it feeds.
pub(super) struct Watch {
    pub(super) kind: Kind,
    pub(super) state: ClusterState,
    pub(super) metrics: Metrics,
    pub(super) warned: RateLimited<&'static str>,
}

pub(super) async fn objects<K>(client: Client, watch: impl Borrow<Watch>)
where
    K: WatchedObject
        + Resource<DynamicType = ()>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + 'static,
{
    let api: Api<DeserializeGuard<K>> = Api::all(client);
    let events = watcher(api, Config::default()).default_backoff();
    let receiver = ObjectReceiver::<K>(PhantomData);
    watch.borrow().follow(events, &receiver).await;
}

pub(super) async fn owners<K>(client: Client, watch: Watch)
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
{
    let api: Api<PartialObjectMeta<K>> = Api::all(client);
    let events = watcher(api, Config::default()).default_backoff();
    let receiver = OwnerReceiver::<K>(watch.kind, PhantomData);
    watch.follow(events, &receiver).await;
}

/// An object that is left out.
struct Unreadable<'a> {
    name: &'a str,
    error: &'a str,
}

/// The receiver of the objects of one watch.
trait Receiver<T> {
    /// The key by which the object is known when it goes.
    fn key(&self, object: &T) -> String;
    /// Takes the object as it now is.
    ///
    /// # Errors
    /// Its name and why it could not be read.
    fn apply<'a>(&self, state: &ClusterState, object: &'a T) -> Result<(), Unreadable<'a>>;
    /// Forgets the object with this key.
    fn remove(&self, state: &ClusterState, key: &str);
    /// Forgets all but these.
    fn retain(&self, state: &ClusterState, keep: &HashSet<String>);
}

impl Watch {
    async fn follow<T>(
        &self,
        events: impl Stream<Item = Result<Event<T>, Error>>,
        receiver: &impl Receiver<T>,
    ) {
        let mut events = std::pin::pin!(events);
        let mut listed = HashSet::new();
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Init) => listed.clear(),
                Ok(Event::InitApply(object)) => {
                    listed.insert(receiver.key(&object));
                    self.apply(receiver, &object);
                }
                Ok(Event::InitDone) => {
                    receiver.retain(&self.state, &std::mem::take(&mut listed));
                    self.state.set_synced(self.kind);
                    self.metrics.synced(self.kind);
                }
                Ok(Event::Apply(object)) => self.apply(receiver, &object),
                Ok(Event::Delete(object)) => {
                    self.metrics.count(self.kind, WatchOutcome::Event);
                    receiver.remove(&self.state, &receiver.key(&object));
                }
                Err(error) => {
                    // The stream goes on by itself, from a new list where it must.
                    self.metrics.count(self.kind, WatchOutcome::Error);
                    if let Some(suppressed) = self.warned.permit("interrupted", clock::instant()) {
                        let kind = self.kind.singular();
                        warn!(kind, %error, suppressed, "a watch was interrupted");
                    }
                }
            }
        }
    }

    fn apply<T>(&self, receiver: &impl Receiver<T>, object: &T) {
        let Err(Unreadable { name, error }) = receiver.apply(&self.state, object) else {
            return self.metrics.count(self.kind, WatchOutcome::Event);
        };
        self.metrics.count(self.kind, WatchOutcome::Unreadable);
        if let Some(suppressed) = self.warned.permit("unreadable", clock::instant()) {
            let kind = self.kind.singular();
            warn!(
                kind,
                name, error, suppressed, "an object could not be read and is left out"
            );
        }
    }
}

/// Receives objects that are taken whole, as far as rules read them.
struct ObjectReceiver<K>(PhantomData<fn() -> K>);

impl<K: WatchedObject + Resource<DynamicType = ()>> Receiver<DeserializeGuard<K>>
    for ObjectReceiver<K>
{
    fn key(&self, guard: &DeserializeGuard<K>) -> String {
        let metadata = match &guard.0 {
            Ok(object) => object.meta(),
            Err(invalid) => &invalid.metadata,
        };
        K::key(metadata)
    }

    fn apply<'a>(
        &self,
        state: &ClusterState,
        guard: &'a DeserializeGuard<K>,
    ) -> Result<(), Unreadable<'a>> {
        let object = guard.0.as_ref().map_err(|invalid| Unreadable {
            name: invalid.metadata.name.as_deref().unwrap_or_default(),
            error: &invalid.error,
        })?;
        object.apply(state);
        Ok(())
    }

    fn remove(&self, state: &ClusterState, key: &str) {
        K::remove(state, key);
    }

    fn retain(&self, state: &ClusterState, keep: &HashSet<String>) {
        K::retain(state, keep);
    }
}

/// Receives objects of which only the owner matters.
struct OwnerReceiver<K>(Kind, PhantomData<fn() -> K>);

impl<K> Receiver<PartialObjectMeta<K>> for OwnerReceiver<K> {
    fn key(&self, object: &PartialObjectMeta<K>) -> String {
        object.metadata.uid.clone().unwrap_or_default()
    }

    fn apply<'a>(
        &self,
        state: &ClusterState,
        object: &'a PartialObjectMeta<K>,
    ) -> Result<(), Unreadable<'a>> {
        let owner = object
            .metadata
            .owner_references
            .iter()
            .flatten()
            .find(|owner| owner.controller == Some(true))
            .map(|owner| Owner {
                kind: owner.kind.clone(),
                name: owner.name.clone(),
            });
        state.apply_owner(self.0, &self.key(object), owner);
        Ok(())
    }

    fn remove(&self, state: &ClusterState, key: &str) {
        state.remove_owner(self.0, key);
    }

    fn retain(&self, state: &ClusterState, keep: &HashSet<String>) {
        state.retain_owners(self.0, |uid| keep.contains(uid));
    }
}
