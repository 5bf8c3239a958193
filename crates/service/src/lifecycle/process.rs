//! The shared parts of processes that serve only probes and Prometheus: a node's agent, and the
//! process of external algorithms' jobs.

use std::pin::Pin;
use std::time::Duration;

use futures::{Stream, StreamExt as _};
use kube::Client;
use tokio_util::sync::CancellationToken;

use super::components::{Tasks, lasting};
use super::reload::ConfigReloader;
use super::{client, failure, listeners, reload};
use crate::config::Config;
use crate::controller::{Leadership, Replica, WriteQueue, WriteSwitch, Writer};
use crate::server::{Drain, DrainSettings, Readiness};
use crate::telemetry::Registry;
use crate::{controller, telemetry};

/// The parts that all others share.
pub(super) struct Process {
    pub(super) api: Client,
    pub(super) replica: Replica,
    pub(super) switch: WriteSwitch,
    pub(super) registry: Registry,
    pub(super) readiness: Readiness,
    pub(super) cancel: CancellationToken,
    pub(super) tasks: Tasks,
}

impl Process {
    pub(super) async fn new(config: &Config) -> anyhow::Result<Self> {
        let kubernetes = client::kubernetes(&config.connection).await?;
        let given = config.connection.namespace.clone();
        let replica = Replica {
            namespace: given.unwrap_or_else(|| kubernetes.default_namespace.clone()),
            identity: client::identity(None)?,
        };
        Ok(Self {
            api: client::connect(kubernetes)?,
            replica,
            switch: WriteSwitch::new(config.writes),
            registry: telemetry::registry(),
            readiness: Readiness::default(),
            cancel: CancellationToken::new(),
            tasks: Tasks::new(),
        })
    }

    /// The way to write, for a process that shares its objects with no other writer.
    pub(super) fn writer(
        &mut self,
        config: &Config,
    ) -> (WriteQueue, controller::ControllerMetrics) {
        let counted = controller::ControllerMetrics::default();
        counted.register_writes(&mut self.registry);
        let (writer, queue) = Writer::new(
            self.api.clone(),
            config.writer,
            Leadership::alone(),
            self.switch.clone(),
            counted.clone(),
        );
        let writing = writer.run(self.cancel.clone());
        lasting(&mut self.tasks, "writer", &self.cancel, writing);
        (queue, counted)
    }

    /// Serves probes and Prometheus until a signal or until a part fails, and ends all parts.
    pub(super) async fn serve(
        self,
        config: &Config,
        mut signals: Pin<&mut impl Stream>,
    ) -> anyhow::Result<()> {
        let Self {
            registry,
            readiness,
            cancel,
            mut tasks,
            ..
        } = self;
        let drain = Drain::new(DrainSettings {
            // No Service leads here, so there is no traffic to redirect first.
            delay: Duration::ZERO,
            ..config.server.drain
        });
        listeners::alone(config, registry, readiness, &drain, &mut tasks)?;
        let ended = tokio::select! {
            _ = signals.next() => Ok(()),
            error = failure(&mut tasks) => Err(error),
        };
        cancel.cancel();
        drain.run(futures::stream::once(async {})).await;
        while tasks.join_next().await.is_some() {}
        ended
    }

    /// Follows the configuration file.
    pub(super) fn reload(&mut self, config: Config) {
        let metrics = reload::ConfigReloadMetrics::default();
        metrics.register(&mut self.registry);
        let reload = ConfigReloader {
            config,
            switch: self.switch.clone(),
            metrics,
            events: None,
        };
        let reload = reload.run(self.cancel.clone());
        let name = "watch of the configuration";
        lasting(&mut self.tasks, name, &self.cancel, reload);
    }
}
