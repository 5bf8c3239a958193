//! The composition root: from a checked configuration to the running service. Parts are made here
//! and given to each other; nothing below knows the whole. Probes answer from the first moment, the
//! HTTPS listener once there is a certificate, and readiness follows when every kind of object has
//! been listed.

mod agent;
mod background;
mod checks;
mod cleanup_finalizer;
mod client;
mod components;
mod file_limits;
mod jobs;
mod listeners;
mod metrics_sources;
mod process;
mod provider;
mod reload;
mod shutdown;
mod signing;

use anyhow::Context as _;
use futures::Stream;
use tokio_util::sync::CancellationToken;

pub use self::agent::watch_node;
use self::cleanup_finalizer::Removal;
use self::components::{Components, Tasks};
pub use self::jobs::run_jobs;
use self::listeners::Ends;
pub use self::shutdown::ShutdownTimeouts;
pub use self::signing::{sign, signer};

use evenkeel_certificates::api_service;
use evenkeel_clock::Clock;

use crate::config::Config;
use crate::dashboard::ReplayBoard;
use crate::server::{Drain, signals};
use crate::{aggregation, telemetry};

/// Runs the service until it has drained after a signal.
///
/// # Errors
/// An address that cannot be bound, a kubeconfig or certificate file that cannot be used, or a
/// part that ended although it should not have.
pub async fn run(config: Config) -> anyhow::Result<()> {
    telemetry::init(&config.log)?;
    let signals = signals().context("signals cannot be received")?;
    // Boxed, being large: the command line holds this future among others.
    Box::pin(serve(
        config,
        Clock::real(),
        ReplayBoard::default(),
        signals,
    ))
    .await
}

/// Runs the service until it has drained after the first of `signals`; the caller sets up the log,
/// `clock` times scaling, and the page shows what `replay` holds.
pub async fn serve(
    mut config: Config,
    clock: Clock,
    replay: ReplayBoard,
    signals: impl Stream<Item = ()>,
) -> anyhow::Result<()> {
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    file_limits::provide(&mut config);
    let ending = ShutdownTimeouts::of(&config);
    let drain = Drain::new(ending.drain);
    let mut tasks = Tasks::new();
    let background = CancellationToken::new();
    let mut parts = Components::new(config, clock, replay).await?;
    parts.record_spans(&background, &mut tasks);
    for (name, field) in led(&parts.config) {
        aggregation::claim(&parts.client, &parts.replica.namespace, name, field).await?;
    }
    let page = listeners::metrics_page(&parts);
    listeners::probes(&parts, &drain, &mut tasks)?;
    listeners::open_metrics(&parts, &page, &drain, &mut tasks)?;
    listeners::dashboard(&parts, &page, &drain, &mut tasks)?;
    let provider = provider::new(&parts);
    listeners::plaintext_grpc(&parts, provider.as_ref(), &drain, &mut tasks)?;
    let certificates = background::start(&parts, &background, &mut tasks);
    let removal = Removal::new(&parts);
    let reinstalled = removal.reinstalled();
    let removal = tokio::spawn(removal.run(background.clone()));
    let ends = Ends {
        drain: &drain,
        background: &background,
    };
    let served = (&page, provider.as_ref());
    listeners::https(&parts, served, certificates, &ends, &mut tasks);
    let ended = tokio::select! {
        drained = drain.run(signals) => {
            tracing::info!(?drained, "ended");
            Ok(())
        }
        error = failure(&mut tasks) => Err(error),
        () = reinstalled.cancelled() => Err(anyhow::anyhow!(
            "the installation is no longer being deleted: this replica restarts to write again"
        )),
    };
    // The background tasks give the lease back before the process ends.
    background.cancel();
    let stopped = async { while tasks.join_next().await.is_some() {} };
    if tokio::time::timeout(ending.background, stopped)
        .await
        .is_err()
    {
        tracing::warn!(
            parts = tasks.len(),
            "parts of the service did not stop in time"
        );
    }
    let removed = tokio::time::timeout(ending.removal, removal).await;
    if removed.is_err() {
        tracing::error!("not everything is undone: run evenkeel uninstall --force");
    }
    ended
}

/// The APIServices that lead here, each with the configuration field that enables its group.
fn led(config: &Config) -> Vec<(&'static str, &'static str)> {
    let external = (api_service::EXTERNAL_METRICS, "server.externalMetrics");
    let series = (api_service::METRICS_PROVIDER, "metricsProvider.enabled");
    let external = config.server.external_metrics.then_some(external);
    let series = config.metrics_provider.as_ref().map(|_| series);
    external.into_iter().chain(series).collect()
}

/// Waits for a part that ends in failure; a panic is one.
async fn failure(tasks: &mut Tasks) -> anyhow::Error {
    while let Some(ended) = tasks.join_next().await {
        match ended {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return error,
            Err(error) => return anyhow::Error::new(error).context("a part of the service"),
        }
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lifecycle::components::lasting;

    async fn told(part: impl Future<Output = ()> + Send + 'static) -> String {
        let (mut tasks, cancel) = (Tasks::new(), CancellationToken::new());
        tasks.spawn(async { Ok(()) });
        lasting(&mut tasks, "writer", &cancel, part);
        format!("{:#}", failure(&mut tasks).await)
    }

    #[tokio::test]
    async fn a_part_that_ends_or_panics_ends_the_service_and_one_that_was_told_to_does_not() {
        assert_eq!(told(async {}).await, "the writer ended before the service");
        let panicked = told(async { panic!("a sum is off") }).await;
        assert!(panicked.contains("a sum is off"), "{panicked}");

        let (mut tasks, cancel) = (Tasks::new(), CancellationToken::new());
        let told = cancel.clone();
        lasting(&mut tasks, "writer", &cancel, async move {
            told.cancelled().await;
        });
        cancel.cancel();
        assert!(tasks.join_next().await.unwrap().unwrap().is_ok());
    }
}
