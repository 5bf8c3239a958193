//! The composition root of the process that runs external algorithms' jobs, with an account of its
//! own: an attacker that takes over a replica, which any client in the cluster may call, cannot run
//! jobs by that.

use std::time::Duration;

use anyhow::Context as _;
use futures::StreamExt as _;

use super::components::lasting;
use super::process::Process;
use super::{failure, file_limits, listeners};
use crate::cluster::watch::Watches;
use crate::cluster::{self, ClusterState};
use crate::config::{Config, ExternalAlgorithms};
use crate::controller::external_portraits::{ExternalPortraits, PortraitWorkerRole};
use crate::controller::{Leadership, WriteQueue};
use crate::server::{Drain, DrainSettings, signals};
use crate::telemetry;
use evenkeel_clock::Clock;
use evenkeel_kubernetes::plan::external_portraits::Settings;

/// Runs the jobs until a signal.
///
/// # Errors
/// An unusable address or kubeconfig, or a part that ended although it should not have.
pub async fn run_jobs(mut config: Config) -> anyhow::Result<()> {
    telemetry::init(&config.log)?;
    file_limits::provide(&mut config);
    let mut signals = std::pin::pin!(signals().context("signals cannot be received")?);
    let mut process = Process::new(&config).await?;
    let (queue, _) = process.writer(&config);
    let cluster = ClusterState::with_clock(config.cluster.clone(), Clock::real());
    process.follow_portraits(&cluster);
    process.portraits(&config, cluster, queue);
    process.reload(config.clone());
    let Process {
        registry,
        readiness,
        cancel,
        mut tasks,
        ..
    } = process;
    let drain = Drain::new(DrainSettings {
        // No Service leads here, so there is no traffic to redirect first.
        delay: Duration::ZERO,
        ..config.server.drain
    });
    listeners::alone(&config, registry, readiness, &drain, &mut tasks)?;
    let ended = tokio::select! {
        _ = signals.next() => Ok(()),
        error = failure(&mut tasks) => Err(error),
    };
    cancel.cancel();
    drain.run(futures::stream::once(async {})).await;
    while tasks.join_next().await.is_some() {}
    ended
}

impl Process {
    /// Keeps the watches of portraits, their autoscalers and namespaces at work.
    fn follow_portraits(&mut self, cluster: &ClusterState) {
        let metrics = cluster::ClusterMetrics::default();
        metrics.register_watches(&mut self.registry);
        let mut watches = Watches::of_portraits(&self.api, cluster, &metrics);
        let cancel = self.cancel.clone();
        self.tasks.spawn(async move {
            tokio::select! {
                ended = watches.ended() => Err(ended.into()),
                () = cancel.cancelled() => Ok(()),
            }
        });
    }

    fn portraits(&mut self, config: &Config, cluster: ClusterState, queue: WriteQueue) {
        let ExternalAlgorithms { are_run, most_jobs } = config.external_algorithms;
        let portraits = ExternalPortraits {
            part: PortraitWorkerRole::Jobs,
            cluster,
            client: self.api.clone(),
            queue,
            leadership: Leadership::alone(),
            switch: self.switch.clone(),
            settings: Settings {
                own_namespace: self.replica.namespace.clone(),
                runs_jobs: are_run,
                most_jobs,
            },
        };
        let portraits = portraits.run(self.cancel.clone());
        lasting(&mut self.tasks, "jobs", &self.cancel, portraits);
    }
}
