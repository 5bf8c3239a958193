//! Metrics of the writer and the election.

use std::collections::HashMap;
use std::sync::atomic::AtomicU64;

use evenkeel_objects::plan::Purpose;
use evenkeel_units::words;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::switch::{WriteSwitch, Writes};

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

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct WriteLabels {
    purpose: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, Default)]
pub struct ControllerMetrics {
    writes: Family<WriteLabels, Counter>,
    leader: Gauge,
    writes_enabled: Gauge,
    refused_pods: Gauge,
    refused_oldest_seconds: Gauge<f64, AtomicU64>,
    overloaded_nodes: Gauge,
    marked_pods: Gauge,
    balanced_scale_ins: Counter,
    waiting_scale_ins: Gauge,
    unbalanced_scale_ins: Family<UnbalancedScaleInLabels, Counter>,
    replica_profiles: Family<ProfileLabels, Gauge>,
    online_conditions: Family<ConditionLabels, Counter>,
    online_gate: Gauge,
    awaited_conditions: Gauge,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ProfileLabels {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ConditionLabels {
    status: &'static str,
    outcome: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct UnbalancedScaleInLabels {
    reason: &'static str,
}

impl ControllerMetrics {
    /// Makes the families part of what `/metrics` shows.
    pub fn register(&self, registry: &mut Registry) {
        self.register_writes(registry);
        registry.register("leader", "1 while this replica leads", self.leader.clone());
        registry.register(
            "refused_pods",
            "Pods that wait because no node has headroom for them",
            self.refused_pods.clone(),
        );
        registry.register(
            "refused_pods_oldest_seconds",
            "The longest wait of these Pods",
            self.refused_oldest_seconds.clone(),
        );
        registry.register(
            "overloaded_nodes",
            "Nodes with Evenkeel's taint for overloaded nodes",
            self.overloaded_nodes.clone(),
        );
        registry.register(
            "deletion_cost_pods",
            "Pods with a deletion cost of Evenkeel",
            self.marked_pods.clone(),
        );
        registry.register(
            "replica_profiles",
            "ReplicaProfiles by the reason why they are not applied; Followed if they are",
            self.replica_profiles.clone(),
        );
        registry.register(
            "online_conditions",
            "Writes of the condition that opens or closes the readiness gate of a Pod",
            self.online_conditions.clone(),
        );
        registry.register(
            "online_gate_given",
            "1 while this replica gives new Pods of ReplicaProfiles the readiness gate",
            self.online_gate.clone(),
        );
        registry.register(
            "online_conditions_awaited",
            "Pods whose condition for the readiness gate waits to be written",
            self.awaited_conditions.clone(),
        );
        registry.register(
            "scale_ins_balanced",
            "Rounds in which Pods of a ReplicaSet got deletion costs before a scale-in",
            self.balanced_scale_ins.clone(),
        );
        registry.register(
            "scale_ins_waiting",
            "Scaled-in workloads whose Pods are processed in a later round",
            self.waiting_scale_ins.clone(),
        );
        registry.register(
            "scale_ins_left_alone",
            "Ticks at which a workload was scaled in and no Pod of it got a deletion cost, by \
             reason",
            self.unbalanced_scale_ins.clone(),
        );
    }

    /// Registers the writes' metric families for `/metrics`, for a process without other loops.
    pub(crate) fn register_writes(&self, registry: &mut Registry) {
        registry.register(
            "writes",
            "Writes to the API server by purpose and outcome",
            self.writes.clone(),
        );
        registry.register(
            "writes_enabled",
            "1 while writes are enabled, 0 while the kill switch forbids them",
            self.writes_enabled.clone(),
        );
    }

    pub(super) fn count(&self, purpose: Purpose, outcome: WriteOutcome) {
        self.writes
            .get_or_create(&WriteLabels {
                purpose: purpose.as_str(),
                outcome: outcome.as_str(),
            })
            .inc();
    }

    pub(super) fn lead(&self, leads: bool) {
        self.leader.set(i64::from(leads));
    }

    /// Shows where the kill switch stands.
    pub fn observe_switch(&self, switch: &WriteSwitch) {
        let enabled = switch.get() == Writes::Enabled;
        self.writes_enabled.set(i64::from(enabled));
    }

    pub(super) fn overloaded(&self, nodes: usize) {
        let nodes = i64::try_from(nodes).unwrap_or(i64::MAX);
        self.overloaded_nodes.set(nodes);
    }

    pub(super) fn marked_pods(&self, pods: usize) {
        self.marked_pods
            .set(i64::try_from(pods).unwrap_or(i64::MAX));
    }

    pub(super) fn balanced_scale_in(&self) {
        self.balanced_scale_ins.inc();
    }

    pub(super) fn waiting_scale_ins(&self, workloads: usize) {
        self.waiting_scale_ins
            .set(i64::try_from(workloads).unwrap_or(i64::MAX));
    }

    pub(super) fn unbalanced_scale_in(&self, reason: &'static str) {
        let labels = UnbalancedScaleInLabels { reason };
        self.unbalanced_scale_ins.get_or_create(&labels).inc();
    }

    /// Shows the profiles by what stands against them.
    pub(super) fn profiles(&self, states: &HashMap<&'static str, i64>) {
        self.replica_profiles.clear();
        for (&state, &count) in states {
            let labels = ProfileLabels { state };
            self.replica_profiles.get_or_create(&labels).set(count);
        }
    }

    pub(super) fn online_condition(&self, status: &'static str, outcome: WriteOutcome) {
        let outcome = outcome.as_str();
        let labels = ConditionLabels { status, outcome };
        self.online_conditions.get_or_create(&labels).inc();
    }

    pub(super) fn online_gate(&self, is_given: bool, awaited: usize) {
        self.online_gate.set(i64::from(is_given));
        self.awaited_conditions
            .set(i64::try_from(awaited).unwrap_or(i64::MAX));
    }

    pub(super) fn refused(&self, pods: usize, oldest_seconds: f64) {
        self.refused_pods
            .set(i64::try_from(pods).unwrap_or(i64::MAX));
        self.refused_oldest_seconds.set(oldest_seconds);
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
