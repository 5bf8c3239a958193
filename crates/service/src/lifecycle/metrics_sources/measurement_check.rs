//! When the names in measurements are compared with the cluster's, and what is reported. Names are
//! compared in memory at every round. Only on a change, such as a relabelling or a new node, and
//! once an hour, the outcome is reported, and the labels of real series are searched for a fix.
//! While something is wrong the next look waits for more and more rounds: a node, an exporter or a
//! Prometheus that has just started is not measured at once.

use std::collections::BTreeSet;
use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Node;
use kube::api::ListParams;
use kube::{Api, Client};
use tokio::sync::watch;

use crate::cluster::{ClusterState, paged_list};
use crate::metrics::prometheus::PrometheusSource;
use crate::metrics::self_check::{MetricsFinding, NodeIdentity};
use crate::metrics::{MetricsRound, QueryMetrics, self_check};

/// The longest that a finding stands, or its absence, without a new look.
const AGAIN: SignedDuration = SignedDuration::from_hours(1);

/// The most rounds between two looks at what changes: some five minutes.
const LONGEST_PAUSE: u32 = 20;

pub(super) struct MeasurementCheck {
    pub(super) cluster: ClusterState,
    pub(super) client: Client,
    /// The Prometheus with the series that are searched for advice, if it is the source.
    pub(super) prometheus: Option<Arc<PrometheusSource>>,
    pub(super) metrics: QueryMetrics,
    /// The age up to which measurements are fresh.
    pub(super) max_age: SignedDuration,
}

/// When to look again.
#[derive(Debug, Default, PartialEq, Eq)]
struct MeasurementCheckSchedule {
    /// The last look, with what the comparison showed.
    last: Option<(Timestamp, Vec<MetricsFinding>)>,
    /// Rounds since then.
    passed: u32,
    /// Rounds to let pass before what has changed is looked at.
    pause: u32,
}

impl MeasurementCheck {
    /// Looks at the rounds for as long as there are any.
    pub(super) async fn run(self, mut rounds: watch::Receiver<Option<Arc<MetricsRound>>>) {
        let mut agenda = MeasurementCheckSchedule::default();
        let mut addresses_are_known = false;
        while rounds.changed().await.is_ok() {
            let round = rounds.borrow_and_update().clone();
            // Before the nodes are listed, every measured name would be a stranger's.
            let Some(round) = round.filter(|_| self.cluster.snapshot().synced) else {
                continue;
            };
            // The first round after that was made without the nodes' addresses.
            if !std::mem::replace(&mut addresses_are_known, true) {
                continue;
            }
            let names = self.cluster.node_names();
            let names: BTreeSet<&str> = names.iter().map(|name| &**name).collect();
            let now = self.cluster.now();
            let mut shown = self_check::compare(&names, &round);
            shown.extend(self_check::clocks(&round, now, self.max_age));
            if !agenda.is_due(now, &shown) {
                continue;
            }
            let advice = self.advice(&shown, &round).await;
            agenda.looked(now, shown.clone());
            let findings: Vec<MetricsFinding> = shown.into_iter().chain(advice).collect();
            self.metrics.observe_findings(&findings);
            for finding in &findings {
                tracing::warn!(%finding, "metrics self-check");
            }
        }
    }

    /// Advice on how to measure the unmeasured nodes, by the labels of the existing series.
    async fn advice(
        &self,
        shown: &[MetricsFinding],
        round: &MetricsRound,
    ) -> Option<MetricsFinding> {
        let unmeasured =
            |finding: &MetricsFinding| matches!(finding, MetricsFinding::Unmeasured { .. });
        let prometheus = self.prometheus.as_ref()?;
        if !shown.iter().any(unmeasured) {
            return None;
        }
        let advice = async {
            let series = prometheus.probe().await?;
            let nodes = Api::<Node>::all(self.client.clone());
            // A node that cannot be read is named by its watch.
            let (nodes, _) = paged_list::list(&nodes, ListParams::default()).await?;
            let nodes: Vec<NodeIdentity> = nodes.iter().map(identity).collect();
            anyhow::Ok(self_check::advise(&nodes, round, &series))
        };
        advice.await.unwrap_or_else(|error| {
            tracing::warn!(
                error = format!("{error:#}"),
                "the labels of measurements could not be searched"
            );
            None
        })
    }
}

impl MeasurementCheckSchedule {
    /// Takes note of one more round, and says whether it is to be looked at.
    fn is_due(&mut self, now: Timestamp, shown: &[MetricsFinding]) -> bool {
        self.passed += 1;
        let Some((at, before)) = &self.last else {
            return true;
        };
        let is_old = now.duration_since(*at) >= AGAIN;
        is_old || (self.passed > self.pause && before != shown)
    }

    fn looked(&mut self, now: Timestamp, shown: Vec<MetricsFinding>) {
        self.passed = 0;
        self.pause = if shown.is_empty() {
            0
        } else {
            (2 * self.pause + 1).min(LONGEST_PAUSE)
        };
        self.last = Some((now, shown));
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn unmeasured(nodes: &[&str]) -> Vec<MetricsFinding> {
        vec![MetricsFinding::Unmeasured {
            nodes: nodes.iter().map(|node| (*node).to_owned()).collect(),
            of: 3,
        }]
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(seconds).unwrap()
    }

    #[test]
    fn a_sound_cluster_is_looked_at_once_an_hour_and_at_once_after_a_relabelling() {
        let mut agenda = MeasurementCheckSchedule::default();
        assert!(agenda.is_due(at(0), &[]));
        agenda.looked(at(0), Vec::new());
        for second in (15..3600).step_by(15) {
            assert!(!agenda.is_due(at(second), &[]), "{second}");
        }
        assert!(agenda.is_due(at(3600), &[]));
        agenda.looked(at(3600), Vec::new());
        assert!(agenda.is_due(at(3615), &unmeasured(&["a"])));
    }

    #[test]
    fn what_changes_while_something_is_wrong_is_looked_at_less_and_less_often() {
        let mut agenda = MeasurementCheckSchedule::default();
        let (one, other) = (unmeasured(&["a"]), unmeasured(&["b"]));
        let mut rounds = Vec::new();
        let (mut second, mut since) = (0, 0);
        while rounds.len() < 7 {
            second += 1;
            since += 1;
            let shown = if rounds.len() % 2 == 0 { &one } else { &other };
            if agenda.is_due(at(second), shown) {
                agenda.looked(at(second), shown.clone());
                rounds.push(since);
                since = 0;
            }
        }
        assert_eq!(rounds, [1, 2, 4, 8, 16, 21, 21]);
        // The end of it is told as late, and nothing waits from then on.
        assert!((0..20).all(|_| !agenda.is_due(at(second), &[])));
        assert!(agenda.is_due(at(second), &[]));
        agenda.looked(at(second), Vec::new());
        assert!(agenda.is_due(at(second), &one));
    }
}
