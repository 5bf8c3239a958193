//! Measurements of nodes and Pods, which the embedding code takes or makes up and the server answers
//! under `metrics.k8s.io`.

use std::time::Duration;

use jiff::Timestamp;

/// The processor time and memory that a container or node used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Usage {
    /// The container; empty for a node.
    pub name: String,
    /// Processor time in millicores, the mean over the window.
    pub cpu_milli: u64,
    /// Working set in bytes at the end of the window.
    pub memory_bytes: u64,
}

/// One measurement of a node or of a Pod's containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reading {
    /// The Pod's namespace; empty for a node.
    pub namespace: String,
    /// The Pod's or node's name.
    pub name: String,
    /// The end of the window.
    pub timestamp: Timestamp,
    /// The length of the window.
    pub window: Duration,
    /// One for a node, one per container for a Pod.
    pub usage: Vec<Usage>,
}

/// Tells the server what nodes and Pods use. It is asked anew for every request.
pub trait ResourceMetrics: Send + Sync {
    /// All nodes that there are measurements of.
    fn nodes(&self) -> Vec<Reading>;
    /// All Pods that there are measurements of.
    fn pods(&self) -> Vec<Reading>;
}
