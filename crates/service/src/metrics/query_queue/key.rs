//! The traits of a query that its turns depend on.

use std::hash::Hash;
use std::sync::Arc;

/// The identity of a query.
pub trait QueueKey: Clone + Eq + Hash {
    /// The index of its lane.
    fn lane(&self) -> usize {
        0
    }

    /// The tenant whose query it is; `None` for Evenkeel's own, which may take all places.
    fn tenant(&self) -> Option<&Arc<str>> {
        None
    }
}
