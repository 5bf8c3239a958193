//! The metrics source of the configuration, polled into the cluster's state.

use std::sync::Arc;

use anyhow::Context as _;
use k8s_openapi::api::core::v1::Node;
use kube::{Api, Client};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::parts::{Parts, Tasks, lasting};
use crate::metrics::metrics_api::MetricsApiSource;
use crate::metrics::prometheus::PrometheusSource;
use crate::metrics::replay::{ReplaySource, Trace};
use crate::metrics::self_check::{Finding, NodeIdentity};
use crate::metrics::signals::{self, ServedSource, Signals};
use crate::metrics::{Bounds, Metrics, MetricsSource, NoMetrics, Poller, Round, Source};

/// What the scaling loop asks beside the rounds of measurements.
pub(super) struct Asked {
    /// Where the past is had from, where there is any.
    pub(super) past: Option<Arc<PrometheusSource>>,
    /// The signals of single targets.
    pub(super) signals: Signals,
}

/// Starts polling; every round goes into the node table and to the scaling loop.
pub(super) fn start(
    parts: &Parts,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> anyhow::Result<Asked> {
    let (source, prometheus) = source(parts)?;
    let signals = signals(parts, prometheus.clone(), cancel, tasks);
    let poller = Poller::new(
        source,
        parts.config.metrics.poller,
        parts.cluster.clock(),
        parts.instruments.measuring.clone(),
    );
    let (cluster, samples) = (parts.cluster.clone(), parts.scaling.samples.clone());
    let overload = parts.overload.clone();
    let (newest, rounds) = watch::channel(None);
    let each = move |update: crate::metrics::Update| {
        let Ok(round) = update.outcome else { return };
        cluster.apply_sample(Arc::clone(&round.usage), update.at);
        overload.observe(&cluster.snapshot().nodes, &round.usage, update.at);
        let (remembering, usage) = (cluster.clone(), Arc::clone(&round.usage));
        tokio::task::spawn_blocking(move || remembering.remember_usage(&usage, update.at));
        samples.put(&round, update.at);
        newest.send_replace(Some(round));
    };
    lasting(tasks, "measuring", cancel, poller.run(cancel.clone(), each));
    if let Some(prometheus) = prometheus.clone() {
        let client = parts.client.clone();
        let cancel = cancel.clone();
        let metrics = parts.instruments.measuring.clone();
        tasks.spawn(async move {
            let checking = check_until_sound(rounds, &client, &prometheus, &metrics);
            cancel.run_until_cancelled(checking).await;
            Ok(())
        });
    }
    Ok(Asked {
        past: prometheus,
        signals,
    })
}

/// The most rounds between two checks: some five minutes.
const LONGEST_PAUSE: u32 = 20;

/// Checks the first round, and further ones at growing pauses until nothing is found any more: a node,
/// an exporter or a Prometheus that has just started is not measured at once.
async fn check_until_sound(
    mut rounds: watch::Receiver<Option<Arc<Round>>>,
    client: &Client,
    prometheus: &PrometheusSource,
    metrics: &Metrics,
) {
    let (mut passed, mut pause) = (0, 0);
    while rounds.changed().await.is_ok() {
        let round = rounds.borrow_and_update().clone();
        passed += 1;
        let Some(round) = round.filter(|_| passed > pause) else {
            continue;
        };
        match check(client, prometheus, &round).await {
            Ok(findings) => {
                metrics.observe_findings(&findings);
                if findings.is_empty() {
                    return;
                }
            }
            Err(error) => tracing::warn!(
                error = format!("{error:#}"),
                "the metrics could not be checked"
            ),
        }
        (passed, pause) = (0, (2 * pause + 1).min(LONGEST_PAUSE));
    }
}

/// Starts the asking for signals of single targets.
fn signals(
    parts: &Parts,
    prometheus: Option<Arc<PrometheusSource>>,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> Signals {
    let settings = parts.config.metrics.signals;
    let bounds = Bounds {
        timeout: settings.timeout,
        body_limit: signals::BODY_LIMIT,
    };
    let sources = signals::Sources {
        served: ServedSource::new(parts.client.clone(), bounds),
        prometheus,
    };
    let metrics = parts.instruments.measuring.clone();
    let (clock, sources) = (parts.cluster.clock(), Arc::new(sources));
    let (signals, asker) = Signals::new(sources, settings, clock, metrics);
    lasting(
        tasks,
        "asking for signals",
        cancel,
        asker.run(cancel.clone()),
    );
    signals
}

type Sources = (Arc<dyn MetricsSource>, Option<Arc<PrometheusSource>>);

fn source(parts: &Parts) -> anyhow::Result<Sources> {
    Ok(match &parts.config.metrics.source {
        Source::Prometheus(settings) => {
            let source = Arc::new(PrometheusSource::new(settings.as_ref().clone()));
            (Arc::clone(&source) as Arc<dyn MetricsSource>, Some(source))
        }
        Source::MetricsApi(settings) => {
            let source = MetricsApiSource::new(parts.client.clone(), *settings);
            (Arc::new(source), None)
        }
        Source::Replay(replay) => {
            let file = replay.file.display();
            let text = std::fs::read_to_string(&replay.file)
                .with_context(|| format!("the trace {file} cannot be read"))?;
            let trace: Trace = text.parse().with_context(|| format!("the trace {file}"))?;
            let source = ReplaySource::new(trace, replay.speed, parts.cluster.now());
            (Arc::new(source), None)
        }
        Source::None => (Arc::new(NoMetrics), None),
    })
}

/// Compares what was measured first with the nodes of the cluster, and logs what does not match.
async fn check(
    client: &kube::Client,
    prometheus: &PrometheusSource,
    round: &Round,
) -> anyhow::Result<Vec<Finding>> {
    let nodes = Api::<Node>::all(client.clone())
        .list(&kube::api::ListParams::default())
        .await?;
    let identities: Vec<NodeIdentity> = nodes.items.iter().map(identity).collect();
    let findings = prometheus.self_check(&identities, round).await?;
    for finding in &findings {
        tracing::warn!(%finding, "metrics self-check");
    }
    Ok(findings)
}

fn identity(node: &Node) -> NodeIdentity {
    let addresses = node
        .status
        .as_ref()
        .and_then(|status| status.addresses.as_ref());
    NodeIdentity {
        name: node.metadata.name.clone().unwrap_or_default(),
        addresses: addresses
            .into_iter()
            .flatten()
            .map(|address| (address.type_.clone(), address.address.clone()))
            .collect(),
    }
}
