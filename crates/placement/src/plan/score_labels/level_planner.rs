//! Chooses the shapes that get labels, and computes their levels. The leader does so once a second, as do
//! the simulation and the bench.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{LabelledNode, ScoreLabelChange, ShapeLevels, changes};
use crate::SchedulingPolicy;
use crate::node_table::NodeSet;
use crate::score_labels::{KeptShapes, ScorePools, Shape, ShapeTotals};

/// Without measurement rounds or new Pods, levels are computed anew after this time: measurements
/// grow stale by themselves.
const MAX_LEVEL_AGE: SignedDuration = SignedDuration::from_secs(15);

/// The Pods and measurements that levels are computed by.
#[derive(Debug, Clone, Default)]
pub struct LevelInputs {
    /// Bound Pods by shape. Each namespace counts with its largest shapes
    /// ([`shared_counts`](crate::score_labels::shared_counts)).
    pub counts: BTreeMap<Shape, usize>,
    /// All bound Pods by shape. Levels are computed for their mean demand.
    pub totals: BTreeMap<Shape, ShapeTotals>,
    /// The shapes of Pods that were bound since the last turn.
    pub bound: BTreeSet<Shape>,
    /// Measurement rounds until now.
    pub rounds: u64,
}

/// The leader's memory between two turns.
#[derive(Debug, Default)]
pub struct LevelPlanner {
    kept: KeptShapes,
    shapes: BTreeSet<Shape>,
    levels: ShapeLevels,
    /// The measurement round and the time of the last computation of all levels.
    computed: Option<(u64, Timestamp)>,
}

impl LevelPlanner {
    /// The shapes that have labels, or get them.
    pub const fn shapes(&self) -> &BTreeSet<Shape> {
        &self.shapes
    }

    /// The levels as they were computed last.
    pub const fn levels(&self) -> &ShapeLevels {
        &self.levels
    }

    /// Chooses the shapes; `labelled` are the shapes that nodes have labels of now.
    pub fn choose(&mut self, inputs: &LevelInputs, labelled: &BTreeSet<Shape>, now: Timestamp) {
        self.shapes = self.kept.choose(&inputs.counts, labelled, now);
    }

    /// Brings the levels of the chosen shapes up to date.
    pub fn compute(
        &mut self,
        inputs: &LevelInputs,
        nodes: &NodeSet,
        policy: &SchedulingPolicy,
        now: Timestamp,
    ) {
        let shapes = &self.shapes;
        self.levels.retain(|shape| shapes.contains(shape));
        let is_due = self.computed.is_none_or(|(rounds, at)| {
            rounds != inputs.rounds || now < at || now.duration_since(at) >= MAX_LEVEL_AGE
        });
        if is_due {
            self.computed = Some((inputs.rounds, now));
        }
        let is_stale =
            |shape: &&Shape| is_due || inputs.bound.contains(*shape) || !self.levels.has(shape);
        let stale: Vec<&Shape> = shapes.iter().filter(is_stale).collect();
        if stale.is_empty() {
            return;
        }
        let pools = ScorePools::of(nodes);
        for shape in stale {
            let demand = inputs.totals.get(shape).and_then(ShapeTotals::mean_demand);
            let levels = pools.exact_levels(shape, demand, policy);
            self.levels.set(shape, levels);
        }
    }

    /// The changes of these nodes' labels, the largest first. Without levels, all labels go.
    pub fn changes<'a>(
        &self,
        nodes: impl IntoIterator<Item = &'a LabelledNode>,
    ) -> Vec<ScoreLabelChange> {
        changes(nodes, &self.levels)
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_objects::node_facts::NodeFacts;

    use super::*;
    use crate::node_table::{NodeTable, Settings};

    #[test]
    fn levels_are_computed_anew_after_a_round_and_otherwise_after_fifteen_seconds() {
        let at = |seconds| Timestamp::UNIX_EPOCH + SignedDuration::from_secs(seconds);
        let mut table = NodeTable::new(Settings::default());
        let facts = NodeFacts {
            schedulable: true,
            ..NodeFacts::default()
        };
        table.apply_node("n1", facts, at(0));
        let shape = Shape::named("normal-c1").unwrap();
        let mut inputs = LevelInputs {
            counts: [(shape.clone(), 1)].into(),
            ..LevelInputs::default()
        };
        let mut planner = LevelPlanner::default();
        let mut nodes_with_levels = |inputs: &LevelInputs, nodes: &NodeSet, seconds| {
            planner.choose(inputs, &BTreeSet::new(), at(seconds));
            planner.compute(inputs, nodes, &crate::policy::shipped(), at(seconds));
            let levels = planner.levels.0.values();
            levels.map(std::collections::HashMap::len).sum::<usize>()
        };
        let (one, none) = (table.nodes().clone(), NodeSet::default());
        assert_eq!(nodes_with_levels(&inputs, &one, 0), 1);
        assert_eq!(nodes_with_levels(&inputs, &none, 14), 1);
        assert_eq!(nodes_with_levels(&inputs, &none, 15), 0);
        assert_eq!(nodes_with_levels(&inputs, &one, 16), 0);
        inputs.rounds = 1;
        assert_eq!(nodes_with_levels(&inputs, &one, 17), 1);
        inputs.bound.insert(shape);
        assert_eq!(nodes_with_levels(&inputs, &none, 18), 0);
    }
}
