//! The agent of a node: limits the disk I/O of Pods that ask for it, and exports what the node's
//! Pods read, write and wait for. It sets the limits at each interval and after each change
//! (`limiter`), some of them by the use of their Pods (`disk_tuner`), and writes nothing else on the
//! node. It removes a limit if no Pod asks for it, if the kill switch is `restore`, and at its end.
//! After a kill, the next agent finds the limits by their record (`record`).

mod disk_tuner;
mod host;
mod io_metrics;
mod limit_events;
mod limiter;
mod metrics;
mod pods;
mod record;

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_units::BytesPerSecond;
use host::Host;
use kube::Client;
use serde::{Deserialize, Serialize};
use tokio::task::JoinError;
use tokio_util::sync::CancellationToken;

use crate::cluster::watch::Watches;
use crate::controller::{WriteQueue, WriteSwitch, Writes};
use crate::telemetry::Registry;
use crate::{cluster, controller};
use disk_tuner::DiskTuner;
pub use disk_tuner::DiskTuning;
pub use host::{HostError, Paths};
use io_metrics::Figures;
use limit_events::{DiskLimitEvent, Notices};
use limiter::{Limiter, PodDiskLimit};
pub(crate) use metrics::AgentMetrics;
use pods::NodePods;
use record::DiskLimitRecord;
pub use record::RecordError;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DiskLimitMode {
    #[default]
    Enforce,
    /// None; what is measured is told all the same.
    Off,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    pub limits: DiskLimitMode,
    /// The least rate that a Pod is limited to.
    pub least: BytesPerSecond,
    /// The longest time between two looks at the node.
    pub interval: Duration,
}

/// A pause after a change, in which those that come with it arrive.
const SETTLES: Duration = Duration::from_secs(1);

pub(crate) struct Agent {
    settings: Settings,
    pods: NodePods,
    limiter: Arc<Mutex<(DiskTuner, Limiter)>>,
    notices: Notices,
    switch: WriteSwitch,
    metrics: AgentMetrics,
    writes: controller::ControllerMetrics,
}

/// The parts that the agent is given beside its settings.
pub(crate) struct AgentContext {
    pub(crate) switch: WriteSwitch,
    /// The way of its Events.
    pub(crate) queue: WriteQueue,
    /// The name under which they are told.
    pub(crate) reporter: String,
    pub(crate) node: String,
    pub(crate) metrics: AgentMetrics,
    /// Those of the writes to the API server, which show the kill switch.
    pub(crate) writes: controller::ControllerMetrics,
    pub(crate) tuning: DiskTuning,
}

impl Agent {
    /// An agent of the node with its files at `paths`; its measurements become part of `registry`.
    ///
    /// # Errors
    /// The kubelet's directory is missing, or the record cannot be used.
    pub(crate) fn new(
        settings: Settings,
        paths: Paths,
        given: AgentContext,
        registry: &mut Registry,
    ) -> anyhow::Result<Self> {
        let AgentContext {
            switch,
            queue,
            reporter,
            node,
            metrics,
            writes,
            tuning,
        } = given;
        let record = DiskLimitRecord::open(paths.record.clone())?;
        let host = Host::new(paths)?;
        let pods = NodePods::default();
        registry.register_collector(Box::new(Figures::new(host.clone(), pods.clone(), node)));
        Ok(Self {
            settings,
            pods,
            limiter: Arc::new(Mutex::new((
                DiskTuner::new(host.clone(), tuning),
                Limiter::new(host, record),
            ))),
            notices: Notices::new(queue, reporter),
            switch,
            metrics,
            writes,
        })
    }

    /// The watches that feed it: the Pods of `node`, and the namespaces.
    pub(crate) fn watches(
        &self,
        client: &Client,
        metrics: &cluster::ClusterMetrics,
        node: &str,
    ) -> Watches {
        self.pods.watches(client, metrics, node)
    }

    /// Waits until the Pods of the node and the namespaces are known.
    pub(crate) fn synced(&self) -> impl Future<Output = ()> + Send + 'static {
        let pods = self.pods.clone();
        async move { pods.synced().await }
    }

    /// Keeps the limits until `cancel`, and then takes them away.
    pub(crate) async fn run(mut self, cancel: CancellationToken) {
        let Settings { interval, .. } = self.settings;
        loop {
            self.round().await;
            let pods = self.pods.clone();
            let next = async move {
                tokio::select! {
                    () = tokio::time::sleep(interval) => {}
                    () = pods.changed() => tokio::time::sleep(SETTLES).await,
                }
            };
            if cancel.run_until_cancelled(next).await.is_none() {
                break;
            }
        }
        if self.switch.get() != Writes::Disabled {
            self.pass(Vec::new()).await;
            tracing::info!("disk I/O limits are removed");
        }
    }

    async fn round(&mut self) {
        self.writes.observe_switch(&self.switch);
        let asked = match self.switch.get() {
            Writes::Disabled => return,
            Writes::Restore => Vec::new(),
            // Nothing is decided on Pods that were never listed.
            Writes::Enabled if !self.pods.is_synced() => return,
            Writes::Enabled => match self.settings.limits {
                DiskLimitMode::Off => Vec::new(),
                DiskLimitMode::Enforce => self.pods.asking(self.settings.least),
            },
        };
        self.pass(asked).await;
    }

    async fn pass(&mut self, asked: Vec<pods::DiskLimitRequest>) {
        let mut notices = Vec::new();
        let mut wanted = Vec::new();
        for pods::DiskLimitRequest { pod, limit } in asked {
            match limit {
                Ok(limit) => wanted.push(PodDiskLimit { pod, limit }),
                Err(refusal) => notices.push((pod, DiskLimitEvent::Refused(refusal))),
            }
        }
        let limiter = Arc::clone(&self.limiter);
        let passed = tokio::task::spawn_blocking(move || {
            let mut limiter = limiter.lock().unwrap_or_else(PoisonError::into_inner);
            let (tuner, limiter) = &mut *limiter;
            tuner.tune(&mut wanted, clock::now());
            limiter.pass(&wanted)
        });
        let done = match passed.await.map_err(JoinError::try_into_panic) {
            Ok(done) => done,
            // It ends the agent; the record stands.
            Err(Ok(panic)) => std::panic::resume_unwind(panic),
            Err(Err(_)) => return,
        };
        notices.extend(done.notices);
        self.metrics.passed(done.limited, done.failures, &notices);
        self.notices.tell(notices);
    }
}

#[cfg(test)]
mod tests;
