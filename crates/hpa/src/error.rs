//! Why a metric gives no replica count, in the words of Kubernetes.

use evenkeel_label_selector::{SelectorError, go_syntax};
use evenkeel_metrics::metrics_api::MetricsApi;
use evenkeel_metrics::signal::{ObjectReference, PromQl, ResourceName, Signal};

/// Why there is no measurement of a signal.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReadError {
    /// The API failed or answered with an error.
    #[error("unable to fetch metrics from {api} metrics API: {error}")]
    Fetch { api: MetricsApi, error: String },
    /// The API answered with nothing.
    #[error("no metrics returned from {0} metrics API")]
    Empty(MetricsApi),
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ReplicasError {
    #[error("{}", unread(.signal, .namespace, .error))]
    Unread {
        signal: Box<Signal>,
        namespace: String,
        error: ReadError,
    },
    #[error("no pods returned by selector while calculating replica count")]
    NoPods,
    #[error(
        "unable to calculate ready pods: no pods returned by selector while calculating replica count"
    )]
    NoPodsToCount,
    /// No measured Pod counts.
    #[error("did not receive metrics for targeted pods (pods might be unready)")]
    NoReadyMetrics,
    /// A container requests nothing of the resource.
    #[error("missing request for {resource} in container {container} of Pod {pod}")]
    MissingRequest {
        resource: ResourceName,
        container: String,
        pod: String,
    },
    /// A Pod with requests as a whole requests nothing of the resource anywhere.
    #[error("missing pod-level request for {resource} in Pod {pod}")]
    MissingPodLevelRequest { resource: ResourceName, pod: String },
    #[error("container {container} not found in Pod {pod}")]
    ContainerNotFound { container: String, pod: String },
    /// No measured Pod requests the resource.
    #[error("no metrics returned matched known pods")]
    NoMatchingMetrics,
    /// The metric's selector is invalid.
    #[error("{0}")]
    Selector(#[from] SelectorError),
    /// The target value does not fit the metric's type.
    #[error("{0}")]
    NoTarget(&'static str),
}

impl ReplicasError {
    /// A word from a closed set.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Unread { error, .. } => match error {
                ReadError::Fetch { .. } => "metrics_fetch_failed",
                ReadError::Empty(_) => "metrics_empty",
            },
            Self::NoPods | Self::NoPodsToCount => "no_pods",
            Self::NoReadyMetrics => "no_ready_metrics",
            Self::MissingRequest { .. } => "missing_request",
            Self::MissingPodLevelRequest { .. } => "missing_pod_level_request",
            Self::ContainerNotFound { .. } => "container_not_found",
            Self::NoMatchingMetrics => "no_matching_metrics",
            Self::Selector(_) => "invalid_selector",
            Self::NoTarget(_) => "no_target",
        }
    }

    pub(crate) const fn no_target(signal: &Signal) -> Self {
        Self::NoTarget(match signal {
            Signal::Resource(_) | Signal::ContainerResource { .. } => {
                "invalid resource metric source: neither an average utilization target nor an \
                 average value (usage) target was set"
            }
            Signal::Pods(_) => "invalid pods metric source: no average value target was set",
            Signal::Object { .. } => {
                "invalid object metric source: neither a value target nor an average value target \
                 was set"
            }
            Signal::External(_) | Signal::PromQl(_) => {
                "invalid external metric source: neither a value target nor an average value \
                 target was set"
            }
        })
    }
}

/// Kubernetes mixes up the arguments for an object: the kind stands in place of the error, and the
/// error in place of the name.
fn unread(signal: &Signal, namespace: &str, error: &ReadError) -> String {
    match signal {
        Signal::Resource(resource) | Signal::ContainerResource { resource, .. } => {
            format!("unable to get metrics for resource {resource}: {error}")
        }
        Signal::Pods(metric) => format!("unable to get metric {}: {error}", metric.name),
        Signal::Object { object, metric } => {
            let ObjectReference { kind, name, .. } = &**object;
            let metric = &metric.name;
            format!("unable to get metric {metric}: {kind} on {namespace} {name}/{error}")
        }
        Signal::External(metric) => {
            let selector = go_syntax(metric.selector.as_ref());
            let metric = &metric.name;
            format!("unable to get external metric {namespace}/{metric}/{selector}: {error}")
        }
        Signal::PromQl(PromQl { query, .. }) => {
            format!("unable to get the value of {query}: {error}")
        }
    }
}
