//! Paths of the listeners, and names on the way to them, as they stand in the shipped manifests.

/// The Service that kube-scheduler calls, with which the name begins that it asks for in TLS.
pub const EXTENDER_SERVICE: &str = "evenkeel-extender";
pub const MUTATE: &str = "/mutate";
/// Prefix of the extender's paths: `urlPrefix` in the scheduler's configuration.
pub const SCHEDULER: &str = "/scheduler";
pub const FILTER: &str = "/scheduler/filter";
pub const PRIORITIZE: &str = "/scheduler/prioritize";
pub const PREEMPT: &str = "/scheduler/preempt";
pub const BIND: &str = "/scheduler/bind";
pub const LIVEZ: &str = "/livez";
pub const READYZ: &str = "/readyz";
pub const METRICS: &str = "/metrics";
pub const GROUPS: &str = "/apis";
pub const EXTERNAL_METRICS: &str = "/apis/external.metrics.k8s.io";
pub const EXTERNAL_METRICS_VERSION: &str = "/apis/external.metrics.k8s.io/v1beta1";
pub(crate) const EXTERNAL_METRIC: &str =
    "/apis/external.metrics.k8s.io/v1beta1/namespaces/{namespace}/{metric}";
pub const METRICS_PROVIDER: &str = "/apis/metrics.evenkeel.dev";
pub const METRICS_PROVIDER_VERSION: &str = "/apis/metrics.evenkeel.dev/v1alpha1";
pub const SERIES: &str =
    "/apis/metrics.evenkeel.dev/v1alpha1/namespaces/{namespace}/series/{query}";
/// The documents that describe the groups, as the API server asks for them.
pub(crate) const OPENAPI: &str = "/openapi/v3";
pub(crate) const OPENAPI_METRICS_PROVIDER: &str = "/openapi/v3/apis/metrics.evenkeel.dev/v1alpha1";
pub(crate) const QUERY_LATEST: &str = "/io.kapacitystack.metric.ProviderService/QueryLatest";
pub const QUERY: &str = "/io.kapacitystack.metric.ProviderService/Query";

/// The header with a metrics reader's token through the API server's proxy, which removes
/// `Authorization`.
pub const FORWARDED_TOKEN: &str = "x-evenkeel-token";
