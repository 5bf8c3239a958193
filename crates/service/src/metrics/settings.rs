//! Settings of the measuring, as the configuration gives them.

use evenkeel_units::Bytes;

use super::api_call::ApiCallLimits;
use super::{kubelet, poller, prometheus, signals};

/// The longest answer that a source reads: one for 150,000 Pods is some 30 MB.
pub(crate) const BODY_LIMIT: Bytes = Bytes(256 * 1024 * 1024);

/// The source of measured usage, and how often it is asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub source: MetricsSourceSettings,
    pub poller: poller::Settings,
    /// How to ask kubelets for disk usage; `None` if the source reports it, or if unmeasured.
    pub kubelet: Option<kubelet::Settings>,
    /// The bounds of what is asked for single targets.
    pub signals: signals::Settings,
}

#[derive(Debug, Clone, PartialEq)]
pub enum MetricsSourceSettings {
    /// A Prometheus server, or what speaks its API.
    Prometheus(Box<prometheus::Settings>),
    /// metrics.k8s.io: cpu and memory only.
    MetricsApi(ApiCallLimits),
    /// None: loads are the sums of the Pods' demands.
    None,
}
