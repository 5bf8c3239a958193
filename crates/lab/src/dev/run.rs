//! One run from start to end: the cluster, its events, and what may end it.

use std::time::Duration;

use futures::StreamExt as _;
use jiff::SignedDuration;
use tokio::sync::broadcast::error::RecvError;

use super::show::{ClusterStartSummary, RunDisplay};
use crate::dev::cluster::events::DevEventBus;
use evenkeel_terminal::output::CliFailure;

use super::cluster::{DevCluster, DevClusterOptions};
use super::embedded_service;
use evenkeel_clock as clock;
use evenkeel_sandbox::engine::lag::Lags;
use evenkeel_sandbox::engine::summary::RunSummary;
use evenkeel_service::dashboard::ReplayBoard;
use evenkeel_service::server;

/// Interval at which the view is drawn and keys are looked at.
const TICK: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RunEndCause {
    InTime,
    Asked,
}

pub(super) struct RunResult {
    pub(super) end: RunEndCause,
    pub(super) summary: RunSummary,
    pub(super) lags: Lags,
    /// Seconds of the scenario per second on the clock, on average.
    pub(super) kept: f64,
}

/// The end of a run by itself.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum RunLimit {
    /// A time on the clock of this machine.
    Clock(Duration),
    /// A time of the scenario, which a slow machine reaches later.
    Scenario(SignedDuration),
}

/// Ends at a limit on the clock.
async fn clock_limit(limit: Option<RunLimit>) {
    match limit {
        Some(RunLimit::Clock(duration)) => tokio::time::sleep(duration).await,
        _ => std::future::pending().await,
    }
}

/// Runs until `limit` is reached, a signal comes or `show` wants an end. `None` if nothing was to
/// be seen by then.
pub(super) async fn run(
    options: &DevClusterOptions,
    replay: ReplayBoard,
    limit: Option<RunLimit>,
    show: &mut dyn RunDisplay,
) -> Result<Option<RunResult>, CliFailure> {
    let mut signals = server::signals()?;
    let events = DevEventBus::default();
    let mut happened = events.subscribe();
    let serve = |wiring| async move {
        let running = embedded_service::run(wiring, replay);
        running.await.map_err(Into::into)
    };
    let starting = DevCluster::start(options.clone(), events, serve);
    let mut cluster = tokio::select! {
        started = starting => started.map_err(CliFailure::work)?,
        _ = signals.next() => return Ok(None),
    };
    show.started(&about(&cluster, options))?;
    let (begun, since) = (clock::instant(), cluster.now());
    let over = clock_limit(limit);
    let (mut over, mut ticks) = (std::pin::pin!(over), tokio::time::interval(TICK));
    let end = loop {
        tokio::select! {
            biased;
            () = &mut over => break RunEndCause::InTime,
            _ = signals.next() => break RunEndCause::Asked,
            why = cluster.failed() => {
                return Err(CliFailure::work(format_args!("the service ended: {why}")));
            }
            _ = ticks.tick() => {
                show.tick(cluster.now())?;
                if show.wants_end() {
                    break RunEndCause::Asked;
                }
                let is_over = |end| matches!(end, RunLimit::Scenario(end) if cluster.now() >= end);
                if limit.is_some_and(is_over) {
                    break RunEndCause::InTime;
                }
            }
            event = happened.recv() => match event {
                Ok(event) => show.happened(&event)?,
                Err(RecvError::Lagged(count)) => show.missed(count)?,
                Err(RecvError::Closed) => break RunEndCause::InTime,
            },
        }
    };
    show.leave();
    let passed = cluster.now().saturating_sub(since);
    let ran = RunResult {
        end,
        kept: passed.as_secs_f64() / begun.elapsed().as_secs_f64(),
        summary: cluster.summary(),
        lags: cluster.lags(),
    };
    tokio::select! {
        _ = cluster.stop() => {}
        // A second signal means that the user does not want to wait for connections to drain.
        _ = signals.next() => {}
    }
    Ok(Some(ran))
}

fn about(cluster: &DevCluster, options: &DevClusterOptions) -> ClusterStartSummary {
    ClusterStartSummary {
        scenario: options.scenario.name.clone(),
        seed: options.seed,
        speed: options.speed.get(),
        line: options.line.get(),
        faults: options.faults.iter().map(ToString::to_string).collect(),
        kubeconfig: cluster.kubeconfig().to_owned(),
        dashboard: cluster.dashboard_address(),
        prometheus: cluster.prometheus_address(),
        metrics: cluster.metrics_address(),
    }
}
