//! The composition root of the process that runs external algorithms' jobs, with an account of its
//! own: an attacker that takes over a replica, which any client in the cluster may call, cannot run
//! jobs by that.

use anyhow::Context as _;
use evenkeel_clock::Clock;
use evenkeel_scaling::horizontal_portraits::Settings;

use super::components::lasting;
use super::file_limits;
use super::process::Process;
use crate::cluster::ClusterState;
use crate::cluster::watch::Watches;
use crate::config::{Config, ExternalAlgorithms};
use crate::controller::external_portraits::{ExternalPortraits, PortraitWorkerRole};
use crate::controller::{Leadership, WriteQueue};
use crate::server::signals;
use crate::{cluster, telemetry};

/// Runs the jobs until a signal.
///
/// # Errors
/// An unusable address or kubeconfig, or a part that ended although it should not have.
pub async fn run_jobs(mut config: Config) -> anyhow::Result<()> {
    telemetry::init(&config.log)?;
    file_limits::provide(&mut config);
    let signals = std::pin::pin!(signals().context("signals cannot be received")?);
    let mut process = Process::new(&config).await?;
    let (queue, _) = process.writer(&config);
    let cluster = ClusterState::with_clock(config.cluster.clone(), Clock::real());
    process.follow_portraits(&cluster);
    process.portraits(&config, cluster, queue);
    process.reload(config.clone());
    process.serve(&config, signals).await
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
