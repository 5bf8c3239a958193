//! The composition root: from a checked configuration to the running service.
//!
//! Parts are made here and given to each other; nothing below knows that there is a whole. Probes
//! answer from the first moment, the HTTPS listener once there is a certificate, and readiness
//! follows when every kind of object has been listed.

mod background;
mod listeners;
mod measuring;
mod settings;

use anyhow::Context as _;
use kube::Client;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use crate::cluster::{self, ClusterState};
use crate::config::{Config, Writes};
use crate::controller::{self, WriteSwitch};
use crate::server::{self, Drain, Readiness, api, signals};
use crate::{metrics, telemetry};

/// The parts that must not end before the service does; the first failure ends it.
type Tasks = JoinSet<anyhow::Result<()>>;

/// Runs the service until it has drained after a signal.
///
/// # Errors
/// An address that cannot be bound, a kubeconfig or certificate file that cannot be used, or a
/// part that ended although it should not have.
pub async fn run(config: Config) -> anyhow::Result<()> {
    telemetry::init(&settings::log(&config)?)?;
    for variable in &config.unknown_variables {
        tracing::warn!(
            variable,
            "this environment variable names no field of the configuration"
        );
    }
    let drain = Drain::new(settings::drain(&config));
    let signals = signals().context("signals cannot be received")?;
    let mut tasks = Tasks::new();
    let background = CancellationToken::new();
    let parts = Parts::new(config).await?;
    listeners::probes(&parts, &drain, &mut tasks).await?;
    listeners::dashboard(&parts, &drain, &mut tasks).await?;
    let certificates = background::start(&parts, &background, &mut tasks)?;
    listeners::https(&parts, certificates, &drain, &background, &mut tasks);
    let ended = tokio::select! {
        drained = drain.run(signals) => {
            tracing::info!(?drained, "ended");
            Ok(())
        }
        error = failure(&mut tasks) => Err(error),
    };
    // What runs in the background gives the lease back before the process ends.
    background.cancel();
    while tasks.join_next().await.is_some() {}
    ended
}

/// Waits for a part that ends in failure.
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

/// What the service is made of.
struct Parts {
    config: Config,
    client: Client,
    namespace: String,
    identity: String,
    cluster: ClusterState,
    api: api::Api,
    switch: WriteSwitch,
    readiness: Readiness,
    instruments: Instruments,
}

/// The metric handles of all parts.
#[derive(Default)]
struct Instruments {
    server: server::Metrics,
    api: api::Metrics,
    cluster: cluster::Metrics,
    controller: controller::Metrics,
    measuring: metrics::Metrics,
}

impl Parts {
    async fn new(config: Config) -> anyhow::Result<Self> {
        let kubernetes = settings::kubernetes(&config).await?;
        let namespace = settings::namespace(&config, &kubernetes);
        let cluster = ClusterState::new(settings::cluster(&config));
        let instruments = Instruments::default();
        let policy = std::sync::Arc::new(config.policy.clone());
        Ok(Self {
            client: Client::try_from(kubernetes).context("the API server cannot be reached")?,
            namespace,
            identity: settings::identity(&config)?,
            api: api::Api::new(cluster.clone(), policy, instruments.api.clone()),
            cluster,
            switch: WriteSwitch::new(config.writes == Writes::Enabled),
            readiness: Readiness::default(),
            instruments,
            config,
        })
    }
}
