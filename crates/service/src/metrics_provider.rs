//! The metrics provider: one way to ask for series of a namespace, present and past, from any
//! source (Prometheus, the metrics APIs). [`evenkeel_metrics::series_query`] defines the queries
//! and their rights. They arrive behind the API server ([`SeriesApi`]) and as Kapacity's gRPC
//! service ([`GrpcService`]), with places, connections and limits of their own, so that they hold
//! up no tick or review.

mod grpc;
mod instruments;
mod latest;
mod pod_callers;
mod provider;
mod response_body;
mod routes;
mod series_history;
mod settings;

pub use grpc::{Callers, GrpcService, messages};
pub use instruments::SeriesProviderMetrics;
pub use pod_callers::PodCallers;
pub use provider::{MetricsProvider, SeriesSources};
pub use routes::SeriesApi;
pub use settings::{ConfiguredQuery, ConfiguredQueryError, Settings};
