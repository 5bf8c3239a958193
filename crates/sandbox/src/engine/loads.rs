//! The load of nodes and workloads at one moment.

use evenkeel_units::{Resource, Resources};
use serde::{Serialize, Serializer};

#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// In the order of the scenario.
    pub nodes: Vec<NodeLoads>,
    /// Those that have arrived, in the order of the scenario.
    pub workloads: Vec<WorkloadLoad>,
}

/// Shares of a node's capacity.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLoads {
    pub name: String,
    pub ready: bool,
    pub pods: usize,
    /// Wanted amounts as shares of the capacity; above 1 if more is wanted than there is.
    #[serde(serialize_with = "by_resource")]
    pub utilisation: Resources<f64>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadLoad {
    pub namespace: String,
    pub name: String,
    pub ready: u32,
    /// Existing Pods.
    pub replicas: u32,
    /// Arriving requests per second.
    pub offered: f64,
    /// Unserved requests per second.
    pub lost: f64,
}

fn by_resource<S: Serializer>(values: &Resources<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        values
            .iter()
            .map(|(resource, value)| (Resource::as_str(resource), value)),
    )
}
