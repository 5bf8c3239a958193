//! The APIs that serve metrics to an HPA.

use evenkeel_units::words;

use crate::signal::Signal;

words! {
    /// The API that serves a signal.
    pub enum MetricsApi {
        /// `metrics.k8s.io`.
        Resource = "resource",
        /// `custom.metrics.k8s.io`.
        Custom = "custom",
        /// `external.metrics.k8s.io`.
        External = "external",
        /// A Prometheus server.
        Prometheus = "Prometheus",
    }
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
}
