//! The objects and the last changes to them, under one lock and one version counter.
//!
//! A collection holds its objects by namespace and name and a bounded log of changes. Watches read
//! the log from where they are, so a slow one costs no memory and learns that it is too old; a list
//! at an older version is today's objects with the later changes undone, so that the pages of one
//! list agree. Objects are shared, never copied, and serialised once for all who read them.

mod change;
mod collection;
mod object;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::meta;

pub(crate) use self::change::{Change, ChangeKind};
use self::collection::Collection;
pub(crate) use self::collection::Expired;
pub(crate) use self::object::{Key, Location, Stored};

/// Versions below are never given out, so that no client takes one for "any".
const FIRST_VERSION: u64 = 100;

/// The state that a write takes for granted of the object that it replaces.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    Absent,
    Version(u64),
}

/// The object is not as the write took it to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stale;

/// The objects of all collections, with their history.
#[derive(Debug)]
pub(crate) struct Store {
    inner: Mutex<Inner>,
    history: usize,
    notices: mpsc::UnboundedSender<Notice>,
}

/// An object that is gone, whose deletion has begun, or that is new and has owners: what the
/// garbage collector looks at.
#[derive(Debug, Clone)]
pub(crate) struct Notice {
    pub(crate) collection: Arc<str>,
    pub(crate) object: Arc<Stored>,
    pub(crate) removed: bool,
}

#[derive(Debug, Default)]
struct Inner {
    version: u64,
    collections: HashMap<Arc<str>, Collection>,
    dependents: HashMap<String, BTreeSet<Location>>,
}

impl Store {
    /// An empty store that remembers `history` changes of each collection.
    pub(crate) fn new(history: usize) -> (Self, mpsc::UnboundedReceiver<Notice>) {
        let (notices, work) = mpsc::unbounded_channel();
        let inner = Inner {
            version: FIRST_VERSION,
            ..Inner::default()
        };
        let store = Self {
            inner: Mutex::new(inner),
            history,
            notices,
        };
        (store, work)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The version of the last change anywhere.
    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    pub(crate) fn get(&self, collection: &str, key: &Key) -> Option<Arc<Stored>> {
        let inner = self.lock();
        inner.collections.get(collection)?.get(key)
    }

    /// The objects of a namespace, or of all, with the version they are of.
    pub(crate) fn list(
        &self,
        collection: &str,
        namespace: Option<&str>,
    ) -> (Vec<Arc<Stored>>, u64) {
        let inner = self.lock();
        let objects = inner
            .collections
            .get(collection)
            .map(|found| found.list(namespace))
            .unwrap_or_default();
        (objects, inner.version)
    }

    /// The objects as they were at `version`.
    pub(crate) fn list_at(
        &self,
        collection: &str,
        namespace: Option<&str>,
        version: u64,
    ) -> Result<Vec<Arc<Stored>>, Expired> {
        let inner = self.lock();
        inner
            .collections
            .get(collection)
            .map_or(Ok(Vec::new()), |found| found.list_at(namespace, version))
    }

    /// Writes an object in place of what is `expected`; the version is set here.
    pub(crate) fn commit(
        &self,
        collection: &Arc<str>,
        expected: Expected,
        value: Value,
    ) -> Result<Arc<Stored>, Stale> {
        let key = Key::new(meta::namespace(&value), meta::name(&value));
        let mut inner = self.lock();
        let inner = &mut *inner;
        let found = inner.collection(collection, self.history);
        let previous = found.get(&key);
        let is = previous
            .as_ref()
            .map_or(Expected::Absent, |stored| Expected::Version(stored.version));
        if is != expected {
            return Err(Stale);
        }
        let version = inner.next_version();
        let object = Stored::new(value, version);
        inner.reindex(collection, &key, previous.as_deref(), Some(&object));
        let owned = !meta::list(&object.value, "/metadata/ownerReferences").is_empty();
        if meta::is_deleting(&object.value) || (previous.is_none() && owned) {
            self.report(collection, &object, false);
        }
        let found = inner.collection(collection, self.history);
        found.put(key, Arc::clone(&object), previous);
        Ok(object)
    }

    /// Takes an object out and answers its last state, with the version of its removal.
    pub(crate) fn remove(
        &self,
        collection: &Arc<str>,
        key: &Key,
        expected: u64,
    ) -> Result<Arc<Stored>, Stale> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let previous = inner
            .collection(collection, self.history)
            .get(key)
            .filter(|stored| stored.version == expected)
            .ok_or(Stale)?;
        let version = inner.next_version();
        let object = Stored::new(previous.value.clone(), version);
        inner.reindex(collection, key, Some(&previous), None);
        let found = inner.collection(collection, self.history);
        found.take(key, Arc::clone(&object), previous);
        self.report(collection, &object, true);
        Ok(object)
    }

    /// The changes after `since`, and the version up to which they are complete.
    pub(crate) fn changes(
        &self,
        collection: &str,
        since: u64,
    ) -> Result<(Vec<Change>, u64), Expired> {
        let inner = self.lock();
        let changes = inner
            .collections
            .get(collection)
            .map_or(Ok(Vec::new()), |found| found.changes(since))?;
        Ok((changes, inner.version))
    }

    /// Told whenever something in the collection changes.
    pub(crate) fn subscribe(&self, collection: &Arc<str>) -> watch::Receiver<u64> {
        self.lock().collection(collection, self.history).subscribe()
    }

    /// The places of the objects that name this UID as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Location> {
        let inner = self.lock();
        let places = inner.dependents.get(uid);
        places.into_iter().flatten().cloned().collect()
    }

    /// The places of all objects in a namespace.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<Location> {
        let inner = self.lock();
        let collections = inner.collections.iter();
        collections
            .flat_map(|(name, found)| {
                let objects = found.list(Some(namespace));
                objects
                    .into_iter()
                    .map(|stored| Location::new(name, stored.key()))
            })
            .collect()
    }

    fn report(&self, collection: &Arc<str>, object: &Arc<Stored>, removed: bool) {
        // Without a collector, as in unit tests of the store, nobody listens.
        let _ = self.notices.send(Notice {
            collection: Arc::clone(collection),
            object: Arc::clone(object),
            removed,
        });
    }
}

impl Inner {
    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn collection(&mut self, name: &Arc<str>, history: usize) -> &mut Collection {
        // The history of a collection that nobody touched is whole from the first version on.
        self.collections
            .entry(Arc::clone(name))
            .or_insert_with(|| Collection::new(history, FIRST_VERSION))
    }

    fn reindex(
        &mut self,
        collection: &Arc<str>,
        key: &Key,
        before: Option<&Stored>,
        after: Option<&Arc<Stored>>,
    ) {
        let owners = |stored: &Stored| -> BTreeSet<String> {
            meta::list(&stored.value, "/metadata/ownerReferences")
                .iter()
                .map(|owner| meta::text(owner, "/uid").to_owned())
                .collect()
        };
        let old = before.map(owners).unwrap_or_default();
        let new = after.map(|stored| owners(stored)).unwrap_or_default();
        let place = Location::new(collection, key.clone());
        for uid in old.difference(&new) {
            if let Some(places) = self.dependents.get_mut(uid) {
                places.remove(&place);
                if places.is_empty() {
                    self.dependents.remove(uid);
                }
            }
        }
        for uid in new.difference(&old) {
            let places = self.dependents.entry(uid.clone()).or_default();
            places.insert(place.clone());
        }
    }
}

#[cfg(test)]
mod tests;
