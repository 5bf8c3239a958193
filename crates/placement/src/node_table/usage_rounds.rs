//! Rounds of measurements, applied in batches of nodes: thousands of nodes take milliseconds, so a
//! caller that holds the table behind a lock releases it between batches. Until its batch, a node
//! keeps its state from before the round.

use std::sync::Arc;

use evenkeel_metrics::usage::UsageSample;
use evenkeel_units::Resource;
use jiff::Timestamp;

use super::NodeTable;
use super::entry::{CountingContext, NetworkSpeed};

/// Nodes updated together: some 100 microseconds of work.
const BATCH: usize = 128;

#[derive(Debug)]
pub struct UsageRound {
    left: Vec<Arc<str>>,
    before: Arc<UsageSample>,
}

impl UsageRound {
    /// The sample before, so that a caller drops its many names outside of the lock.
    pub(crate) fn into_before(self) -> Arc<UsageSample> {
        self.before
    }
}

impl NodeTable {
    /// All nodes at once.
    pub fn apply_sample(&mut self, sample: Arc<UsageSample>, now: Timestamp) -> Arc<UsageSample> {
        let mut round = self.begin_round(sample);
        while self.go_on(&mut round, now) {}
        round.into_before()
    }

    pub fn begin_round(&mut self, sample: Arc<UsageSample>) -> UsageRound {
        let before = std::mem::replace(&mut self.sample, sample);
        let left = self.nodes.keys().cloned().collect();
        UsageRound { left, before }
    }

    /// Applies the round to the next nodes; false once all are done.
    pub fn go_on(&mut self, round: &mut UsageRound, now: Timestamp) -> bool {
        let batch = round.left.len().saturating_sub(BATCH);
        for name in round.left.drain(batch..) {
            self.adopt_measurements(&name, now);
            self.recount(&name, now);
            self.resolve(&name, now);
        }
        if !round.left.is_empty() {
            return true;
        }
        let nodes = &self.nodes;
        self.ended.retain(|name, node| {
            nodes
                .get(node)
                .is_some_and(|node| node.remembers_ended(name))
        });
        self.look_ahead(now);
        false
    }

    pub(super) fn adopt_measurements(&mut self, name: &Arc<str>, now: Timestamp) {
        let Some(node) = self.nodes.get_mut(name) else {
            return;
        };
        let mut measured = self.sample.node(name);
        let rated = self.sample.rated_network.get(&**name).copied();
        match self.sample.network_capacity.get(&**name) {
            Some(capacity) => {
                node.network_speed = Some(NetworkSpeed {
                    capacity: *capacity,
                    is_rated: rated.is_some(),
                });
                // The use of the same interfaces as the capacity, unless a capacity of all is
                // declared.
                if let Some(rated) = rated.filter(|_| !node.declares_network_capacity()) {
                    measured[Resource::NetworkIo] = Some(rated);
                }
            }
            None => node.keep_network_pair(&mut measured, &self.settings, now),
        }
        node.measure(&measured, &self.settings, now);
        node.measure_io_pressure(self.sample.io_pressure.get(&**name).copied(), now);
    }

    /// Counts Pods in flight and ended Pods against a new measurement.
    pub(super) fn recount(&mut self, name: &Arc<str>, now: Timestamp) {
        let moment = CountingContext {
            sample: &self.sample,
            settings: &self.settings,
            now,
        };
        let Some(node) = self.nodes.get_mut(name) else {
            return;
        };
        for uid in node.begin_recount(&moment) {
            if let Some(pod) = self.pods.get_mut(&uid) {
                node.count(&uid, pod, &moment);
            }
        }
    }
}
