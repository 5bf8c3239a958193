//! Parts beside the listeners: watches, measuring, election, writer, rounds, certificates, and the
//! watch on the configuration file.

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_forecast::ModelAssets;
use evenkeel_scaling::horizontal_portraits::Settings;
use evenkeel_training::ModelTrainer;
use jiff::SignedDuration;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::components::{Components, Tasks, lasting};
use super::{checks, metrics_sources, reload};
use crate::certificates::CertificateProvider;
use crate::cluster::watch::{LeaseName, OptionalWatches, Watches};
use crate::cluster::{ClusterState, watch};
use crate::config::ExternalAlgorithms;
use crate::controller::external_portraits::PortraitWorkerRole;
use crate::controller::scaling::{FitResources, HistorySource, LoadQuestion, ScalingLoop};
use crate::controller::{
    Elector, ExternalPortraits, HoursAheadLoop, Leadership, OnlineConditions, Rounds, TuningLoop,
    WriteQueue, Writer, scaling,
};
use crate::metrics::Containers;
use crate::server::ReadinessCondition;
use crate::telemetry::RateLimited;

/// Pause between two looks whether all stores are filled.
const SYNC: Duration = Duration::from_millis(100);

/// Starts everything that lasts until `cancel`, and gives the source of the certificates.
pub(super) fn start(
    parts: &Components,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> CertificateProvider {
    let Components { config, client, .. } = parts;
    watches(parts, cancel, tasks);
    let metrics_sources::ScalingMetricSources {
        past,
        signals,
        containers,
    } = metrics_sources::start(parts, cancel, tasks);
    let leadership = Leadership::default();
    let elector = Elector::new(
        client.clone(),
        parts.replica.clone(),
        config.leader_election.clone(),
        leadership.clone(),
    );
    lasting(tasks, "election", cancel, elector.run(cancel.clone()));
    let (writer, queue) = Writer::new(
        client.clone(),
        config.writer,
        leadership.clone(),
        parts.switch.clone(),
        parts.instruments.controller.clone(),
    );
    lasting(tasks, "writer", cancel, writer.run(cancel.clone()));
    rounds(parts, &queue, leadership.clone(), cancel, tasks);
    online_conditions(parts, leadership.clone(), cancel, tasks);
    let tuning = tuning(parts, containers, queue.clone(), leadership.clone());
    lasting(tasks, "tuning loop", cancel, tuning.run(cancel.clone()));
    external_portraits(parts, &queue, leadership.clone(), cancel, tasks);
    let (resources, questions) = hours_ahead(parts, &queue, leadership.clone(), cancel, tasks);
    let scaling = ScalingLoop {
        settings: scaling_settings(parts),
        cluster: parts.cluster.clone(),
        samples: parts.scaling.samples.clone(),
        signals,
        checks: checks::start(parts, cancel, tasks),
        past: past.map(|past| past as Arc<dyn HistorySource>),
        client: client.clone(),
        queue: queue.clone(),
        leadership,
        switch: parts.switch.clone(),
        identity: parts.replica.identity.clone(),
        metrics: parts.instruments.scaling.clone(),
        traces: parts.scaling.traces.clone(),
        shared: Arc::new(ModelAssets {
            calendar: config.calendar.clone(),
            ..ModelAssets::default()
        }),
        resources,
        questions,
        served: parts.scaling.served.clone(),
        scale_ins: parts.scaling.scale_ins.clone(),
        recorder: parts.recorder.clone(),
    };
    lasting(tasks, "scaling loop", cancel, scaling.run(cancel.clone()));
    reloading(parts, queue, cancel, tasks);
    let (settings, namespace) = (&config.certificates, &parts.replica.namespace);
    CertificateProvider::new(settings, namespace, client)
}

/// Writes the condition that lets Pods take traffic.
fn online_conditions(
    parts: &Components,
    leadership: Leadership,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) {
    let conditions = OnlineConditions {
        client: parts.client.clone(),
        cluster: parts.cluster.clone(),
        leadership,
        switch: parts.switch.clone(),
        is_enabled: parts.config.scaling.follows_profiles,
        namespace: parts.replica.namespace.clone(),
        metrics: parts.instruments.controller.clone(),
    };
    let conditions = conditions.run(cancel.clone());
    lasting(tasks, "writer of conditions", cancel, conditions);
}

/// Computes the load of the next hours. Gives what it shares with fits, and its questions to the scaling loop.
fn hours_ahead(
    parts: &Components,
    queue: &WriteQueue,
    leadership: Leadership,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> (FitResources, mpsc::Receiver<LoadQuestion>) {
    let (ask, questions) = mpsc::channel(1);
    let resources = FitResources::new(&parts.config.fits);
    let hours_ahead = HoursAheadLoop {
        cluster: parts.cluster.clone(),
        questions: ask,
        resources: resources.clone(),
        shared: Arc::new(ModelAssets {
            calendar: parts.config.calendar.clone(),
            trainer: Some(Arc::new(ModelTrainer::with(NonZeroUsize::MIN))),
            ..ModelAssets::default()
        }),
        queue: queue.clone(),
        leadership,
        switch: parts.switch.clone(),
    };
    let hours_ahead = hours_ahead.run(cancel.clone());
    lasting(tasks, "forecasts hours ahead", cancel, hours_ahead);
    (resources, questions)
}

/// The loop that tunes running Pods in place.
fn tuning(
    parts: &Components,
    containers: Option<Containers>,
    queue: WriteQueue,
    leadership: Leadership,
) -> TuningLoop {
    TuningLoop {
        settings: parts.config.tuning,
        cluster: parts.cluster.clone(),
        policy: Arc::new(parts.config.policy.clone()),
        containers,
        board: parts.instruments.scaling.board().clone(),
        client: parts.client.clone(),
        queue,
        leadership,
        switch: parts.switch.clone(),
        identity: parts.replica.identity.clone(),
        metrics: parts.instruments.tuning.clone(),
        warned: RateLimited::default(),
    }
}

/// Follows the file of the configuration.
fn reloading(parts: &Components, queue: WriteQueue, cancel: &CancellationToken, tasks: &mut Tasks) {
    let reload = reload::ConfigReloader {
        config: parts.config.clone(),
        switch: parts.switch.clone(),
        metrics: parts.instruments.configuration.clone(),
        events: Some(reload::ConfigEventWriter {
            queue,
            client: parts.client.clone(),
            replica: parts.replica.clone(),
            clock: parts.cluster.clock(),
        }),
    };
    let reload = reload.run(cancel.clone());
    lasting(tasks, "watch of the configuration", cancel, reload);
}

/// A round of measurements holds until the one after the next should be there.
fn scaling_settings(parts: &Components) -> scaling::Settings {
    let plan = parts.config.scaling;
    let interval = SignedDuration::try_from(parts.config.metrics.poller.interval);
    let rounds = interval.unwrap_or(SignedDuration::MAX).saturating_mul(2);
    scaling::Settings {
        plan,
        hold: rounds.min(plan.max_age),
    }
}

fn watches(parts: &Components, cancel: &CancellationToken, tasks: &mut Tasks) {
    let synced = parts.readiness.condition("stores synced");
    let (client, cluster) = (parts.client.clone(), parts.cluster.clone());
    let metrics = parts.instruments.cluster.clone();
    let cancel = cancel.clone();
    let second_scheduler = parts.config.policy.scheduler_name.clone();
    let second_scheduler = second_scheduler.map(|name| LeaseName {
        namespace: parts.replica.namespace.clone(),
        name,
    });
    let further = OptionalWatches {
        discovery: watch::DISCOVERY,
        second_scheduler,
        kinds: parts.config.kinds.clone(),
    };
    tasks.spawn(async move {
        let mut watches = Watches::start(&client, &cluster, &metrics, further);
        let synced = follow_stores(&cluster, &synced);
        tokio::select! {
            ended = watches.ended() => Err(ended.into()),
            () = synced => Ok(()),
            () = cancel.cancelled() => Ok(()),
        }
    });
}

/// Keeps the condition in line with the stores, which count as unfilled after their watch was
/// refused for a while.
async fn follow_stores(cluster: &ClusterState, synced: &ReadinessCondition) {
    let mut filled = false;
    loop {
        let missing = cluster.unsynced();
        match (filled, missing.is_empty()) {
            (false, true) => {
                synced.met();
                tracing::info!(nodes = cluster.node_names().len(), "all stores are filled");
            }
            (true, false) => {
                synced.lost();
                let missing: Vec<_> = missing.iter().map(|kind| kind.singular()).collect();
                tracing::error!(?missing, "stores cannot be kept any more");
            }
            (true, true) | (false, false) => {}
        }
        filled = missing.is_empty();
        tokio::time::sleep(SYNC).await;
    }
}

fn external_portraits(
    parts: &Components,
    queue: &WriteQueue,
    leadership: Leadership,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) {
    let ExternalAlgorithms { are_run, most_jobs } = parts.config.external_algorithms;
    let portraits = ExternalPortraits {
        part: PortraitWorkerRole::Portraits,
        cluster: parts.cluster.clone(),
        client: parts.client.clone(),
        queue: queue.clone(),
        leadership,
        switch: parts.switch.clone(),
        settings: Settings {
            own_namespace: parts.replica.namespace.clone(),
            runs_jobs: are_run,
            most_jobs,
        },
    };
    let portraits = portraits.run(cancel.clone());
    lasting(tasks, "external portraits", cancel, portraits);
}

fn rounds(
    parts: &Components,
    queue: &WriteQueue,
    leadership: Leadership,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) {
    let rounds = Rounds {
        cluster: parts.cluster.clone(),
        policy: Arc::new(parts.config.policy.clone()),
        wake: parts.config.wake,
        overload: parts.overload.clone(),
        scale_ins: parts.scaling.scale_ins.clone(),
        scaling: parts.config.scaling,
        queue: queue.clone(),
        leadership,
        switch: parts.switch.clone(),
        identity: parts.replica.identity.clone(),
        metrics: parts.instruments.controller.clone(),
    };
    let cluster = parts.cluster.clone();
    let (shown, api) = (
        parts.instruments.cluster.clone(),
        parts.instruments.handlers.clone(),
    );
    let (controller, switch) = (parts.instruments.controller.clone(), parts.switch.clone());
    let observe = move || {
        controller.observe_switch(&switch);
        shown.observe(&cluster);
        api.observe(clock::now());
    };
    lasting(tasks, "rounds", cancel, rounds.run(cancel.clone(), observe));
}
