//! Score labels on nodes, by the leader. Each second it looks which shapes are in use, computes
//! their levels where measurements or Pods have changed, and patches the nodes with the largest
//! changes. The labels on the nodes are its memory, so a new leader goes on from them.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::{Purpose, Write, WriteOperation};
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::plan::score_labels::{LevelPlanner, PATCHES_PER_SECOND, ScoreLabelChange};
use evenkeel_placement::score_labels::Shape;
use jiff::{SignedDuration, Timestamp};

use super::metrics::ControllerMetrics;
use super::switch::Writes;
use crate::cluster::{ClusterState, LabelPlanView};

/// A patch is not asked for again within this time; the watch shows it earlier.
const ASKED: SignedDuration = SignedDuration::from_secs(5);

/// The leader's memory between two rounds.
#[derive(Debug, Default)]
pub(super) struct ScoreLabelMemory {
    planner: LevelPlanner,
    asked: HashMap<Arc<str>, (ScoreLabelChange, Timestamp)>,
    /// The time of the first plan of this leader.
    since: Option<Timestamp>,
}

/// The parts of the leader that the plan of score labels uses.
pub(super) struct ScoreLabelRounds {
    pub(super) cluster: ClusterState,
    pub(super) policy: Arc<SchedulingPolicy>,
    pub(super) metrics: ControllerMetrics,
}

impl ScoreLabelRounds {
    /// The patches of this second. Without score labels in the configuration, those that remove
    /// what is left of them.
    pub(super) fn plan(&self, memory: &mut ScoreLabelMemory, now: Timestamp) -> Vec<Write> {
        let view = self.cluster.take_label_plan();
        if self.policy.score_labels.is_some() {
            let labelled = self.configured(&view.labelled);
            memory.planner.choose(&view.inputs, &labelled, now);
            if self.waits(memory, &view, now) {
                return Vec::new();
            }
            let snapshot = self.cluster.snapshot();
            let (planner, inputs) = (&mut memory.planner, &view.inputs);
            planner.compute(inputs, &snapshot.nodes, &self.policy, now);
        }
        let changes = memory.planner.changes(view.nodes.iter().map(AsRef::as_ref));
        let outstanding = changes.len();
        memory
            .asked
            .retain(|_, (_, at)| now.duration_since(*at) < ASKED);
        let is_asked = |change: &ScoreLabelChange| {
            let asked = memory.asked.get(&change.node);
            asked.is_some_and(|(asked, _)| asked == change)
        };
        let chosen: Vec<ScoreLabelChange> = changes
            .into_iter()
            .filter(|change| !is_asked(change))
            .take(PATCHES_PER_SECOND)
            .collect();
        let labels = chosen.iter().map(|change| change.labels.len()).sum();
        self.metrics
            .score_labels(memory.planner.levels().len(), labels, outstanding);
        let writes = chosen
            .iter()
            .map(|change| write(change, Purpose::ScoreLabel));
        let writes = writes.collect();
        let asked = chosen.into_iter();
        let asked = asked.map(|change| (Arc::clone(&change.node), (change, now)));
        memory.asked.extend(asked);
        writes
    }

    /// True for a leader that has just started and has no measurement yet: the labels on the nodes
    /// are better than those that it could write.
    fn waits(&self, memory: &mut ScoreLabelMemory, view: &LabelPlanView, now: Timestamp) -> bool {
        let since = *memory.since.get_or_insert(now);
        view.inputs.rounds == 0 && now.duration_since(since) < self.policy.max_age
    }

    /// The shapes with a profile that is configured.
    fn configured(&self, shapes: &BTreeSet<Shape>) -> BTreeSet<Shape> {
        let is_configured = |shape: &&Shape| self.policy.profiles.get(shape.profile()).is_some();
        shapes.iter().filter(is_configured).cloned().collect()
    }
}

/// The writes that remove score labels under `writes: restore`, some each second. They are others
/// each second, because a node with a write that failed rests for a while.
pub(super) fn restored(writes: Writes, cluster: &ClusterState, now: Timestamp) -> Vec<Write> {
    if writes != Writes::Restore {
        return Vec::new();
    }
    let view = cluster.take_label_plan();
    let nodes = view.nodes.iter().map(AsRef::as_ref);
    let mut changes = LevelPlanner::default().changes(nodes);
    let turn = usize::try_from(now.as_second()).unwrap_or_default();
    let first = turn.wrapping_mul(PATCHES_PER_SECOND) % changes.len().max(1);
    changes.rotate_left(first);
    let changes = changes.iter().take(PATCHES_PER_SECOND);
    changes
        .map(|change| write(change, Purpose::Restore))
        .collect()
}

/// No version is named: kubelet changes a node all the time, and the next plan corrects a label that
/// another program wrote.
fn write(change: &ScoreLabelChange, purpose: Purpose) -> Write {
    let target = ObjectRef::of_cluster(Kind::Node, &*change.node);
    Write::new(purpose, target, WriteOperation::Merge(change.to_patch()))
}

#[cfg(test)]
mod tests;
