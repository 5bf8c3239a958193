//! The sources of measured usage. This file alone lists them: settings say what a source can do, and
//! connect it.

pub mod metrics_api;
mod none;
pub mod prometheus;

use std::sync::Arc;

use evenkeel_units::Resource;

use self::metrics_api::MetricsApiSource;
pub use self::none::NoMetrics;
use self::prometheus::PrometheusSource;
use super::api_call::ApiCallLimits;
use super::source::MetricsSource;

#[derive(Debug, Clone, PartialEq)]
pub enum MetricsSourceSettings {
    /// A Prometheus server, or what speaks its API.
    Prometheus(Box<prometheus::Settings>),
    /// metrics.k8s.io: cpu and memory only.
    MetricsApi(ApiCallLimits),
    /// None: loads are the sums of the Pods' demands.
    None,
}

/// A source that can be asked.
pub struct ConnectedSource {
    /// Answers the rounds of measurements.
    pub rounds: Arc<dyn MetricsSource>,
    /// The same source, if it also answers for the past, for PromQL and for single containers.
    pub prometheus: Option<Arc<PrometheusSource>>,
}

impl MetricsSourceSettings {
    /// The source; `client` reads the APIs of the cluster.
    pub fn connect(&self, client: &kube::Client) -> ConnectedSource {
        let (rounds, prometheus): (Arc<dyn MetricsSource>, _) = match self {
            Self::Prometheus(settings) => {
                let source = Arc::new(PrometheusSource::new(settings.as_ref().clone()));
                (source.clone(), Some(source))
            }
            Self::MetricsApi(limits) => (
                Arc::new(MetricsApiSource::new(client.clone(), *limits)),
                None,
            ),
            Self::None => (Arc::new(NoMetrics), None),
        };
        ConnectedSource { rounds, prometheus }
    }

    /// The settings of a source that also answers for the past, for PromQL and for single containers.
    pub fn prometheus(&self) -> Option<&prometheus::Settings> {
        match self {
            Self::Prometheus(settings) => Some(settings),
            _ => None,
        }
    }

    /// True if the source measures this resource of nodes.
    pub const fn measures(&self, resource: Resource) -> bool {
        match self {
            Self::Prometheus(_) => true,
            Self::MetricsApi(_) => matches!(resource, Resource::Cpu | Resource::Memory),
            Self::None => false,
        }
    }

    /// Advice for a user whose nodes have no fresh measurement.
    pub fn advice(&self) -> String {
        match self {
            Self::Prometheus(prometheus) => format!(
                "check that metrics.prometheus.url ({}) is this cluster's Prometheus, that it \
                 scrapes node_exporter and cAdvisor on every node, and measured-names",
                prometheus.connection.url.to_string().trim_end_matches('/')
            ),
            Self::MetricsApi(_) => "kubectl get apiservice v1beta1.metrics.k8s.io (or \
                                    v1.metrics.k8s.io), and kubectl top nodes: metrics-server \
                                    must serve every node"
                .to_owned(),
            Self::None => "check metrics in the configuration".to_owned(),
        }
    }
}
