//! The four listeners: probes, metrics, the dashboard, and webhook with extender.

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use tokio_util::sync::CancellationToken;

use super::parts::{Instruments, Parts, Tasks};
use crate::certificates::CertificateProvider;
use crate::dashboard;
use crate::external_metrics::{Access, CallerHeaders, ExternalMetrics, FrontProxy};
use crate::server::tls::CertificateStore;
use crate::server::{
    Drain, Listener, ListenerSettings, MetricsAuthentication, MetricsPage, Probes, ScrapeAccess,
    Transport,
};
use crate::telemetry;

/// The page of all parts' metrics.
pub(super) fn metrics_page(parts: &Parts) -> MetricsPage {
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
    } = &parts.instruments;
    server.register(&mut registry);
    handlers.register(&mut registry);
    cluster.register(&mut registry);
    controller.register(&mut registry);
    measuring.register(&mut registry);
    scaling.register(&mut registry);
    tuning.register(&mut registry);
    configuration.register(&mut registry);
    MetricsPage::new(Arc::new(registry))
}

/// Serves `/livez` and `/readyz` until the very end.
pub(super) fn probes(parts: &Parts, drain: &Drain, tasks: &mut Tasks) -> anyhow::Result<()> {
    let probes = Probes {
        readiness: parts.readiness.clone(),
        shutdown: drain.observer(),
    };
    let address = parts.config.server.http;
    let listener = plain(parts, address, ListenerSettings::for_probes())?;
    spawn(listener, probes.into_router(), drain, tasks);
    Ok(())
}

/// Serves `/metrics` to whoever reaches it, where that is configured; authenticated readers are served
/// over HTTPS, beside [`https`].
pub(super) fn open_metrics(
    parts: &Parts,
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

fn spawn(listener: Listener, router: Router, drain: &Drain, tasks: &mut Tasks) {
    let shutdown = drain.observer();
    tasks.spawn(async move {
        listener.serve(router, shutdown).await;
        Ok(())
    });
}

/// Serves explanations, the targets of scaling and the metrics on loopback, where the right to forward
/// a port is the right to read.
pub(super) fn dashboard(
    parts: &Parts,
    page: &MetricsPage,
    drain: &Drain,
    tasks: &mut Tasks,
) -> anyhow::Result<()> {
    let address = parts.config.server.dashboard;
    let listener = plain(parts, address, ListenerSettings::for_dashboard())?;
    let scaling = dashboard::Scaling {
        board: parts.instruments.scaling.board().clone(),
        traces: parts.scaling.traces.clone(),
    };
    let router = dashboard::explanations(&parts.handlers)
        .merge(scaling.routes())
        .merge(page.clone().into_router(ScrapeAccess::Everybody))
        .merge(dashboard::index());
    let router = dashboard::Hosts::new(&parts.config.server.dashboard_hosts).guard(router);
    spawn(listener, router, drain, tasks);
    Ok(())
}

fn plain(
    parts: &Parts,
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

/// The routes that are served over TLS, each with its address.
struct OverTls {
    calls: (SocketAddr, ListenerSettings, Router),
    /// Metrics, where their readers are authenticated.
    metrics: Option<(SocketAddr, ListenerSettings, Router)>,
    /// Follows how the API server introduces callers of external metrics, where these are served.
    front_proxy: Option<FrontProxy>,
}

impl OverTls {
    fn new(parts: &Parts, page: &MetricsPage) -> Self {
        let settings = &parts.config.server;
        let mut calls = parts
            .handlers
            .routes(&parts.config.handlers, parts.instruments.server.clone());
        let mut front_proxy = None;
        if let Some(loads) = parts.scaling.served.clone() {
            let headers = CallerHeaders::default();
            front_proxy = Some(FrontProxy::new(parts.client.clone(), headers.clone()));
            let external_metrics = ExternalMetrics {
                access: Access::new(parts.client.clone(), headers),
                loads,
                clock: parts.cluster.clock(),
                max_age: parts.config.scaling.max_age,
            };
            calls = external_metrics.routes(calls);
        }
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
            front_proxy,
        }
    }
}

/// Serves webhook and extender as soon as there is a certificate, and metrics where their readers are
/// authenticated.
pub(super) fn https(
    parts: &Parts,
    page: &MetricsPage,
    mut certificates: CertificateProvider,
    ends: &Ends<'_>,
    tasks: &mut Tasks,
) {
    let metrics = parts.instruments.server.clone();
    let served = OverTls::new(parts, page);
    let loaded = parts.readiness.condition("certificate loaded");
    // Only the requests are waited for: whoever follows the certificates lasts as long as the rest.
    let (shutdown, observer) = (ends.drain.part(), ends.drain.observer());
    let background = ends.background.clone();
    tasks.spawn(async move {
        let initial = tokio::select! {
            first = certificates.first() => first?,
            () = shutdown.draining() => return Ok(()),
        };
        let store = Arc::new(CertificateStore::new(initial, metrics.clone())?);
        let bind = |address, settings| {
            let transport = Transport::Tls(Arc::clone(&store));
            Listener::bind(address, settings, transport, metrics.clone())
        };
        let (address, settings, router) = served.calls;
        let listener = bind(address, settings)?;
        let metrics = match served.metrics {
            None => None,
            Some((address, settings, router)) => Some((bind(address, settings)?, router)),
        };
        tracing::info!(%address, "serving webhook and extender");
        loaded.met();
        let scrapes = async {
            if let Some((listener, router)) = metrics {
                listener.serve(router, observer.clone()).await;
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
        tokio::join!(serving, scrapes, keeping, introductions);
        Ok(())
    });
}

/// The two ends of the service: that of its requests, and that of what runs in the background.
pub(super) struct Ends<'a> {
    pub(super) drain: &'a Drain,
    pub(super) background: &'a CancellationToken,
}
