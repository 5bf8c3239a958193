//! `GET /api/v1/nodes`: the load and the capacity of each node, as the headroom rule sees them. The
//! terms behind a load are in the explanation of a Pod.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_placement::extender::explain::ResourceMap;
use jiff::Timestamp;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeUsageList {
    /// The time in the cluster.
    pub at: Timestamp,
    /// False until every kind of object has been listed; the list is empty before.
    pub synced: bool,
    /// The largest load / capacity that a placement may lead to.
    pub headroom: f64,
    /// In no order.
    pub nodes: Vec<Arc<NodeUsage>>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct NodeUsage {
    pub name: Arc<str>,
    /// True for a node that is Ready and not cordoned.
    pub schedulable: bool,
    /// True if a taint keeps Pods without a toleration away.
    pub tainted: bool,
    /// Evenkeel's own taint, such as `evenkeel.dev/overloaded=cpu:NoSchedule`.
    pub overload: Option<String>,
    /// True where part of the load is a sum of demands, for want of fresh measurements.
    pub estimated: bool,
    /// The resources whose load is at or above the headroom, or that tasks wait for too long.
    pub over: Vec<Cow<'static, str>>,
    pub resources: ResourceMap<ResourceUsage>,
}

/// One resource of a node, in millicores, bytes or bytes per second.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ResourceUsage {
    pub load: u64,
    /// `null` if it is not known; the resource then takes no part in the rules.
    pub capacity: Option<u64>,
    /// `fresh`, `stale` or `absent`.
    pub freshness: Cow<'static, str>,
}
