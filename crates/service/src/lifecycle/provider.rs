//! The metrics provider, with its own connections to its sources, so that it and the ticks do not
//! wait for each other.

use std::sync::Arc;

use axum::Router;
use evenkeel_units::Bytes;

use super::components::Components;
use crate::metrics::ApiCallLimits;
use crate::metrics::prometheus::PrometheusSource;
use crate::metrics::signals::ServedSource;
use crate::metrics_provider::{Callers, GrpcService, MetricsProvider, PodCallers, SeriesSources};
use crate::server::{ListenerSettings, Routes};

/// The longest answer that is read: that of some hundred thousand points.
const BODY_LIMIT: Bytes = Bytes(16 * 1024 * 1024);

pub(super) fn new(parts: &Components) -> Option<Arc<MetricsProvider>> {
    let settings = parts.config.metrics_provider.clone()?;
    let prometheus = parts.config.metrics.source.prometheus().cloned();
    let prometheus = prometheus.map(|mut prometheus| {
        prometheus.connection.timeout = settings.timeout;
        prometheus.connection.body_limit = BODY_LIMIT;
        PrometheusSource::new(prometheus)
    });
    let bounds = ApiCallLimits {
        timeout: settings.timeout,
        body_limit: BODY_LIMIT,
    };
    let sources = SeriesSources {
        client: parts.client.clone(),
        served: ServedSource::new(parts.client.clone(), bounds),
        prometheus,
        cluster: parts.cluster.clone(),
    };
    let metrics = parts.instruments.provider.clone();
    Some(Arc::new(MetricsProvider::new(sources, settings, metrics)))
}

/// A gRPC listener: its settings, its address and its routes.
pub(super) struct Grpc {
    pub(super) settings: ListenerSettings,
    pub(super) address: std::net::SocketAddr,
    pub(super) router: Router,
}

/// gRPC over TLS, for callers with a token, if that is configured.
pub(super) fn grpc(parts: &Components, provider: &Arc<MetricsProvider>) -> Option<Grpc> {
    let address = parts.config.metrics_provider.as_ref()?.grpc?;
    let service = GrpcService::for_tokens(parts.client.clone(), Arc::clone(provider));
    Some(served("grpc", address, service, parts))
}

/// gRPC without TLS, to Pods by their addresses, where that is configured.
pub(super) fn plaintext(parts: &Components, provider: &Arc<MetricsProvider>) -> Option<Grpc> {
    let address = parts.config.metrics_provider.as_ref()?.plaintext_grpc?;
    let service = GrpcService {
        callers: Callers::Addresses(PodCallers::new(parts.client.clone())),
        provider: Arc::clone(provider),
    };
    Some(served("plaintext-grpc", address, service, parts))
}

fn served(
    name: &'static str,
    address: std::net::SocketAddr,
    service: GrpcService,
    parts: &Components,
) -> Grpc {
    let routes = Routes::new(parts.instruments.server.clone());
    Grpc {
        settings: ListenerSettings::for_jobs(name),
        address,
        router: service.routes(routes).into_router(),
    }
}
