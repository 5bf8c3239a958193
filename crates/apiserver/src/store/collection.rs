//! The objects of one resource and the log of their last changes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use tokio::sync::watch;

use crate::store::change::{ChangeKind, CollectionChange};
use crate::store::object::{ObjectKey, StoredObject};

/// The requested version is older than the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ExpiredVersion {
    /// The oldest version that a watch can start from.
    pub(crate) oldest: u64,
}

#[derive(Debug)]
pub(super) struct Collection {
    objects: BTreeMap<ObjectKey, Arc<StoredObject>>,
    log: VecDeque<CollectionChange>,
    history: usize,
    /// Changes up to this version are no longer in the log.
    forgotten: u64,
    changed: watch::Sender<u64>,
}

impl Collection {
    pub(super) fn new(history: usize, forgotten: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            log: VecDeque::new(),
            history,
            forgotten,
            changed: watch::Sender::new(0),
        }
    }

    pub(super) fn get(&self, key: &ObjectKey) -> Option<Arc<StoredObject>> {
        self.objects.get(key).cloned()
    }

    pub(super) fn list(&self, namespace: Option<&str>) -> Vec<Arc<StoredObject>> {
        self.range(namespace)
            .map(|(_, object)| Arc::clone(object))
            .collect()
    }

    fn range(
        &self,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&ObjectKey, &Arc<StoredObject>)> {
        let start = match namespace {
            Some(namespace) => Bound::Included(ObjectKey::new(namespace, "")),
            None => Bound::Unbounded,
        };
        let range = self.objects.range((start, Bound::Unbounded));
        range.take_while(move |(key, _)| namespace.is_none_or(|asked| key.namespace == asked))
    }

    pub(super) fn list_at(
        &self,
        namespace: Option<&str>,
        version: u64,
    ) -> Result<Vec<Arc<StoredObject>>, ExpiredVersion> {
        self.check(version)?;
        let mut objects: BTreeMap<ObjectKey, Arc<StoredObject>> = self
            .range(namespace)
            .map(|(key, object)| (key.clone(), Arc::clone(object)))
            .collect();
        let undone = self.log.iter().rev();
        for change in undone.take_while(|change| change.version() > version) {
            let key = change.object.key();
            if namespace.is_some_and(|asked| key.namespace != asked) {
                continue;
            }
            match &change.previous {
                Some(previous) => objects.insert(key, Arc::clone(previous)),
                None => objects.remove(&key),
            };
        }
        Ok(objects.into_values().collect())
    }

    pub(super) fn changes(&self, since: u64) -> Result<Vec<CollectionChange>, ExpiredVersion> {
        self.check(since)?;
        let start = self.log.partition_point(|change| change.version() <= since);
        Ok(self.log.range(start..).cloned().collect())
    }

    fn check(&self, version: u64) -> Result<(), ExpiredVersion> {
        if version < self.forgotten {
            return Err(ExpiredVersion {
                oldest: self.forgotten,
            });
        }
        Ok(())
    }

    pub(super) fn put(
        &mut self,
        key: ObjectKey,
        object: Arc<StoredObject>,
        previous: Option<Arc<StoredObject>>,
    ) {
        self.objects.insert(key, Arc::clone(&object));
        let kind = match previous {
            Some(_) => ChangeKind::Modified,
            None => ChangeKind::Added,
        };
        self.record(CollectionChange {
            kind,
            object,
            previous,
        });
    }

    pub(super) fn take(
        &mut self,
        key: &ObjectKey,
        object: Arc<StoredObject>,
        previous: Arc<StoredObject>,
    ) {
        self.objects.remove(key);
        self.record(CollectionChange {
            kind: ChangeKind::Deleted,
            object,
            previous: Some(previous),
        });
    }

    fn record(&mut self, change: CollectionChange) {
        self.changed.send_replace(change.version());
        self.log.push_back(change);
        while self.log.len() > self.history {
            if let Some(oldest) = self.log.pop_front() {
                self.forgotten = oldest.version();
            }
        }
    }

    pub(super) fn subscribe(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }
}
