//! Taints on overloaded nodes, by the leader. Every replica watches the measurements, so that a new
//! leader has the same samples in a row. Only the leader plans, and it reads the existing taints
//! off the nodes. It removes taints from other settings, and all taints under `writes: restore`.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_objects::plan::{Purpose, Write};
use evenkeel_placement::node_table::NodeSet;
use evenkeel_placement::overload::{Overload, Settings as Judging, TaintCandidate};
use evenkeel_placement::plan::overload::{
    OverloadContext, PendingTaintChanges, Settings, TaintedNode, clear,
};
use jiff::Timestamp;

use super::switch::Writes;

/// The samples of all nodes, which the rounds of measurements feed; clones share them.
#[derive(Debug, Clone)]
pub struct OverloadWatch {
    settings: Settings,
    overload: Arc<Mutex<Overload>>,
}

impl OverloadWatch {
    /// Nothing measured yet; samples that are older than `max_age` make no verdict.
    pub fn new(settings: Settings, max_age: jiff::SignedDuration, now: Timestamp) -> Self {
        let judging = Judging {
            disk: settings.disk,
            max_age,
        };
        Self {
            settings,
            overload: Arc::new(Mutex::new(Overload::new(judging, now))),
        }
    }

    /// Takes the newest measurements of the nodes, where nodes are tainted at all.
    pub fn observe(&self, nodes: &NodeSet, now: Timestamp) {
        if self.settings.effect.is_some() {
            self.locked().observe(nodes, now);
        }
    }

    /// The writes that bring the nodes' taints in line, and tell of those that are.
    pub(super) fn plan(
        &self,
        tainting: &mut PendingTaintChanges,
        nodes: &[Arc<TaintedNode>],
        reporter: &str,
        now: Timestamp,
    ) -> Vec<Write> {
        let candidates: Vec<TaintCandidate<'_>> =
            nodes.iter().map(|node| node.candidate()).collect();
        let verdicts = match self.settings.effect {
            Some(_) => self.locked().decide(&candidates, now),
            None => Vec::new(),
        };
        let context = OverloadContext {
            settings: &self.settings,
            reporter,
            now,
        };
        tainting.plan(nodes, &verdicts, &context)
    }

    /// The samples, which a panic while they were locked leaves whole: each round replaces them.
    fn locked(&self) -> MutexGuard<'_, Overload> {
        self.overload.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The writes that remove all taints under `writes: restore`.
pub(super) fn restored(writes: Writes, nodes: &[Arc<TaintedNode>]) -> Vec<Write> {
    match writes {
        Writes::Restore => clear(nodes, Purpose::Restore),
        Writes::Enabled | Writes::Disabled => Vec::new(),
    }
}
