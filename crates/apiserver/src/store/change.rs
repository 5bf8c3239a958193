//! One change to a collection.

use std::sync::Arc;

use crate::store::object::StoredObject;

/// In the words of a watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ChangeKind {
    Added,
    Modified,
    Deleted,
}

/// After a deletion `object` is the last state.
#[derive(Debug, Clone)]
pub(crate) struct CollectionChange {
    pub(crate) kind: ChangeKind,
    pub(crate) object: Arc<StoredObject>,
    pub(crate) previous: Option<Arc<StoredObject>>,
}

impl CollectionChange {
    pub(crate) fn version(&self) -> u64 {
        self.object.version
    }

    /// For a client that only sees matching objects: one that begins to match is added, and one
    /// that stops matching is deleted.
    pub(crate) fn seen_by(&self, matches: impl Fn(&StoredObject) -> bool) -> Option<ChangeKind> {
        let before = self.previous.as_deref().is_some_and(&matches);
        let after = self.kind != ChangeKind::Deleted && matches(&self.object);
        match (before, after) {
            (false, true) => Some(ChangeKind::Added),
            (true, true) => Some(ChangeKind::Modified),
            (true, false) => Some(ChangeKind::Deleted),
            (false, false) => None,
        }
    }
}
