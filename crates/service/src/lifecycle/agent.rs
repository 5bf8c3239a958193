//! The composition root of a node's agent, which serves only probes and Prometheus.

use anyhow::Context as _;

use super::components::lasting;
use super::process::Process;
use crate::agent::{Agent, AgentContext, AgentMetrics, DiskTuning, Paths};
use crate::config::Config;
use crate::server::signals;
use crate::{cluster, telemetry};

/// Runs the agent of a node until a signal, and removes its limits.
///
/// # Errors
/// A node without kubelet's cgroups, an unusable record, address or kubeconfig, or a part that
/// ended although it should not have.
pub async fn watch_node(config: Config, node: String, paths: Paths) -> anyhow::Result<()> {
    telemetry::init(&config.log)?;
    for warning in config.warnings() {
        tracing::warn!("{warning}");
    }
    let signals = std::pin::pin!(signals().context("signals cannot be received")?);
    let mut process = Process::new(&config).await?;
    let agent = process.agent(&config, node.clone(), paths)?;
    process.follow(&agent, &node);
    process.reload(config.clone());
    let running = agent.run(process.cancel.clone());
    lasting(&mut process.tasks, "agent", &process.cancel, running);
    process.serve(&config, signals).await
}

impl Process {
    /// The agent, with a writer for its Events.
    fn agent(&mut self, config: &Config, node: String, paths: Paths) -> anyhow::Result<Agent> {
        // No other process writes about the Pods of this node.
        let (queue, counted) = self.writer(config);
        let metrics = AgentMetrics::default();
        metrics.register(&mut self.registry);
        let given = AgentContext {
            switch: self.switch.clone(),
            queue,
            reporter: self.replica.identity.clone(),
            node,
            metrics,
            writes: counted,
            tuning: DiskTuning {
                interval: config.tuning.interval,
                elasticity: config.tuning.elasticity,
                least: config.agent.least,
            },
        };
        let agent = Agent::new(config.agent, paths, given, &mut self.registry)?;
        Ok(agent)
    }

    /// Keeps the watches at work, and tells when what they watch is known.
    fn follow(&mut self, agent: &Agent, node: &str) {
        let metrics = cluster::ClusterMetrics::default();
        metrics.register_watches(&mut self.registry);
        let mut watches = agent.watches(&self.api, &metrics, node);
        let synced = agent.synced();
        let condition = self.readiness.condition("Pods of the node known");
        let cancel = self.cancel.clone();
        self.tasks.spawn(async move {
            let known = async move {
                synced.await;
                condition.met();
                std::future::pending::<()>().await;
            };
            tokio::select! {
                ended = watches.ended() => Err(ended.into()),
                () = known => Ok(()),
                () = cancel.cancelled() => Ok(()),
            }
        });
    }
}
