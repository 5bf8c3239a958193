//! The APIs that serve metrics to an HPA.

use crate::signal::Signal;

/// The API that serves a signal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricsApi {
    /// `metrics.k8s.io`.
    Resource,
    /// `custom.metrics.k8s.io`.
    Custom,
    /// `external.metrics.k8s.io`.
    External,
    /// A Prometheus server.
    Prometheus,
}

impl MetricsApi {
    /// The API that serves `signal`.
    pub const fn of(signal: &Signal) -> Self {
        match signal {
            Signal::Resource(_) | Signal::ContainerResource { .. } => Self::Resource,
            Signal::Pods(_) | Signal::Object { .. } => Self::Custom,
            Signal::External(_) => Self::External,
            Signal::PromQl(_) => Self::Prometheus,
        }
    }

    pub const fn name(self) -> &'static str {
        match self {
            Self::Resource => "resource",
            Self::Custom => "custom",
            Self::External => "external",
            Self::Prometheus => "Prometheus",
        }
    }
}
