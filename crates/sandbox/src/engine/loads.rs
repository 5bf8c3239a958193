//! How loaded nodes and workloads are at one moment.

use serde::{Serialize, Serializer};

use evenkeel_core::units::{Resource, Resources};

/// The loads of one step.
#[derive(Debug, Clone, Default)]
pub struct Loads {
    /// In the order of the scenario.
    pub nodes: Vec<NodeLoads>,
    /// The workloads that have arrived, in the order of the scenario.
    pub workloads: Vec<WorkloadLoad>,
}

/// One node's shares of its capacity.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeLoads {
    pub name: String,
    pub ready: bool,
    /// The number of Pods on it.
    pub pods: usize,
    /// The wanted amount of each resource as a share of the capacity; above 1 where more is wanted
    /// than there is.
    #[serde(serialize_with = "by_resource")]
    pub utilisation: Resources<f64>,
}

/// One workload at a moment.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadLoad {
    pub namespace: String,
    pub name: String,
    pub ready: u32,
    /// Pods that are there.
    pub replicas: u32,
    /// Requests per second that arrive.
    pub offered: f64,
    /// Requests per second that no replica serves.
    pub lost: f64,
}

fn by_resource<S: Serializer>(values: &Resources<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(
        values
            .iter()
            .map(|(resource, value)| (Resource::as_str(resource), value)),
    )
}
