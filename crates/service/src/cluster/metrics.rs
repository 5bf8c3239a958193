//! Metrics of the watches and the node table.

mod choices;

use evenkeel_objects::kinds::Kind;
use evenkeel_placement::node_table::{Freshness, NodeState};
use evenkeel_units::{Resource, words};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use self::choices::ChoiceMetrics;
use super::state::{ClusterState, SecondScheduler};

words! {
    pub enum WatchOutcome {
        Event = "event",
        /// An object could not be read and was left out.
        Unreadable = "unreadable",
        Error = "error",
    }
}

words! {
    pub enum CustomKindState {
        /// With the subresource `scale`, so that it is scaled.
        Served = "served",
        Absent = "absent",
        /// Without what scaling takes.
        Unscalable = "unscalable",
        /// The API server does not say.
        Unknown = "unknown",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CustomKindLabels {
    kind: String,
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WatchLabels {
    kind: String,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabel {
    kind: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct SchedulerLabel {
    scheduler: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct FreshnessLabels {
    resource: &'static str,
    freshness: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResourceLabel {
    resource: &'static str,
}

#[derive(Debug, Clone, Default)]
pub struct ClusterMetrics {
    events: Family<WatchLabels, Counter>,
    synced: Family<KindLabel, Gauge>,
    refused: Family<KindLabel, Gauge>,
    custom_kinds: Family<CustomKindLabels, Gauge>,
    second_scheduler: Family<SchedulerLabel, Gauge>,
    nodes: Family<FreshnessLabels, Gauge>,
    capacity_known: Family<ResourceLabel, Gauge>,
    io_pressed: Gauge,
    in_flight: Gauge,
    choices: ChoiceMetrics,
}

impl ClusterMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        self.register_watches(registry);
        registry.register(
            "scaling_kinds",
            "How the cluster serves a kind of scaling.kinds: 1 for the present state",
            self.custom_kinds.clone(),
        );
        registry.register(
            "second_scheduler_alive",
            "1 while the second scheduler renews its Lease, so that admission assigns Pods to it",
            self.second_scheduler.clone(),
        );
        self.register_nodes(registry);
    }

    /// Registers the watches' metric families for `/metrics`, for a process without a node table.
    pub(crate) fn register_watches(&self, registry: &mut Registry) {
        registry.register(
            "watch_events",
            "Events of the watches by kind of object and outcome",
            self.events.clone(),
        );
        registry.register(
            "watch_synced",
            "1 while all objects of a kind are known",
            self.synced.clone(),
        );
        registry.register(
            "watch_refused",
            "1 while the API server refuses to let a kind be listed or watched",
            self.refused.clone(),
        );
    }

    fn register_nodes(&self, registry: &mut Registry) {
        registry.register(
            "metrics_nodes",
            "Nodes by the freshness of the measurement of a resource",
            self.nodes.clone(),
        );
        registry.register(
            "nodes_with_capacity",
            "Nodes whose capacity of a resource is known; elsewhere it takes part in no rule",
            self.capacity_known.clone(),
        );
        registry.register(
            "nodes_io_pressed",
            "Nodes that take no Pods, because their tasks wait too long for disks of unknown \
             capacity",
            self.io_pressed.clone(),
        );
        registry.register(
            "pods_in_flight",
            "Pods whose load is not in the measurements yet",
            self.in_flight.clone(),
        );
        self.choices.register(registry);
    }

    pub(super) fn count(&self, kind: Kind, outcome: WatchOutcome) {
        self.events
            .get_or_create(&WatchLabels {
                kind: kind.singular(),
                outcome: outcome.as_str(),
            })
            .inc();
    }

    pub(super) fn synced(&self, kind: Kind, synced: bool) {
        Self::of(&self.synced, kind, synced);
    }

    pub(super) fn refused(&self, kind: Kind, refused: bool) {
        Self::of(&self.refused, kind, refused);
    }

    /// A kind is watched no more, since the cluster serves none of it.
    pub(super) fn unwatched(&self, kind: Kind) {
        let label = KindLabel {
            kind: kind.singular(),
        };
        self.synced.remove(&label);
        self.refused.remove(&label);
    }

    pub(super) fn custom_kind(&self, name: &str, now: CustomKindState) {
        for state in CustomKindState::ALL {
            let label = CustomKindLabels {
                kind: name.to_owned(),
                state: state.as_str(),
            };
            let gauge = self.custom_kinds.get_or_create(&label);
            gauge.set(i64::from(state == now));
        }
    }

    fn of(family: &Family<KindLabel, Gauge>, kind: Kind, holds: bool) {
        let label = KindLabel {
            kind: kind.singular(),
        };
        family.get_or_create(&label).set(i64::from(holds));
    }

    /// Brings the gauges in line with the state.
    pub fn observe(&self, state: &ClusterState) {
        let snapshot = state.snapshot();
        for resource in Resource::ALL {
            let known = snapshot
                .nodes
                .iter()
                .filter(|node| node.load.capacity[resource].is_some())
                .count();
            self.capacity_known
                .get_or_create(&ResourceLabel {
                    resource: resource.as_str(),
                })
                .set(i64::try_from(known).unwrap_or(i64::MAX));
            for freshness in [Freshness::Fresh, Freshness::Stale, Freshness::Absent] {
                let nodes = snapshot
                    .nodes
                    .iter()
                    .filter(|node| node.freshness[resource] == freshness)
                    .count();
                self.nodes
                    .get_or_create(&FreshnessLabels {
                        resource: resource.as_str(),
                        freshness: freshness.as_str(),
                    })
                    .set(i64::try_from(nodes).unwrap_or(i64::MAX));
            }
        }
        let pressed = |node: &&NodeState| node.load.is_pressed(Resource::DiskIo);
        let pressed = snapshot.nodes.iter().filter(pressed).count();
        self.io_pressed
            .set(i64::try_from(pressed).unwrap_or(i64::MAX));
        if let Some(SecondScheduler { name, is_alive }) = state.second_scheduler(state.now()) {
            let label = SchedulerLabel { scheduler: name };
            let gauge = self.second_scheduler.get_or_create(&label);
            gauge.set(i64::from(is_alive));
        }
        self.in_flight
            .set(i64::try_from(state.in_flight()).unwrap_or(i64::MAX));
        self.choices.observe(&state.choices(), state.now());
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::capacities::Capacities;
    use evenkeel_objects::node::Node;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::cluster::Settings;

    #[test]
    fn nodes_are_counted_by_the_capacities_that_they_tell() {
        let state = ClusterState::new(Settings {
            table: evenkeel_placement::node_table::Settings::default(),
            capacities: Capacities::default(),
            caps_as_demand: false,
            expects_metrics: true,
            balances_scale_in: false,
        });
        for (name, annotations) in [
            ("a", json!({"evenkeel.dev/network-capacity": "1Gbps"})),
            ("b", json!({})),
        ] {
            let node = json!({
                "metadata": {"name": name, "annotations": annotations},
                "status": {"allocatable": {"cpu": "4"}},
            });
            let node: Node = serde_json::from_value(node).unwrap();
            state.apply_node(&node, Timestamp::UNIX_EPOCH);
        }
        for kind in crate::cluster::WATCHED {
            state.set_synced(kind);
        }
        let mut registry = Registry::default();
        let metrics = ClusterMetrics::default();
        metrics.register(&mut registry);
        metrics.observe(&state);
        let page = crate::telemetry::encode(&registry).unwrap();
        for (resource, known) in [("cpu", 2), ("networkIo", 1), ("diskIo", 0)] {
            let line = format!("nodes_with_capacity{{resource=\"{resource}\"}} {known}\n");
            assert!(page.contains(&line), "{line}{page}");
        }
    }
}
