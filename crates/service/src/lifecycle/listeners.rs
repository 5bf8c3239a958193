//! The listeners: probes, metrics, the dashboard, webhook with extender and API groups, and the
//! metrics provider's gRPC.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use evenkeel_objects::api_group;
use evenkeel_objects::kinds::Kind;
use tokio_util::sync::CancellationToken;

use super::components::{Components, Instruments, Tasks};
use super::provider;
use super::provider::Grpc;
use crate::aggregation::{CallerHeaders, FrontProxy, Groups, Introductions, Rights};
use crate::certificates::CertificateProvider;
use crate::config::Config;
use crate::external_metrics::ExternalMetrics;
use crate::metrics_provider::{MetricsProvider, SeriesApi};
use crate::server::tls::CertificateStore;
use crate::server::{
    Drain, Listener, ListenerSettings, MetricsAuthentication, MetricsPage, Probes, Readiness,
    Routes, ScrapeAccess, Transport,
};
use crate::telemetry::Registry;
use crate::{dashboard, server, telemetry};

pub(super) fn metrics_page(parts: &Components) -> MetricsPage {
    let mut registry = telemetry::registry();
    let Instruments {
        server,
        handlers,
        cluster,
        controller,
        measuring,
        scaling,
        tuning,
        configuration,
        provider,
        spans,
    } = &parts.instruments;
    server.register(&mut registry);
    handlers.register(&mut registry);
    cluster.register(&mut registry);
    controller.register(&mut registry);
    measuring.register(&mut registry);
    scaling.register(&mut registry);
    tuning.register(&mut registry);
    configuration.register(&mut registry);
    provider.register(&mut registry);
    spans.register(&mut registry);
    MetricsPage::new(Arc::new(registry))
}

/// Serves `/livez` and `/readyz` until the very end.
pub(super) fn probes(parts: &Components, drain: &Drain, tasks: &mut Tasks) -> anyhow::Result<()> {
    let probes = Probes {
        readiness: parts.readiness.clone(),
        shutdown: drain.observer(),
    };
    let address = parts.config.server.http;
    let listener = plain(parts, address, ListenerSettings::for_probes())?;
    spawn(listener, probes.into_router(), drain, tasks);
    Ok(())
}

/// Serves `/metrics` to every client, if configured. Authenticated readers use HTTPS, beside
/// [`https`].
pub(super) fn open_metrics(
    parts: &Components,
    page: &MetricsPage,
    drain: &Drain,
    tasks: &mut Tasks,
) -> anyhow::Result<()> {
    let settings = &parts.config.server;
    if settings.metrics_authentication != MetricsAuthentication::None {
        return Ok(());
    }
    let listener = plain(parts, settings.metrics, ListenerSettings::for_metrics())?;
    let router = page.clone().into_router(ScrapeAccess::Everybody);
    spawn(listener, router, drain, tasks);
    Ok(())
}

/// Serves `/livez`, `/readyz` and `/metrics` of a process without other paths, to every client. The
/// signer's metrics name no tenant, and a network policy protects the agents'.
pub(super) fn alone(
    config: &Config,
    registry: Registry,
    readiness: Readiness,
    drain: &Drain,
    tasks: &mut Tasks,
) -> anyhow::Result<()> {
    let metrics = server::ListenerMetrics::default();
    let bind =
        |address, settings| Listener::bind(address, settings, Transport::Plain, metrics.clone());
    let for_kubelet = bind(config.server.http, ListenerSettings::for_probes())?;
    let for_prometheus = bind(config.server.metrics, ListenerSettings::for_metrics())?;
    let probes = Probes {
        readiness,
        shutdown: drain.observer(),
    };
    let page = MetricsPage::new(Arc::new(registry));
    let page = page.into_router(ScrapeAccess::Everybody);
    spawn(for_kubelet, probes.into_router(), drain, tasks);
    spawn(for_prometheus, page, drain, tasks);
    Ok(())
}

fn spawn(listener: Listener, router: Router, drain: &Drain, tasks: &mut Tasks) {
    let shutdown = drain.observer();
    tasks.spawn(async move {
        listener.serve(router, shutdown).await;
        Ok(())
    });
}

/// Serves the dashboard and metrics on loopback, where the right to forward a port
/// is the right to read.
pub(super) fn dashboard(
    parts: &Components,
    page: &MetricsPage,
    drain: &Drain,
    tasks: &mut Tasks,
) -> anyhow::Result<()> {
    let address = parts.config.server.dashboard;
    let listener = plain(parts, address, ListenerSettings::for_dashboard())?;
    let scaling = dashboard::DashboardScalingState {
        board: parts.instruments.scaling.board().clone(),
        traces: parts.scaling.traces.clone(),
        replay: parts.replay.clone(),
    };
    let router = dashboard::routes(&parts.handlers, &scaling, parts.client.clone())
        .merge(page.clone().into_router(ScrapeAccess::Everybody));
    let router = dashboard::Hosts::new(&parts.config.server.dashboard_hosts).guard(router);
    spawn(listener, router, drain, tasks);
    Ok(())
}

fn plain(
    parts: &Components,
    address: SocketAddr,
    settings: ListenerSettings,
) -> anyhow::Result<Listener> {
    let metrics = parts.instruments.server.clone();
    Ok(Listener::bind(
        address,
        settings,
        Transport::Plain,
        metrics,
    )?)
}

/// Serves the metrics provider to Pods by their addresses, where that is configured.
pub(super) fn plaintext_grpc(
    parts: &Components,
    provider: Option<&Arc<MetricsProvider>>,
    drain: &Drain,
    tasks: &mut Tasks,
) -> anyhow::Result<()> {
    let Some(grpc) = provider.and_then(|provider| provider::plaintext(parts, provider)) else {
        return Ok(());
    };
    let metrics = parts.instruments.server.clone();
    let transport = Transport::PlainHttp2;
    let listener = Listener::bind(grpc.address, grpc.settings, transport, metrics)?;
    tracing::warn!(
        address = %grpc.address,
        "serving series to Pods by their addresses, without TLS"
    );
    let shutdown = drain.part();
    tasks.spawn(async move {
        listener.serve(grpc.router, shutdown).await;
        Ok(())
    });
    Ok(())
}

struct OverTls {
    calls: (SocketAddr, ListenerSettings, Router),
    /// Metrics, where their readers are authenticated.
    metrics: Option<(SocketAddr, ListenerSettings, Router)>,
    /// The metrics provider's gRPC, where it is served.
    grpc: Option<Grpc>,
    /// Follows how the API server introduces callers, where a group is served behind it.
    front_proxy: Option<FrontProxy>,
}

impl OverTls {
    fn new(
        parts: &Components,
        page: &MetricsPage,
        provider: Option<&Arc<MetricsProvider>>,
    ) -> Self {
        let settings = &parts.config.server;
        let calls = parts
            .handlers
            .routes(&parts.config.handlers, parts.instruments.server.clone());
        let (calls, front_proxy) = behind_the_api_server(parts, provider, calls);
        let metrics = match settings.metrics_authentication {
            MetricsAuthentication::None => None,
            MetricsAuthentication::Kubernetes => {
                let access = ScrapeAccess::authorised(parts.client.clone());
                let router = page.clone().into_router(access);
                Some((settings.metrics, ListenerSettings::for_metrics(), router))
            }
        };
        Self {
            calls: (settings.https, settings.webhook, calls.into_router()),
            metrics,
            grpc: provider.and_then(|provider| provider::grpc(parts, provider)),
            front_proxy,
        }
    }
}

/// Adds the groups that are served behind the API server, with the watch of its front proxy.
fn behind_the_api_server(
    parts: &Components,
    provider: Option<&Arc<MetricsProvider>>,
    mut calls: Routes,
) -> (Routes, Option<FrontProxy>) {
    let headers = CallerHeaders::default();
    let introductions = Introductions::new(headers.clone());
    let rights = Arc::new(Rights::new(parts.client.clone()));
    let mut groups = Vec::new();
    if let Some(loads) = parts.scaling.served.clone() {
        groups.push(api_group::group(Kind::ExternalMetrics));
        let external_metrics = ExternalMetrics {
            introductions: introductions.clone(),
            rights: Arc::clone(&rights),
            loads,
            clock: parts.cluster.clock(),
            max_age: parts.config.scaling.max_age,
        };
        calls = external_metrics.routes(calls);
    }
    if let Some(provider) = provider {
        groups.push(api_group::group(Kind::MetricSeries));
        let series = SeriesApi {
            introductions: introductions.clone(),
            rights,
            provider: Arc::clone(provider),
        };
        calls = series.routes(calls);
    }
    if groups.is_empty() {
        return (calls, None);
    }
    let all = Groups {
        introductions,
        groups,
    };
    let front_proxy = FrontProxy::new(parts.client.clone(), headers);
    (all.routes(calls), Some(front_proxy))
}

/// Serves webhook and extender once there is a certificate, metrics with authenticated readers, and
/// the metrics provider.
pub(super) fn https(
    parts: &Components,
    (page, provider): (&MetricsPage, Option<&Arc<MetricsProvider>>),
    mut certificates: CertificateProvider,
    ends: &Ends<'_>,
    tasks: &mut Tasks,
) {
    let metrics = parts.instruments.server.clone();
    let served = OverTls::new(parts, page, provider);
    let loaded = parts.readiness.condition("certificate loaded");
    // Only the requests are waited for: the watch of the certificates lasts as long as the rest.
    let (shutdown, observer) = (ends.drain.part(), ends.drain.observer());
    let jobs_end = ends.drain.part();
    let background = ends.background.clone();
    let scheduler_thread = parts.scheduler_thread.handle();
    tasks.spawn(async move {
        let initial = tokio::select! {
            first = certificates.first() => first?,
            () = shutdown.draining() => return Ok(()),
        };
        let store = Arc::new(CertificateStore::new(initial, metrics.clone())?);
        let bind = |address, settings, scheduler_thread| {
            let transport = Transport::Tls {
                certificates: Arc::clone(&store),
                scheduler_thread,
            };
            Listener::bind(address, settings, transport, metrics.clone())
        };
        let (address, settings, router) = served.calls;
        let listener = bind(address, settings, Some(scheduler_thread))?;
        let metrics = match served.metrics {
            None => None,
            Some((address, settings, router)) => Some((bind(address, settings, None)?, router)),
        };
        let grpc = match served.grpc {
            None => None,
            Some(grpc) => Some((bind(grpc.address, grpc.settings, None)?, grpc.router)),
        };
        tracing::info!(%address, "serving webhook and extender");
        loaded.met();
        let scrapes = async {
            if let Some((listener, router)) = metrics {
                listener.serve(router, observer.clone()).await;
            }
        };
        let jobs = async {
            if let Some((listener, router)) = grpc {
                listener.serve(router, jobs_end).await;
            }
        };
        let introductions = async {
            if let Some(front_proxy) = served.front_proxy {
                front_proxy
                    .run(Arc::clone(&store), background.clone())
                    .await;
            }
        };
        let keeping = certificates.run(Arc::clone(&store), background.clone(), observer.clone());
        let serving = listener.serve(router, shutdown);
        tokio::join!(serving, scrapes, jobs, keeping, introductions);
        Ok(())
    });
}

/// The two ends of the service: that of its requests, and that of what runs in the background.
pub(super) struct Ends<'a> {
    pub(super) drain: &'a Drain,
    pub(super) background: &'a CancellationToken,
}
