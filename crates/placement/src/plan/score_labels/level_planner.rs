//! The leader's choice of the shapes with labels, and their levels, brought up to date each second.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};

use super::{LabelledNode, ScoreLabelChange, ShapeLevels, changes};
use crate::SchedulingPolicy;
use crate::node_table::NodeSet;
use crate::score_labels::{KeptShapes, ScorePools, Shape, ShapeTotals};

/// Without measurement rounds or new Pods, levels are computed anew after this time: measurements
/// grow stale by themselves.
const AT_MOST: SignedDuration = SignedDuration::from_secs(15);

/// The Pods and measurements that levels are computed by.
#[derive(Debug, Clone, Default)]
pub struct ShapesInUse {
    /// Bound Pods of namespaces that take part, by shape, each namespace with its share.
    pub counts: BTreeMap<Shape, usize>,
    /// The bound Pods of each shape without that limit. Levels are computed for their mean demand.
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

    /// Chooses the shapes. `labelled` has those with labels now.
    pub fn choose(&mut self, in_use: &ShapesInUse, labelled: &BTreeSet<Shape>, now: Timestamp) {
        self.shapes = self.kept.choose(&in_use.counts, labelled, now);
    }

    /// Brings the levels of the chosen shapes up to date.
    pub fn compute(
        &mut self,
        in_use: &ShapesInUse,
        nodes: &NodeSet,
        policy: &SchedulingPolicy,
        now: Timestamp,
    ) {
        let shapes = &self.shapes;
        self.levels.retain(|shape| shapes.contains(shape));
        let is_due = self.computed.is_none_or(|(rounds, at)| {
            rounds != in_use.rounds || now < at || now.duration_since(at) >= AT_MOST
        });
        if is_due {
            self.computed = Some((in_use.rounds, now));
        }
        let is_stale =
            |shape: &&Shape| is_due || in_use.bound.contains(*shape) || !self.levels.has(shape);
        let stale: Vec<&Shape> = shapes.iter().filter(is_stale).collect();
        if stale.is_empty() {
            return;
        }
        let pools = ScorePools::of(nodes);
        for shape in stale {
            let demand = in_use.totals.get(shape).and_then(ShapeTotals::mean_demand);
            let levels = pools.exact_levels(shape, demand, policy);
            self.levels.set(shape, levels);
        }
    }

    /// Forgets all levels, so that every label goes.
    pub fn clear(&mut self) {
        self.levels = ShapeLevels::default();
    }

    /// The changes of these nodes' labels, the largest first.
    pub fn changes<'a>(
        &self,
        nodes: impl IntoIterator<Item = &'a LabelledNode>,
    ) -> Vec<ScoreLabelChange> {
        changes(nodes, &self.levels)
    }
}
