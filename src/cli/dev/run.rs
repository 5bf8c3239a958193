//! One run from start to end: the cluster, its events, and what may end it.

use std::time::Duration;

use futures::StreamExt as _;
use tokio::sync::broadcast::error::RecvError;

use super::show::{Show, Started};
use crate::cli::dev::cluster::events::Events;
use crate::cli::output::Failure;

use super::cluster::{Cluster, Options};
use super::embedded;
use crate::server;
use evenkeel_clock as clock;
use evenkeel_sandbox::engine::lag::Lags;
use evenkeel_sandbox::engine::summary::Summary;

/// Interval at which the view is drawn and keys are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Why a run was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// Its time had passed.
    InTime,
    /// Somebody asked for it.
    Asked,
}

/// Result of a run.
pub(super) struct RunResult {
    pub(super) end: End,
    pub(super) summary: Summary,
    pub(super) lags: Lags,
    /// Seconds of the scenario per second on the clock, on average.
    pub(super) kept: f64,
}

/// Runs until `duration` is over, a signal comes or `show` wants an end. `None` where that was
/// before there was anything to see.
pub(super) async fn run(
    options: &Options,
    duration: Option<Duration>,
    show: &mut dyn Show,
) -> Result<Option<RunResult>, Failure> {
    let mut signals = server::signals()?;
    let events = Events::default();
    let mut happened = events.subscribe();
    let starting = Cluster::start(options.clone(), events, |wiring| async {
        embedded::run(wiring).await.map_err(Into::into)
    });
    let mut cluster = tokio::select! {
        started = starting => started.map_err(Failure::work)?,
        _ = signals.next() => return Ok(None),
    };
    show.started(&about(&cluster, options))?;
    let (begun, since) = (clock::instant(), cluster.now());
    let over = async {
        match duration {
            Some(duration) => tokio::time::sleep(duration).await,
            None => std::future::pending().await,
        }
    };
    let (mut over, mut ticks) = (std::pin::pin!(over), tokio::time::interval(TICK));
    let end = loop {
        tokio::select! {
            biased;
            () = &mut over => break End::InTime,
            _ = signals.next() => break End::Asked,
            why = cluster.failed() => {
                return Err(Failure::work(format_args!("the service ended: {why}")));
            }
            _ = ticks.tick() => {
                show.tick(cluster.now())?;
                if show.wants_end() {
                    break End::Asked;
                }
            }
            event = happened.recv() => match event {
                Ok(event) => show.happened(&event)?,
                Err(RecvError::Lagged(count)) => show.missed(count)?,
                Err(RecvError::Closed) => break End::InTime,
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
        // Who asks twice does not want to wait for connections to drain.
        _ = signals.next() => {}
    }
    Ok(Some(ran))
}

fn about(cluster: &Cluster, options: &Options) -> Started {
    Started {
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
