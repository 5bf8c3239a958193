//! Metrics of the writer and the election.

use std::collections::HashMap;

use evenkeel_objects::plan::Purpose;
use evenkeel_units::words;

use super::switch::{WriteSwitch, Writes};
use crate::telemetry::Registry;
use crate::telemetry::metric_families::{count, families};

words! {
    pub enum WriteOutcome {
        /// The API server has accepted it.
        Written = "written",
        /// The object has changed since, or is there already.
        Conflict = "conflict",
        Gone = "gone",
        Refused = "refused",
        /// The API server was not reached, or failed itself.
        Failed = "failed",
        TimedOut = "timed_out",
        /// Not sent: another replica leads.
        NotLeader = "not_leader",
        /// Not sent: writes are disabled.
        SwitchedOff = "switched_off",
        /// Not queued: it was refused before, and is left alone for a while.
        Resting = "resting",
        /// Not queued: too many wait.
        Dropped = "dropped",
    }
}

families! {
    struct WriteMetrics {
        writes: Counter[purpose, outcome] = "writes",
            "Writes to the API server by purpose and outcome";
        enabled: Gauge = "writes_enabled",
            "1 while writes are enabled, 0 while the kill switch forbids them";
    }
}

families! {
    struct LoopMetrics {
        leader: Gauge = "leader", "1 while this replica leads";
        refused_pods: Gauge = "refused_pods",
            "Pods that wait because no node has headroom for them";
        refused_oldest_seconds: FloatGauge = "refused_pods_oldest_seconds",
            "The longest wait of these Pods";
        overloaded_nodes: Gauge = "overloaded_nodes",
            "Nodes with Evenkeel's taint for overloaded nodes";
        score_labels_on: Gauge = "score_labels_on",
            "1 while score labels are on in the configuration";
        score_label_shapes: Gauge = "score_label_shapes",
            "Shapes of Pods with score labels on nodes";
        score_label_changes: Counter = "score_label_changes",
            "Score labels of nodes that were set, changed or removed by a patch";
        score_label_lag: Gauge = "score_label_nodes_behind",
            "Nodes whose score labels differ from the last computed levels";
        marked_pods: Gauge = "deletion_cost_pods", "Pods with a deletion cost of Evenkeel";
        replica_profiles: Gauge[state] = "replica_profiles",
            "ReplicaProfiles by the reason why they are not applied; Followed if they are";
        online_conditions: Counter[status, outcome] = "online_conditions",
            "Writes of the condition that opens or closes the readiness gate of a Pod";
        online_gate: Gauge = "online_gate_given",
            "1 while this replica gives new Pods of ReplicaProfiles the readiness gate";
        awaited_conditions: Gauge = "online_conditions_awaited",
            "Pods whose condition for the readiness gate waits to be written";
        balanced_scale_ins: Counter = "scale_ins_balanced",
            "Rounds in which Pods of a ReplicaSet got deletion costs before a scale-in";
        waiting_scale_ins: Gauge = "scale_ins_waiting",
            "Scaled-in workloads whose Pods are processed in a later round";
        unbalanced_scale_ins: Counter[reason] = "scale_ins_left_alone",
            "Ticks at which a workload was scaled in and no Pod of it got a deletion cost, by \
             reason";
    }
}

#[derive(Debug, Clone, Default)]
pub struct ControllerMetrics {
    writes: WriteMetrics,
    loops: LoopMetrics,
}

impl ControllerMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        self.register_writes(registry);
        self.loops.register(registry);
    }

    /// Registers the writes' metric families for `/metrics`, for a process without other loops.
    pub(crate) fn register_writes(&self, registry: &mut Registry) {
        self.writes.register(registry);
    }

    pub(super) fn count(&self, purpose: Purpose, outcome: WriteOutcome) {
        let (purpose, outcome) = (purpose.as_str(), outcome.as_str());
        self.writes.writes(purpose, outcome).inc();
    }

    pub(super) fn lead(&self, leads: bool) {
        self.loops.leader.set(i64::from(leads));
    }

    /// Shows where the kill switch stands.
    pub(crate) fn observe_switch(&self, switch: &WriteSwitch) {
        let enabled = switch.get() == Writes::Enabled;
        self.writes.enabled.set(i64::from(enabled));
    }

    pub(super) fn overloaded(&self, nodes: usize) {
        self.loops.overloaded_nodes.set(count(nodes));
    }

    /// Shows whether score labels are on in the configuration.
    pub(super) fn score_labels_on(&self, are_on: bool) {
        self.loops.score_labels_on.set(i64::from(are_on));
    }

    /// Shows the shapes with labels, counts the labels that are patched now, and shows the nodes with labels to
    /// change.
    pub(super) fn score_labels(&self, shapes: usize, changes: usize, outstanding: usize) {
        self.loops.score_label_shapes.set(count(shapes));
        let changes = u64::try_from(changes).unwrap_or_default();
        self.loops.score_label_changes.inc_by(changes);
        self.loops.score_label_lag.set(count(outstanding));
    }

    pub(super) fn marked_pods(&self, pods: usize) {
        self.loops.marked_pods.set(count(pods));
    }

    pub(super) fn balanced_scale_in(&self) {
        self.loops.balanced_scale_ins.inc();
    }

    pub(super) fn waiting_scale_ins(&self, workloads: usize) {
        self.loops.waiting_scale_ins.set(count(workloads));
    }

    pub(super) fn unbalanced_scale_in(&self, reason: &'static str) {
        self.loops.unbalanced_scale_ins(reason).inc();
    }

    /// Shows the profiles by what stands against them.
    pub(super) fn profiles(&self, states: &HashMap<&'static str, i64>) {
        self.loops.replica_profiles.clear();
        for (&state, &count) in states {
            self.loops.replica_profiles(state).set(count);
        }
    }

    pub(super) fn online_condition(&self, status: &'static str, outcome: WriteOutcome) {
        self.loops.online_conditions(status, outcome.as_str()).inc();
    }

    pub(super) fn online_gate(&self, is_given: bool, awaited: usize) {
        self.loops.online_gate.set(i64::from(is_given));
        self.loops.awaited_conditions.set(count(awaited));
    }

    pub(super) fn refused(&self, pods: usize, oldest_seconds: f64) {
        self.loops.refused_pods.set(count(pods));
        self.loops.refused_oldest_seconds.set(oldest_seconds);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kill_switch_shows() {
        let mut registry = Registry::default();
        let metrics = ControllerMetrics::default();
        metrics.register(&mut registry);
        let switch = WriteSwitch::new(Writes::Enabled);
        for writes in [Writes::Enabled, Writes::Disabled, Writes::Restore] {
            switch.set(writes);
            metrics.observe_switch(&switch);
            let page = crate::telemetry::encode(&registry).unwrap();
            let enabled = u8::from(writes == Writes::Enabled);
            let line = format!("writes_enabled {enabled}\n");
            assert!(page.contains(&line), "{page}");
        }
    }
}
