//! What a decision sees of the cluster: one immutable picture, shared by all readers.
//!
//! A request takes the newest picture once and decides on it alone, so that its answer is a
//! function of request, picture and policy, and can be explained afterwards.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use crate::namespace_policy::NamespacePolicy;
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
    /// Whether measurements are to be expected: then their absence everywhere means that nothing
    /// is known, and not that nothing is used.
    pub expects_metrics: bool,
    /// Whether every kind of object has been listed once.
    pub synced: bool,
}

/// What is known of a namespace.
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
    /// Whether a namespace has opted in.
    #[must_use]
    pub fn opt_in(&self, namespace: &str) -> OptIn<'_> {
        match self.namespaces.get(namespace) {
            None => OptIn::Unknown,
            Some(policy) if policy.enabled => OptIn::In(policy),
            Some(_) => OptIn::Out,
        }
    }

    /// Why no placement can be judged on this picture, if so.
    #[must_use]
    pub fn blind(&self) -> Option<Blind> {
        if !self.synced {
            Some(Blind::NotSynced)
        } else if self.expects_metrics && self.nodes.measured() == 0 {
            Some(Blind::NoMetrics)
        } else {
            None
        }
    }
}

/// Why a picture tells too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blind {
    /// The objects of the cluster have not all been listed yet.
    NotSynced,
    /// No node has a fresh measurement.
    NoMetrics,
}
