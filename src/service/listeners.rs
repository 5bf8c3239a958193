//! The three listeners: probes and metrics, the dashboard, and the HTTPS paths.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::parts::{Instruments, Parts, Tasks};
use crate::certificates::CertificateProvider;
use crate::dashboard;
use crate::server::tls::CertificateStore;
use crate::server::{Drain, Listener, ListenerSettings, Probes, Transport};
use crate::telemetry;

/// Serves `/livez`, `/readyz` and `/metrics` until the very end.
pub(super) async fn probes(parts: &Parts, drain: &Drain, tasks: &mut Tasks) -> anyhow::Result<()> {
    let mut registry = telemetry::registry();
    let Instruments {
        server,
        handlers,
        cluster,
        controller,
        measuring,
        scaling,
        configuration,
    } = &parts.instruments;
    server.register(&mut registry);
    handlers.register(&mut registry);
    cluster.register(&mut registry);
    controller.register(&mut registry);
    measuring.register(&mut registry);
    scaling.register(&mut registry);
    configuration.register(&mut registry);
    let probes = Probes {
        readiness: parts.readiness.clone(),
        registry: Arc::new(registry),
        shutdown: drain.observer(),
    };
    let listener = plain(parts, parts.config.server.http, "probes").await?;
    let shutdown = drain.observer();
    tasks.spawn(async move {
        listener.serve(probes.into_router(), shutdown).await;
        Ok(())
    });
    Ok(())
}

/// Serves explanations and the targets of scaling on loopback.
pub(super) async fn dashboard(
    parts: &Parts,
    drain: &Drain,
    tasks: &mut Tasks,
) -> anyhow::Result<()> {
    let listener = plain(parts, parts.config.server.dashboard, "dashboard").await?;
    let scaling = dashboard::Scaling {
        board: parts.instruments.scaling.board().clone(),
        traces: parts.scaling.traces.clone(),
    };
    let router = dashboard::explanations(&parts.handlers)
        .merge(scaling.routes())
        .merge(dashboard::index());
    let router = dashboard::Hosts::new(&parts.config.server.dashboard_hosts).guard(router);
    let shutdown = drain.observer();
    tasks.spawn(async move {
        listener.serve(router, shutdown).await;
        Ok(())
    });
    Ok(())
}

async fn plain(
    parts: &Parts,
    address: std::net::SocketAddr,
    name: &'static str,
) -> anyhow::Result<Listener> {
    let settings = ListenerSettings::new(name);
    let metrics = parts.instruments.server.clone();
    Ok(Listener::bind(address, settings, Transport::Plain, metrics).await?)
}

/// Serves webhook and extender as soon as there is a certificate.
pub(super) fn https(
    parts: &Parts,
    mut certificates: CertificateProvider,
    drain: &Drain,
    background: &CancellationToken,
    tasks: &mut Tasks,
) {
    let address = parts.config.server.https;
    let listener = parts.config.server.webhook;
    let metrics = parts.instruments.server.clone();
    let router = parts
        .handlers
        .routes(&parts.config.handlers, metrics.clone());
    let loaded = parts.readiness.condition("certificate loaded");
    // Only the requests are waited for: whoever follows the certificates lasts as long as the rest.
    let (shutdown, observer) = (drain.part(), drain.observer());
    let background = background.clone();
    tasks.spawn(async move {
        let initial = tokio::select! {
            first = certificates.first() => first?,
            () = shutdown.draining() => return Ok(()),
        };
        let store = Arc::new(CertificateStore::new(initial, metrics.clone())?);
        let transport = Transport::Tls(Arc::clone(&store));
        let listener = Listener::bind(address, listener, transport, metrics).await?;
        tracing::info!(%address, "serving webhook and extender");
        loaded.met();
        let keeping = certificates.run(store, background, observer);
        tokio::join!(listener.serve(router, shutdown), keeping);
        Ok(())
    });
}
