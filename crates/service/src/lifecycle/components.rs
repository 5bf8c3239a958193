//! The parts of the service, made from the configuration.

use evenkeel_clock::Clock;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::{client, reload};
use crate::cluster::ClusterState;
use crate::config::Config;
use crate::controller::scaling::{LatestScalingSample, RecentHistory, ServedLoads};
use crate::controller::{OverloadWatch, Replica, ScaleIns, WriteSwitch};
use crate::dashboard::ReplayBoard;
use crate::server::{Readiness, handlers};
use crate::span_export::SpanExporter;
use crate::telemetry::{SpanMetrics, SpanRecorder};
use crate::{cluster, controller, metrics, metrics_provider, server};

/// The parts that must not end before the service does; the first failure ends it.
pub(super) type Tasks = JoinSet<anyhow::Result<()>>;

/// Starts a part that lasts until `cancel`. If it ends before, the service ends with it, rather
/// than go on silently without it.
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
pub(super) struct Components {
    pub(super) config: Config,
    pub(super) client: Client,
    pub(super) replica: Replica,
    pub(super) cluster: ClusterState,
    pub(super) handlers: handlers::Handlers,
    pub(super) switch: WriteSwitch,
    pub(super) readiness: Readiness,
    pub(super) instruments: Instruments,
    pub(super) scaling: ScalingComponents,
    pub(super) overload: OverloadWatch,
    pub(super) replay: ReplayBoard,
    /// Starts the spans of ticks; that of calls is in the handlers.
    pub(super) recorder: SpanRecorder,
    pub(super) scheduler_thread: server::SchedulerThread,
}

/// Parts of the scaling loop that others read or write too.
pub(super) struct ScalingComponents {
    pub(super) samples: LatestScalingSample,
    pub(super) traces: RecentHistory,
    pub(super) served: Option<ServedLoads>,
    /// The scale-ins before which Pods are given costs of deletion, where they are.
    pub(super) scale_ins: Option<ScaleIns>,
}

/// The metric handles of all parts.
#[derive(Default)]
pub(super) struct Instruments {
    pub(super) server: server::ListenerMetrics,
    pub(super) handlers: handlers::HandlerMetrics,
    pub(super) cluster: cluster::ClusterMetrics,
    pub(super) controller: controller::ControllerMetrics,
    pub(super) measuring: metrics::QueryMetrics,
    pub(super) scaling: controller::scaling::ScalingMetrics,
    pub(super) tuning: controller::tuning::TuningMetrics,
    pub(super) configuration: reload::ConfigReloadMetrics,
    pub(super) provider: metrics_provider::SeriesProviderMetrics,
    pub(super) spans: SpanMetrics,
}

impl Components {
    pub(super) async fn new(
        config: Config,
        clock: Clock,
        replay: ReplayBoard,
    ) -> anyhow::Result<Self> {
        let kubernetes = client::kubernetes(&config.connection).await?;
        let given = config.connection.namespace.clone();
        let replica = Replica {
            namespace: given.unwrap_or_else(|| kubernetes.default_namespace.clone()),
            identity: client::identity(config.leader_election.identity.as_deref())?,
        };
        let cluster = ClusterState::with_clock(config.cluster.clone(), clock);
        let instruments = Instruments::default();
        let policy = std::sync::Arc::new(config.policy.clone());
        let switch = WriteSwitch::new(config.writes);
        Ok(Self {
            client: client::connect(kubernetes)?,
            replica,
            handlers: handlers::Handlers::new(
                cluster.clone(),
                policy,
                instruments.handlers.clone(),
                switch.clone(),
            ),
            overload: OverloadWatch::new(
                config.overload.clone(),
                config.policy.max_age,
                cluster.now(),
            ),
            replay,
            cluster,
            switch,
            readiness: Readiness::default(),
            instruments,
            scaling: ScalingComponents {
                samples: LatestScalingSample::default(),
                traces: RecentHistory::default(),
                served: config.server.external_metrics.then(ServedLoads::default),
                scale_ins: config.cluster.balances_scale_in.then(ScaleIns::default),
            },
            recorder: SpanRecorder::default(),
            scheduler_thread: server::SchedulerThread::start()?,
            config,
        })
    }

    /// Records spans from now on, if there is a collector for them, and exports them until `cancel`.
    pub(super) fn record_spans(&mut self, cancel: &CancellationToken, tasks: &mut Tasks) {
        let Some(settings) = &self.config.tracing else {
            return;
        };
        let Replica {
            namespace,
            identity,
        } = &self.replica;
        let metrics = &self.instruments.spans;
        let (recorder, exporter) = SpanExporter::new(settings, identity, namespace, metrics);
        self.handlers = self.handlers.clone().with_spans(recorder.clone());
        self.recorder = recorder;
        lasting(
            tasks,
            "export of spans",
            cancel,
            exporter.run(cancel.clone()),
        );
    }
}
