//! A count of replicas with its priority: of several, the highest priority holds, and of equal ones the
//! larger count. It is the order of these fields.

/// A requested count of replicas with its priority.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct PrioritizedReplicas {
    pub(super) priority: i32,
    pub(super) replicas: i32,
}
