//! The cluster as a decision sees it: one immutable picture, shared by all readers.
//!
//! A request takes the newest picture once and decides on it alone, so that its answer is a
//! function of request, picture and policy, and can be explained afterwards.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::namespace_policy::NamespacePolicy;
use crate::scheduler_lease::SchedulerLease;
use evenkeel_core::placement::node_table::NodeSet;

/// The namespaces that are known, with their policies.
pub type Namespaces = HashMap<Box<str>, Arc<NamespacePolicy>, RandomState>;

/// The cluster at one moment.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// The nodes with their loads.
    pub nodes: NodeSet,
    /// The namespaces with their policies.
    pub namespaces: Arc<Namespaces>,
    /// True where measurements are to be expected: then their absence everywhere means that nothing
    /// is known, and not that nothing is used.
    pub expects_metrics: bool,
    /// True once every kind of object has been listed.
    pub synced: bool,
    /// The Lease of the second scheduler, where there is one and it has been seen.
    pub second_scheduler: Option<SchedulerLease>,
}

/// The opt-in of a namespace, as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum OptIn<'a> {
    /// It has not been seen: its Pods are left alone for now.
    Unknown,
    /// It has not opted in.
    Out,
    /// It has opted in, with this policy.
    In(&'a NamespacePolicy),
}

impl Snapshot {
    /// The opt-in of a namespace.
    #[must_use]
    pub fn opt_in(&self, namespace: &str) -> OptIn<'_> {
        match self.namespaces.get(namespace) {
            None => OptIn::Unknown,
            Some(policy) if policy.enabled => OptIn::In(policy),
            Some(_) => OptIn::Out,
        }
    }

    /// The reason for which no placement can be judged on this picture, if there is one.
    #[must_use]
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
    /// The objects of the cluster have not all been listed yet.
    NotSynced,
    /// No node has a fresh measurement.
    NoMetrics,
}
