//! The parts of the service, made from the configuration.

use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{client, reload};
use crate::cluster::{self, ClusterState};
use crate::config::Config;
use crate::controller::scaling::{Samples, ServedLoads, Traces};
use crate::controller::{self, OverloadWatch, Replica, ScaleIns, WriteSwitch};
use crate::metrics;
use crate::metrics_provider;
use crate::server::{self, Readiness, handlers};
use evenkeel_clock::Clock;

/// The parts that must not end before the service does; the first failure ends it.
pub(super) type Tasks = JoinSet<anyhow::Result<()>>;

/// Starts a part that lasts until `cancel`. Where it ends before, the service ends with it, rather
/// than go on without it and say nothing.
pub(super) fn lasting(
    tasks: &mut Tasks,
    name: &'static str,
    cancel: &CancellationToken,
    part: impl Future<Output = ()> + Send + 'static,
) {
    let cancel = cancel.clone();
    tasks.spawn(async move {
        part.await;
        anyhow::ensure!(cancel.is_cancelled(), "the {name} ended before the service");
        Ok(())
    });
}

/// The parts that others are given.
pub(super) struct Parts {
    pub(super) config: Config,
    pub(super) client: Client,
    pub(super) replica: Replica,
    pub(super) cluster: ClusterState,
    pub(super) handlers: handlers::Handlers,
    pub(super) switch: WriteSwitch,
    pub(super) readiness: Readiness,
    pub(super) instruments: Instruments,
    pub(super) scaling: Scaling,
    pub(super) overload: OverloadWatch,
}

/// Parts of the scaling loop that others read or write too.
pub(super) struct Scaling {
    pub(super) samples: Samples,
    pub(super) traces: Traces,
    /// The loads that are expected, where they are served.
    pub(super) served: Option<ServedLoads>,
    /// The scale-ins before which Pods are given costs of deletion, where they are.
    pub(super) scale_ins: Option<ScaleIns>,
}

/// The metric handles of all parts.
#[derive(Default)]
pub(super) struct Instruments {
    pub(super) server: server::Metrics,
    pub(super) handlers: handlers::Metrics,
    pub(super) cluster: cluster::Metrics,
    pub(super) controller: controller::Metrics,
    pub(super) measuring: metrics::Metrics,
    pub(super) scaling: controller::scaling::Metrics,
    pub(super) tuning: controller::tuning::Metrics,
    pub(super) configuration: reload::Metrics,
    pub(super) provider: metrics_provider::Metrics,
}

impl Parts {
    pub(super) async fn new(config: Config, clock: Clock) -> anyhow::Result<Self> {
        let kubernetes = client::kubernetes(&config.connection).await?;
        let given = config.connection.namespace.clone();
        let replica = Replica {
            namespace: given.unwrap_or_else(|| kubernetes.default_namespace.clone()),
            identity: client::identity(config.leader_election.identity.as_deref())?,
        };
        let cluster = ClusterState::with_clock(config.cluster.clone(), clock);
        let instruments = Instruments::default();
        let policy = std::sync::Arc::new(config.policy.clone());
        Ok(Self {
            client: client::connect(kubernetes)?,
            replica,
            handlers: handlers::Handlers::new(
                cluster.clone(),
                policy,
                instruments.handlers.clone(),
            ),
            overload: OverloadWatch::new(
                config.overload.clone(),
                config.policy.max_age,
                cluster.now(),
            ),
            cluster,
            switch: WriteSwitch::new(config.writes),
            readiness: Readiness::default(),
            instruments,
            scaling: Scaling {
                samples: Samples::default(),
                traces: Traces::default(),
                served: config.server.external_metrics.then(ServedLoads::default),
                scale_ins: config.cluster.balances_scale_in.then(ScaleIns::default),
            },
            config,
        })
    }
}
