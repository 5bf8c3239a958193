//! The metrics source of the configuration, polled into the cluster's state.

mod measurement_check;

use std::sync::Arc;

use measurement_check::MeasurementCheck;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use super::components::{Components, Tasks, lasting};
use crate::account_tokens::AccountTokens;
use crate::cluster::ClusterState;
use crate::cluster::state::NodeContact;
use crate::metrics::kubelet::{Disks, Kubelet, KubeletPoller, WithDisks};
use crate::metrics::prometheus::PrometheusSource;
use crate::metrics::signals::{ServedSource, Signals};
use crate::metrics::{
    ApiCallLimits, BODY_LIMIT, ConnectedSource, Containers, MetricsSource, MetricsSourceSettings,
    Poller, kubelet, signals,
};

/// The sources that the scaling loop reads beside the rounds of measurements.
pub(super) struct ScalingMetricSources {
    /// Where the past is had from, where there is any.
    pub(super) past: Option<Arc<PrometheusSource>>,
    pub(super) signals: Signals,
    /// The usage of single containers, if that is measured at all.
    pub(super) containers: Option<Containers>,
}

/// Starts polling; every round goes into the node table and to the scaling loop.
pub(super) fn start(
    parts: &Components,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> ScalingMetricSources {
    let source = &parts.config.metrics.source;
    let is_measured = *source != MetricsSourceSettings::None;
    let ConnectedSource { rounds, prometheus } = source.connect(&parts.client);
    let source = with_disks(rounds, parts, cancel, tasks);
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
    let known_to = prometheus.clone();
    let each = move |update: crate::metrics::Update| {
        if let Some(prometheus) = &known_to {
            tell_addresses(prometheus, &cluster);
        }
        let Ok(round) = update.outcome else { return };
        cluster.apply_sample(Arc::clone(&round.usage), update.at);
        overload.observe(&cluster.snapshot().nodes, update.at);
        let (remembering, usage) = (cluster.clone(), Arc::clone(&round.usage));
        tokio::task::spawn_blocking(move || remembering.remember_usage(&usage, update.at));
        samples.put(&round, update.at);
        newest.send_replace(Some(round));
    };
    lasting(tasks, "measuring", cancel, poller.run(cancel.clone(), each));
    if is_measured {
        let check = MeasurementCheck {
            cluster: parts.cluster.clone(),
            client: parts.client.clone(),
            prometheus: prometheus.clone(),
            metrics: parts.instruments.measuring.clone(),
            max_age: parts.config.cluster.table.max_age,
        };
        let cancel = cancel.clone();
        tasks.spawn(async move {
            cancel.run_until_cancelled(check.run(rounds)).await;
            Ok(())
        });
    }
    let containers = is_measured.then(|| containers(parts, prometheus.clone()));
    ScalingMetricSources {
        past: prometheus,
        signals,
        containers,
    }
}

/// The source of what containers use: that of rounds, or the metrics API where it does not tell.
fn containers(parts: &Components, prometheus: Option<Arc<PrometheusSource>>) -> Containers {
    let bounds = ApiCallLimits {
        timeout: parts.config.metrics.signals.timeout,
        body_limit: BODY_LIMIT,
    };
    Containers::new(prometheus, parts.client.clone(), bounds)
}

/// Starts asking the kubelets, where they are to tell the use of disks, and has rounds hold it.
fn with_disks(
    source: Arc<dyn MetricsSource>,
    parts: &Components,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> Arc<dyn MetricsSource> {
    let Some(settings) = parts.config.metrics.kubelet.clone() else {
        return source;
    };
    let disks = Disks::default();
    let (clock, metrics) = (parts.cluster.clock(), parts.instruments.measuring.clone());
    let tokens = AccountTokens::new(
        parts.client.clone(),
        &parts.replica.namespace,
        kubelet::ACCOUNT,
    );
    let asker = KubeletPoller::new(settings, Some(tokens), disks.clone(), clock, metrics);
    let (cluster, cancel) = (parts.cluster.clone(), cancel.clone());
    tasks.spawn(async move {
        let asking = asker.run(|| kubelets(&cluster));
        cancel.run_until_cancelled(asking).await;
        Ok(())
    });
    Arc::new(WithDisks::new(source, disks))
}

/// The kubelets of the nodes that tell an address.
fn kubelets(cluster: &ClusterState) -> Vec<Kubelet> {
    let contacts = cluster.node_contacts().into_iter();
    let kubelet = |contact: NodeContact| {
        Some(Kubelet {
            node: contact.name,
            address: *contact.internal_ips.first()?,
            port: contact.kubelet_port,
        })
    };
    contacts.filter_map(kubelet).collect()
}

/// Tells the source which addresses are which nodes, for the rounds to come.
fn tell_addresses(prometheus: &PrometheusSource, cluster: &ClusterState) {
    let contacts = cluster.node_contacts();
    prometheus.know_addresses(contacts.iter().flat_map(|contact| {
        let addresses = contact.internal_ips.iter();
        addresses.map(|address| (*address, &*contact.name))
    }));
}

/// Starts the asking for signals of single targets.
fn signals(
    parts: &Components,
    prometheus: Option<Arc<PrometheusSource>>,
    cancel: &CancellationToken,
    tasks: &mut Tasks,
) -> Signals {
    let settings = parts.config.metrics.signals;
    let bounds = ApiCallLimits {
        timeout: settings.timeout,
        body_limit: signals::BODY_LIMIT,
    };
    let sources = signals::SignalSources {
        served: ServedSource::new(parts.client.clone(), bounds),
        prometheus,
    };
    let metrics = parts.instruments.measuring.clone();
    let (clock, sources) = (parts.cluster.clock(), Arc::new(sources));
    let (signals, asker) = Signals::new(sources, settings.timeout, clock, metrics);
    lasting(
        tasks,
        "asking for signals",
        cancel,
        asker.run(cancel.clone()),
    );
    signals
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cluster::Settings;

    #[test]
    fn a_kubelet_is_reached_where_its_node_says() {
        let cluster = ClusterState::new(Settings {
            expects_metrics: true,
            ..Settings::default()
        });
        let internal = |address: &str| json!({"type": "InternalIP", "address": address});
        for (name, addresses, port) in [
            ("a", vec![internal("10.0.0.1"), internal("fd00::1")], 10_260),
            ("b", vec![internal("fd00::2")], 0),
            ("c", Vec::new(), 10_250),
        ] {
            let node = json!({
                "metadata": {"name": name},
                "status": {
                    "addresses": addresses,
                    "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
                },
            });
            let node = serde_json::from_value(node).unwrap();
            cluster.apply_node(&node, cluster.now());
        }
        let reached = |node: &str, address: &str, port| Kubelet {
            node: node.into(),
            address: address.parse().unwrap(),
            port,
        };
        let both = [
            reached("a", "10.0.0.1", Some(10_260)),
            reached("b", "fd00::2", None),
        ];
        assert_eq!(kubelets(&cluster), both);
        cluster.remove_node("a");
        assert_eq!(kubelets(&cluster), both[1..]);
        cluster.retain_nodes(|_| false);
        assert_eq!(kubelets(&cluster), []);
    }
}
