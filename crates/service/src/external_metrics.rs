//! `external.metrics.k8s.io/v1beta1`: the expected load of each target, as an External metric for
//! plain HPAs. It is served behind the API server ([`aggregation`](crate::aggregation));
//! [`evenkeel_scaling::external_metrics`] describes the values. Every replica forecasts and
//! answers by itself; one that does not know a load says so.

mod routes;

pub use routes::ExternalMetrics;
