//! `external.metrics.k8s.io/v1beta1`: the load that the replicas of each target have to be ready for, as
//! an External metric for plain HPAs.
//!
//! The API server passes on what is asked of the group, with its front proxy's certificate and the
//! caller's names in headers ([`FrontProxy`]); whether the caller may is asked of the API server
//! ([`Access`]). What the values say stands in [`evenkeel_kubernetes::external_metrics`]. Every replica
//! measures and forecasts, so that each answers by itself; one that does not know a load says so.

mod access;
mod claim;
mod front_proxy;
mod routes;

pub use access::Access;
pub use claim::claim;
pub use front_proxy::{CallerHeaders, FrontProxy};
pub use routes::ExternalMetrics;
