//! The metrics provider: one way to ask for series of a namespace, of now and of the past, whatever
//! answers them (Prometheus, the metrics APIs).
//!
//! The questions and the rights that they take stand in [`evenkeel_kubernetes::series_query`]. They come
//! in behind the API server ([`SeriesApi`]) and as Kapacity's gRPC service ([`GrpcService`]), and
//! are answered with places, connections and limits of their own: nothing that is asked here holds up a
//! tick or a review.

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
