//! Metrics of the watches and the node table.

mod choices;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use evenkeel_objects::kinds::Kind;
use evenkeel_placement::imbalance::imbalance;
use evenkeel_placement::node_table::{Freshness, NodeSet, NodeState};
use evenkeel_units::{Resource, words};

use self::choices::ChoiceMetrics;
use super::lock::locked;
use super::state::{ClusterState, SecondScheduler};
use crate::telemetry::Registry;
use crate::telemetry::metric_families::{count, families};

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

families! {
    struct WatchMetrics {
        events: Counter[kind, outcome] = "watch_events",
            "Events of the watches by kind of object and outcome";
        synced: Gauge[kind] = "watch_synced", "1 while all objects of a kind are known";
        refused: Gauge[kind] = "watch_refused",
            "1 while the API server refuses to let a kind be listed or watched";
    }
}

families! {
    struct StateMetrics {
        custom_kinds: Gauge[kind, state] = "scaling_kinds",
            "How the cluster serves a kind of scaling.kinds: 1 for the present state";
        second_scheduler: Gauge[scheduler] = "second_scheduler_alive",
            "1 while the second scheduler renews its Lease, so that admission assigns Pods to it";
        nodes: Gauge[resource, freshness] = "metrics_nodes",
            "Nodes by the freshness of the measurement of a resource";
        capacity_known: Gauge[resource] = "nodes_with_capacity",
            "Nodes whose capacity of a resource is known; elsewhere it takes part in no rule";
        io_pressed: Gauge = "nodes_io_pressed",
            "Nodes that take no Pods, because their tasks wait too long for disks of unknown \
             capacity";
        in_flight: Gauge = "pods_in_flight",
            "Pods whose load is not in the measurements yet";
        imbalance: FloatGauge[node] = "node_imbalance",
            "Largest distance of a use of the node above the mean of the open nodes, from 0 to 1";
    }
}

#[derive(Debug, Clone, Default)]
pub struct ClusterMetrics {
    watches: WatchMetrics,
    state: StateMetrics,
    choices: ChoiceMetrics,
    /// The version of the nodes with an imbalance, and their names.
    balanced: Arc<Mutex<(u64, BTreeSet<Arc<str>>)>>,
}

impl ClusterMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        self.register_watches(registry);
        self.state.register(registry);
        self.choices.register(registry);
    }

    /// Registers the watches' metric families for `/metrics`, for a process without a node table.
    pub(crate) fn register_watches(&self, registry: &mut Registry) {
        self.watches.register(registry);
    }

    pub(super) fn count(&self, kind: Kind, outcome: WatchOutcome) {
        self.watches.events(kind.singular(), outcome.as_str()).inc();
    }

    pub(super) fn synced(&self, kind: Kind, synced: bool) {
        self.watches.synced(kind.singular()).set(i64::from(synced));
    }

    pub(super) fn refused(&self, kind: Kind, refused: bool) {
        self.watches
            .refused(kind.singular())
            .set(i64::from(refused));
    }

    /// A kind is watched no more, since the cluster serves none of it.
    pub(super) fn unwatched(&self, kind: Kind) {
        let label = [("kind", kind.singular().into())];
        self.watches.synced.remove(&label);
        self.watches.refused.remove(&label);
    }

    pub(super) fn custom_kind(&self, name: &str, now: CustomKindState) {
        for state in CustomKindState::ALL {
            let gauge = self.state.custom_kinds(name.to_owned(), state.as_str());
            gauge.set(i64::from(state == now));
        }
    }

    /// Brings the gauges in line with the state.
    pub fn observe(&self, state: &ClusterState) {
        let snapshot = state.snapshot();
        let nodes = |holds: &dyn Fn(&NodeState) -> bool| {
            count(snapshot.nodes.iter().filter(|node| holds(node)).count())
        };
        for resource in Resource::ALL {
            let known = nodes(&|node| node.load.capacity[resource].is_some());
            self.state.capacity_known(resource.as_str()).set(known);
            for freshness in [Freshness::Fresh, Freshness::Stale, Freshness::Absent] {
                let gauge = self.state.nodes(resource.as_str(), freshness.as_str());
                gauge.set(nodes(&|node| node.freshness[resource] == freshness));
            }
        }
        let pressed = nodes(&|node| node.load.is_pressed(Resource::DiskIo));
        self.state.io_pressed.set(pressed);
        if let Some(SecondScheduler { name, is_alive }) = state.second_scheduler(state.now()) {
            let gauge = self.state.second_scheduler(name);
            gauge.set(i64::from(is_alive));
        }
        self.state.in_flight.set(count(state.in_flight()));
        self.choices.observe(&state.choices(), state.now());
        self.observe_imbalance(&snapshot.nodes);
    }

    /// A node keeps its line while it is there, so that no scrape misses one.
    fn observe_imbalance(&self, nodes: &NodeSet) {
        let mut balanced = locked(&self.balanced);
        let (version, named) = &mut *balanced;
        if std::mem::replace(version, nodes.version()) == nodes.version() {
            return;
        }
        let before = std::mem::take(named);
        for (node, value) in imbalance(nodes) {
            self.state.imbalance(node.to_string()).set(value);
            named.insert(Arc::clone(node));
        }
        for gone in before.difference(named) {
            let label = [("node", gone.to_string().into())];
            self.state.imbalance.remove(&label);
        }
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::node::Node;
    use jiff::Timestamp;
    use serde_json::json;

    use super::*;
    use crate::cluster::Settings;

    #[test]
    fn nodes_are_counted_by_the_capacities_that_they_tell() {
        let state = ClusterState::new(Settings {
            expects_metrics: true,
            ..Settings::default()
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
        assert!(page.contains("node_imbalance{node=\"b\"} 0.2\n"), "{page}");
        state.remove_node("b");
        metrics.observe(&state);
        let page = crate::telemetry::encode(&registry).unwrap();
        assert!(page.contains("node_imbalance{node=\"a\"} 0.2\n"), "{page}");
        assert!(!page.contains("node=\"b\""), "{page}");
    }
}
