//! The kinds of objects that are known completely.

use std::sync::Arc;

use evenkeel_objects::kinds::Kind;
use evenkeel_placement::snapshot::Snapshot;

use super::ClusterState;
use crate::cluster::records::PLACEMENT;

impl ClusterState {
    /// Remembers that a kind of object has been listed completely.
    pub fn set_synced(&self, kind: Kind) {
        self.scaling().set_synced(kind, true);
        self.profiles().set_synced(kind, true);
        if PLACEMENT.contains(&kind) {
            self.change(|inner| {
                inner.synced.insert(kind);
            });
        }
    }

    /// Remembers that a kind of object cannot be followed any more: nothing is decided on what it
    /// was until it has been listed again.
    pub(crate) fn set_unsynced(&self, kind: Kind) {
        if let Kind::Custom(_) = kind {
            return self.scaling().abandon(kind);
        }
        self.scaling().set_synced(kind, false);
        self.profiles().set_synced(kind, false);
        if !PLACEMENT.contains(&kind) {
            return;
        }
        let mut inner = self.lock();
        inner.synced.remove(&kind);
        let published = self.0.snapshot.load();
        if published.synced {
            self.0.snapshot.store(Arc::new(Snapshot {
                synced: false,
                ..Snapshot::clone(&published)
            }));
        }
    }

    /// The kinds that have not been listed completely, of those that Pods are judged by.
    pub fn unsynced(&self) -> Vec<Kind> {
        let inner = self.lock();
        PLACEMENT
            .into_iter()
            .filter(|kind| !inner.synced.contains(kind))
            .collect()
    }
}
