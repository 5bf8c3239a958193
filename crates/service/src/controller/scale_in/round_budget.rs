//! The limits of one round of deletion costs, so that one tenant's many workloads delay no other's.

use std::cell::RefCell;
use std::collections::HashMap;

use evenkeel_placement::plan::deletion_cost::NamespacePods;

/// Choices stop at so many waiting costs: two seconds of the writer's work, and a tenth of its
/// queue.
pub(super) const MARKS: usize = 200;
/// The most ReplicaSets that are chosen from in a round.
const SETS: usize = 20;
/// Choices stop after so many looks at Pods and nodes: some tens of milliseconds.
const LOOKS: usize = 10_000_000;

pub(super) struct ScaleInBudget {
    pub(super) sets: usize,
    pub(super) marks: usize,
    pub(super) looks: usize,
    /// The Pods of the namespaces that have been asked for.
    pub(super) around: RefCell<HashMap<String, NamespacePods>>,
}

impl ScaleInBudget {
    pub(super) fn new(awaited: usize) -> Self {
        Self {
            sets: SETS,
            marks: MARKS.saturating_sub(awaited),
            looks: LOOKS,
            around: RefCell::default(),
        }
    }

    pub(super) const fn is_left(&self) -> bool {
        self.sets > 0 && self.marks > 0 && self.looks > 0
    }
}
