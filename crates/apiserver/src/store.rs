//! The objects and their last changes, under one lock and one version counter. A collection holds
//! its objects by namespace and name and a bounded log of changes. Watches read the log at their
//! own position, so a slow watch costs no memory and fails if it is too old. A list at an older
//! version undoes the later changes, so that the pages of one list agree. Objects are shared, never
//! copied, and serialised once for all readers.

mod change;
mod collection;
mod object;

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::{mpsc, watch};

use crate::meta;

pub(crate) use self::change::{ChangeKind, CollectionChange};
use self::collection::Collection;
pub(crate) use self::collection::ExpiredVersion;
pub(crate) use self::object::{Location, ObjectKey, StoredObject};

/// Lower versions are never given out, so that no client takes one for "any".
const FIRST_VERSION: u64 = 100;

/// The state of the replaced object that a write relies on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WritePrecondition {
    Absent,
    Version(u64),
}

/// The object is not in the expected state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StaleWrite;

/// All collections, with their history.
#[derive(Debug)]
pub(crate) struct ObjectStore {
    inner: Mutex<StoreState>,
    history: usize,
    notices: mpsc::UnboundedSender<GarbageNotice>,
}

/// For the garbage collector: the object is gone, its deletion has begun, or it is new and has
/// owners.
#[derive(Debug, Clone)]
pub(crate) struct GarbageNotice {
    pub(crate) collection: Arc<str>,
    pub(crate) object: Arc<StoredObject>,
    pub(crate) removed: bool,
}

#[derive(Debug, Default)]
struct StoreState {
    version: u64,
    collections: HashMap<Arc<str>, Collection>,
    dependents: HashMap<String, BTreeSet<Location>>,
}

impl ObjectStore {
    /// Empty; remembers `history` changes of each collection.
    pub(crate) fn new(history: usize) -> (Self, mpsc::UnboundedReceiver<GarbageNotice>) {
        let (notices, work) = mpsc::unbounded_channel();
        let inner = StoreState {
            version: FIRST_VERSION,
            ..StoreState::default()
        };
        let store = Self {
            inner: Mutex::new(inner),
            history,
            notices,
        };
        (store, work)
    }

    fn lock(&self) -> MutexGuard<'_, StoreState> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn version(&self) -> u64 {
        self.lock().version
    }

    pub(crate) fn get(&self, collection: &str, key: &ObjectKey) -> Option<Arc<StoredObject>> {
        let inner = self.lock();
        inner.collections.get(collection)?.get(key)
    }

    /// Objects of a namespace, or of all, with their version.
    pub(crate) fn list(
        &self,
        collection: &str,
        namespace: Option<&str>,
    ) -> (Vec<Arc<StoredObject>>, u64) {
        let inner = self.lock();
        let objects = inner
            .collections
            .get(collection)
            .map(|found| found.list(namespace))
            .unwrap_or_default();
        (objects, inner.version)
    }

    pub(crate) fn list_at(
        &self,
        collection: &str,
        namespace: Option<&str>,
        version: u64,
    ) -> Result<Vec<Arc<StoredObject>>, ExpiredVersion> {
        let inner = self.lock();
        inner
            .collections
            .get(collection)
            .map_or(Ok(Vec::new()), |found| found.list_at(namespace, version))
    }

    /// Replaces what is `expected`, and sets the version.
    pub(crate) fn commit(
        &self,
        collection: &Arc<str>,
        expected: WritePrecondition,
        value: Value,
    ) -> Result<Arc<StoredObject>, StaleWrite> {
        let key = ObjectKey::new(meta::namespace(&value), meta::name(&value));
        let mut inner = self.lock();
        let inner = &mut *inner;
        let found = inner.collection(collection, self.history);
        let previous = found.get(&key);
        let is = previous
            .as_ref()
            .map_or(WritePrecondition::Absent, |stored| {
                WritePrecondition::Version(stored.version)
            });
        if is != expected {
            return Err(StaleWrite);
        }
        let version = inner.next_version();
        let object = StoredObject::new(value, version);
        inner.reindex(collection, &key, previous.as_deref(), Some(&object));
        let owned = !meta::list(&object.value, "/metadata/ownerReferences").is_empty();
        if meta::is_deleting(&object.value) || (previous.is_none() && owned) {
            self.report(collection, &object, false);
        }
        let found = inner.collection(collection, self.history);
        found.put(key, Arc::clone(&object), previous);
        Ok(object)
    }

    /// The last state, with the version of its removal.
    pub(crate) fn remove(
        &self,
        collection: &Arc<str>,
        key: &ObjectKey,
        expected: u64,
    ) -> Result<Arc<StoredObject>, StaleWrite> {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let previous = inner
            .collection(collection, self.history)
            .get(key)
            .filter(|stored| stored.version == expected)
            .ok_or(StaleWrite)?;
        let version = inner.next_version();
        let object = StoredObject::new(previous.value.clone(), version);
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
    ) -> Result<(Vec<CollectionChange>, u64), ExpiredVersion> {
        let inner = self.lock();
        let changes = inner
            .collections
            .get(collection)
            .map_or(Ok(Vec::new()), |found| found.changes(since))?;
        Ok((changes, inner.version))
    }

    /// Notifies of changes in the collection.
    pub(crate) fn subscribe(&self, collection: &Arc<str>) -> watch::Receiver<u64> {
        self.lock().collection(collection, self.history).subscribe()
    }

    /// Objects that name this UID as an owner.
    pub(crate) fn dependents(&self, uid: &str) -> Vec<Location> {
        let inner = self.lock();
        let places = inner.dependents.get(uid);
        places.into_iter().flatten().cloned().collect()
    }

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

    fn report(&self, collection: &Arc<str>, object: &Arc<StoredObject>, removed: bool) {
        // Without a collector, as in unit tests of the store, the channel has no receiver.
        let _ = self.notices.send(GarbageNotice {
            collection: Arc::clone(collection),
            object: Arc::clone(object),
            removed,
        });
    }
}

impl StoreState {
    fn next_version(&mut self) -> u64 {
        self.version += 1;
        self.version
    }

    fn collection(&mut self, name: &Arc<str>, history: usize) -> &mut Collection {
        // The history of a new collection is complete from the first version on.
        self.collections
            .entry(Arc::clone(name))
            .or_insert_with(|| Collection::new(history, FIRST_VERSION))
    }

    fn reindex(
        &mut self,
        collection: &Arc<str>,
        key: &ObjectKey,
        before: Option<&StoredObject>,
        after: Option<&Arc<StoredObject>>,
    ) {
        let owners = |stored: &StoredObject| -> BTreeSet<String> {
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
