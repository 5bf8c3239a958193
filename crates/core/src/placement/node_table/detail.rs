//! The terms that a node's load is made of, kept beside it for explanations.

use crate::placement::usage::NodeSample;
use crate::units::{Amount, Resources};

/// The terms of a node's load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeDetail {
    /// The amount of each resource that Pods may request together, if it is known.
    pub allocatable: Resources<Option<Amount>>,
    /// The newest measurement of each resource.
    pub measured: Resources<Option<NodeSample>>,
    /// The newest measurement of its I/O pressure, in thousandths of the time.
    pub io_pressure: Option<NodeSample>,
    /// The usage that Pods in flight will add to it, those without a binding included.
    pub in_flight: Resources<Amount>,
    /// The usage in it of Pods that have ended.
    pub gone: Resources<Amount>,
    /// The demands of all Pods on the node but those that do not start, which are its load where
    /// nothing fresh is measured.
    pub committed: Resources<Amount>,
    pub pods_in_flight: usize,
}
