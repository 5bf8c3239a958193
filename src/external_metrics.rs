//! `external.metrics.k8s.io/v1beta1`: the load that the replicas of each target have to be ready for, as
//! an External metric for plain HPAs.
//!
//! It is served behind the API server ([`aggregation`](crate::aggregation)), and what the values say
//! stands in [`evenkeel_kubernetes::external_metrics`]. Every replica measures and forecasts, so that
//! each answers by itself; one that does not know a load says so.

mod routes;

pub use routes::ExternalMetrics;
