//! The terms of a node's load, for explanations.

use evenkeel_metrics::usage::NodeSample;
use evenkeel_units::{Amount, Resources};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeDetail {
    /// The sum that Pods may request, if known.
    pub allocatable: Resources<Option<Amount>>,
    pub measured: Resources<Option<NodeSample>>,
    /// In thousandths of the time.
    pub io_pressure: Option<NodeSample>,
    /// Usage that Pods in flight will add, including those without a binding.
    pub in_flight: Resources<Amount>,
    /// Measured usage of Pods that have ended.
    pub gone: Resources<Amount>,
    /// Demands of all Pods but those that do not start; the load where nothing fresh is measured.
    pub committed: Resources<Amount>,
    pub pods_in_flight: usize,
}
