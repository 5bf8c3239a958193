//! The cluster as a decision sees it: one immutable snapshot, shared by all readers. A request
//! decides on the newest snapshot alone, so its answer is a function of request, snapshot and
//! policy, and can be explained afterwards.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use evenkeel_objects::namespace_policy::NamespacePolicy;
use foldhash::fast::RandomState;

use crate::node_table::NodeSet;
use crate::scheduler_lease::SchedulerLease;
use crate::score_labels::Shape;

pub type Namespaces = HashMap<Box<str>, Arc<NamespacePolicy>, RandomState>;

#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    pub nodes: NodeSet,
    pub namespaces: Arc<Namespaces>,
    /// True if measurements are expected: then their absence everywhere means unknown, not unused.
    pub expects_metrics: bool,
    /// True once every kind of object has been listed.
    pub synced: bool,
    /// The Lease of the second scheduler, where there is one and it has been seen.
    pub second_scheduler: Option<SchedulerLease>,
    /// The shapes with score labels on nodes.
    pub labelled_shapes: Arc<BTreeSet<Shape>>,
}

/// The opt-in of a namespace, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptIn<'a> {
    /// It has not been seen: its Pods are left alone for now.
    Unknown,
    Out,
    In(&'a NamespacePolicy),
}

impl Snapshot {
    pub fn opt_in(&self, namespace: &str) -> OptIn<'_> {
        match self.namespaces.get(namespace) {
            None => OptIn::Unknown,
            Some(policy) if policy.enabled => OptIn::In(policy),
            Some(_) => OptIn::Out,
        }
    }

    /// The reason for which no placement can be judged on this picture, if there is one.
    pub fn blind(&self) -> Option<SnapshotGap> {
        if !self.synced {
            Some(SnapshotGap::NotSynced)
        } else if self.expects_metrics && self.nodes.measured() == 0 {
            Some(SnapshotGap::NoMetrics)
        } else {
            None
        }
    }
}

/// A reason for which a picture tells too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SnapshotGap {
    NotSynced,
    NoMetrics,
}
