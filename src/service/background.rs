//! What runs beside the listeners: watches, measuring, election, writer, rounds, certificates, and
//! the watch on the configuration file.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::{Parts, Tasks, measuring, settings};
use crate::cluster::watch;
use crate::config::{Config, Serving, Writes};
use crate::controller::scaling::{Past, Scaling};
use crate::controller::{
    Elector, Leadership, Rounds, SelfManaged, WriteQueue, WriteSwitch, Writer,
};
use crate::server::Shutdown;
use crate::server::tls::{CertificateStore, Change, FileWatch};
use evenkeel_clock as clock;

/// How often the configuration file is read again: kubelet itself takes up to a minute to bring a
/// changed ConfigMap, and the kill switch should not add to that.
const RELOAD: Duration = Duration::from_secs(1);

/// How often it is looked whether all stores have been filled.
const SYNC: Duration = Duration::from_millis(100);

/// Starts everything that lasts until `cancel`; gives where certificates will come from.
pub(super) fn start(
    parts: &Parts,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> anyhow::Result<Certificates> {
    let Parts { config, client, .. } = parts;
    watches(parts, cancel, tasks);
    let past = measuring::start(parts, cancel, tasks)?;
    let leadership = Leadership::default();
    let elector = Elector::new(
        client.clone(),
        settings::leadership(parts),
        leadership.clone(),
        parts.switch.clone(),
    );
    tasks.spawn(finish(elector.run(cancel.clone())));
    let (writer, queue) = Writer::new(
        client.clone(),
        settings::writer(config),
        leadership.clone(),
        parts.switch.clone(),
        parts.instruments.controller.clone(),
    );
    tasks.spawn(finish(writer.run(cancel.clone())));
    rounds(parts, &queue, leadership.clone(), cancel, tasks);
    let scaling = Scaling {
        settings: settings::scaling(parts),
        cluster: parts.cluster.clone(),
        samples: parts.scaling.samples.clone(),
        past: past.map(|past| past as Arc<dyn Past>),
        client: client.clone(),
        queue: queue.clone(),
        leadership,
        identity: parts.identity.clone(),
        metrics: parts.instruments.scaling.clone(),
        traces: parts.scaling.traces.clone(),
    };
    tasks.spawn(finish(scaling.run(cancel.clone())));
    tasks.spawn(finish(reload(
        config.clone(),
        parts.switch.clone(),
        cancel.clone(),
    )));
    certificates(parts, queue)
}

async fn finish(part: impl Future<Output = ()>) -> anyhow::Result<()> {
    part.await;
    Ok(())
}

fn watches(parts: &Parts, cancel: &CancellationToken, tasks: &mut Tasks) {
    let synced = parts.readiness.condition("stores synced");
    let (client, cluster) = (parts.client.clone(), parts.cluster.clone());
    let metrics = parts.instruments.cluster.clone();
    let cancel = cancel.clone();
    tasks.spawn(async move {
        let mut watches = tokio::task::JoinSet::new();
        watch::start(&client, &cluster, &metrics, watch::DISCOVERY, &mut watches);
        let filling = async {
            while !cluster.unsynced().is_empty() {
                tokio::time::sleep(SYNC).await;
            }
            synced.met();
            tracing::info!(nodes = cluster.node_names().len(), "all stores are filled");
        };
        cancel.run_until_cancelled(filling).await;
        cancel.cancelled().await;
        Ok(())
    });
}

fn rounds(
    parts: &Parts,
    queue: &WriteQueue,
    leadership: Leadership,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) {
    let rounds = Rounds {
        cluster: parts.cluster.clone(),
        policy: Arc::new(parts.config.policy.clone()),
        wake: settings::wake(&parts.config),
        queue: queue.clone(),
        leadership,
        identity: parts.identity.clone(),
        metrics: parts.instruments.controller.clone(),
    };
    let cluster = parts.cluster.clone();
    let (shown, api) = (
        parts.instruments.cluster.clone(),
        parts.instruments.api.clone(),
    );
    let (controller, switch) = (parts.instruments.controller.clone(), parts.switch.clone());
    let observe = move || {
        controller.observe_switch(&switch);
        shown.observe(&cluster);
        api.observe(clock::now());
    };
    tasks.spawn(finish(rounds.run(cancel.clone(), observe)));
}

/// Sets the kill switch as the file says, as long as the file says it.
async fn reload(config: Config, switch: WriteSwitch, cancel: CancellationToken) {
    let mut ticks = tokio::time::interval(RELOAD);
    let mut told = Vec::new();
    let mut refused = None;
    while cancel.run_until_cancelled(ticks.tick()).await.is_some() {
        match config.reload() {
            Ok(reload) => {
                let error = reload.refused.as_ref().map(ToString::to_string);
                if switch.set(reload.writes == Writes::Enabled) {
                    tracing::info!(writes = ?reload.writes, "writes switched");
                }
                if reload.needs_restart != told && !reload.needs_restart.is_empty() {
                    tracing::info!(fields = ?reload.needs_restart, "changed fields take effect after a restart");
                }
                told = reload.needs_restart;
                refused = error;
            }
            Err(error) => {
                let error = Some(error.to_string());
                if refused != error {
                    tracing::warn!(
                        error,
                        "the changed configuration is refused, the old one stays"
                    );
                }
                refused = error;
            }
        }
    }
}

/// Where the server's certificate comes from.
pub(super) enum Certificates {
    /// From a Secret that we look after.
    SelfManaged(Box<SelfManaged>, Option<FileWatch>),
    /// From files.
    Files(FileWatch),
}

/// What keeps the certificates in step once the first are there.
pub(super) enum Keeper {
    /// The Secret, and a file with the scheduler's CA where one is given.
    SelfManaged(Box<SelfManaged>, Option<FileWatch>),
    /// Files.
    Files(FileWatch),
}

fn certificates(parts: &Parts, queue: WriteQueue) -> anyhow::Result<Certificates> {
    let certificates = &parts.config.certificates;
    Ok(match &certificates.serving {
        Serving::SelfManaged(own) => {
            let settings = settings::self_managed(parts, own, certificates.scheduler_ca.is_none())?;
            let keeper = SelfManaged::new(parts.client.clone(), settings, queue);
            let files = certificates.scheduler_ca.is_some();
            let watch = files.then(|| settings::certificate_files(certificates, None));
            Certificates::SelfManaged(Box::new(keeper), watch)
        }
        Serving::Files(files) => {
            Certificates::Files(settings::certificate_files(certificates, Some(files)))
        }
    })
}

impl Certificates {
    /// Waits for the first certificates; files must be good at once.
    pub(super) async fn first(self) -> anyhow::Result<(Change, Keeper)> {
        match self {
            Self::SelfManaged(mut keeper, watch) => {
                let mut change = keeper.first().await;
                let mut watch = watch;
                if let Some(watch) = &mut watch
                    && let Some(given) = watch.load().await?
                {
                    change.authorities = given.authorities;
                }
                Ok((change, Keeper::SelfManaged(keeper, watch)))
            }
            Self::Files(mut watch) => {
                let change = watch.load().await?.unwrap_or_default();
                Ok((change, Keeper::Files(watch)))
            }
        }
    }
}

impl Keeper {
    pub(super) async fn run(
        self,
        store: Arc<CertificateStore>,
        cancel: CancellationToken,
        shutdown: Shutdown,
    ) {
        match self {
            Self::SelfManaged(keeper, None) => keeper.run(store, cancel).await,
            Self::SelfManaged(keeper, Some(watch)) => {
                let given = Arc::clone(&store);
                tokio::join!(keeper.run(store, cancel), watch.run(&given, shutdown));
            }
            Self::Files(watch) => watch.run(&store, shutdown).await,
        }
    }
}
