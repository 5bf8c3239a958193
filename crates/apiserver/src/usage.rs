//! Measurements of the embedding code, which the server answers under `metrics.k8s.io`,
//! `custom.metrics.k8s.io` and `external.metrics.k8s.io`.

use std::collections::BTreeMap;
use std::time::Duration;

use jiff::Timestamp;

/// The processor time and memory of a container or node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CpuMemoryUsage {
    /// The container; empty for a node.
    pub name: String,
    /// Mean processor time over the window, in millicores.
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

/// The usage of nodes and Pods, read at every request.
pub trait ResourceMetrics: Send + Sync {
    /// All measured nodes.
    fn nodes(&self) -> Vec<UsageMeasurement>;
    /// All measured Pods.
    fn pods(&self) -> Vec<UsageMeasurement>;
}

/// A value of a custom or external metric.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MetricReading {
    /// `None` for an external metric.
    pub object: Option<DescribedObject>,
    /// Namespace of the answer.
    pub namespace: String,
    /// Name of the metric; lower case for an external one, as clients request it.
    pub metric: String,
    /// Labels of the series.
    pub labels: BTreeMap<String, String>,
    /// When it was measured.
    pub timestamp: Timestamp,
    /// Window of the mean, for a mean.
    pub window: Option<Duration>,
    /// In thousandths.
    pub milli: i64,
}

/// An object that a custom metric describes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DescribedObject {
    /// Resource with group, such as `pods` or `ingresses.networking.k8s.io`.
    pub resource: String,
    /// Group and version, such as `v1`.
    pub api_version: String,
    /// The kind, such as `Pod`.
    pub kind: String,
    /// Its name.
    pub name: String,
}

/// The values of custom and external metrics, read at every request.
pub trait CustomMetrics: Send + Sync {
    /// All values: with an object they are custom metrics, else external ones.
    fn values(&self) -> Vec<MetricReading>;
}
