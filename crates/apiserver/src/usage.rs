//! Measurements, which the embedding code takes or makes up and the server answers under
//! `metrics.k8s.io`, `custom.metrics.k8s.io` and `external.metrics.k8s.io`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

/// The processor time and memory that a container or node used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuMemoryUsage {
    /// The container; empty for a node.
    pub name: String,
    /// Processor time in millicores, the mean over the window.
    pub cpu_milli: u64,
    /// Working set in bytes at the end of the window.
    pub memory_bytes: u64,
}

/// One measurement of a node or of a Pod's containers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UsageMeasurement {
    /// The Pod's namespace; empty for a node.
    pub namespace: String,
    /// The Pod's or node's name.
    pub name: String,
    /// The end of the window.
    pub timestamp: Timestamp,
    /// The length of the window.
    pub window: Duration,
    /// One for a node, one per container for a Pod.
    pub usage: Vec<CpuMemoryUsage>,
}

/// Tells the server what nodes and Pods use. It is asked anew for every request.
pub trait ResourceMetrics: Send + Sync {
    /// All nodes that there are measurements of.
    fn nodes(&self) -> Vec<UsageMeasurement>;
    /// All Pods that there are measurements of.
    fn pods(&self) -> Vec<UsageMeasurement>;
}

/// One value of a custom metric of an object, or of an external one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricReading {
    /// The object that is described; `None` for an external metric.
    pub object: Option<DescribedObject>,
    /// The namespace that it is served in.
    pub namespace: String,
    /// The name of the metric; that of an external one in lower case, as clients ask for it.
    pub metric: String,
    /// The labels of its series.
    pub labels: BTreeMap<String, String>,
    /// When it was measured.
    pub timestamp: Timestamp,
    /// The window that it is the mean of, where it is one.
    pub window: Option<Duration>,
    /// The value in thousandths.
    pub milli: i64,
}

/// An object that a custom metric describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedObject {
    /// The resource with its group, such as `pods` or `ingresses.networking.k8s.io`.
    pub resource: String,
    /// Group and version, such as `v1`.
    pub api_version: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// Tells the server the values of custom and external metrics. It is asked anew for every request.
pub trait CustomMetrics: Send + Sync {
    /// All values that there are: those with an object are custom metrics, the others external ones.
    fn values(&self) -> Vec<MetricReading>;
}
