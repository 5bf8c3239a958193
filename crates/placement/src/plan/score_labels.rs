//! The changes of score labels: one patch a node, changes of headroom first, then the largest. The
//! labels that a node has are the memory of the last level, so another leader goes on from them. A
//! node that is no longer measured keeps its labels: without them it would count as the best.

mod level_planner;

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use evenkeel_objects::annotations::SCORE_LABEL_PREFIX;
use evenkeel_objects::node::Node;
use serde_json::{Value, json};

use crate::score_labels::{ExactLevel, ScoreLevel, Shape};

pub use level_planner::{LevelInputs, LevelPlanner};

/// The most nodes that are patched in a second.
pub const PATCHES_PER_SECOND: usize = 50;

/// Of so many patches, one is left for a node whose levels stay, and that only gets or loses shapes.
/// The others go to nodes whose levels have changed, if there are enough of them.
const ONE_FOR_SHAPES_OF: usize = 5;

/// A node with its score labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledNode {
    pub name: Arc<str>,
    /// The values by label key.
    pub labels: BTreeMap<Box<str>, Box<str>>,
}

impl LabelledNode {
    pub fn of(node: &Node) -> Self {
        let own = node
            .labels
            .iter()
            .filter(|(key, _)| key.starts_with(SCORE_LABEL_PREFIX));
        Self {
            name: node.name().into(),
            labels: own
                .map(|(key, value)| (key.as_str().into(), value.as_str().into()))
                .collect(),
        }
    }

    /// The level that this node's label is to have, given its level of the shape now; `None` without
    /// a label. Without a fresh measurement no level is raised, and a shape that is new on the node
    /// is at most as good as the worst of the others. A node without score labels then gets none.
    fn next_level(&self, key: &str, exact: Option<&ExactLevel>) -> Option<ScoreLevel> {
        let value = self.labels.get(key);
        let before = value.and_then(|value| ScoreLevel::of_value(value));
        match exact {
            None => before,
            Some(exact) if exact.is_measured => Some(ScoreLevel::next(before, exact.value)),
            Some(exact) => {
                let values = self.labels.values();
                let worst = values.filter_map(|value| ScoreLevel::of_value(value)).min();
                let most = before.or(worst)?;
                Some(ScoreLevel::next(Some(most), exact.value).min(most))
            }
        }
    }
}

/// The exact levels of the kept shapes, 0 to 4, by label key and node.
#[derive(Debug, Clone, Default)]
pub struct ShapeLevels(BTreeMap<Box<str>, HashMap<Arc<str>, ExactLevel>>);

impl ShapeLevels {
    /// Takes the newest levels of a shape.
    fn set(&mut self, shape: &Shape, levels: Vec<(Arc<str>, ExactLevel)>) {
        let key = shape.label().into_boxed_str();
        self.0.insert(key, levels.into_iter().collect());
    }

    /// Forgets all shapes but these.
    fn retain(&mut self, keep: impl Fn(&Shape) -> bool) {
        self.0
            .retain(|key, _| Shape::of_label(key).is_some_and(|shape| keep(&shape)));
    }

    /// The number of shapes.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn has(&self, shape: &Shape) -> bool {
        self.0.contains_key(shape.label().as_str())
    }
}

/// A change of one node's score labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScoreLabelChange {
    pub node: Arc<str>,
    /// The new level by label key; `None` to remove the label.
    pub labels: BTreeMap<Box<str>, Option<ScoreLevel>>,
    /// Of the labels that the node has and keeps.
    moved: ChangeSize,
    /// Of the labels that it gets or loses.
    replaced: ChangeSize,
}

/// Added to the size of a change to or from level 0, so that it precedes every other change.
const HEADROOM_CHANGE: u8 = 4;

/// The largest change of a level, and the sum of all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
struct ChangeSize(u8, u32);

impl ScoreLabelChange {
    fn none(node: &LabelledNode) -> Self {
        Self {
            node: Arc::clone(&node.name),
            labels: BTreeMap::new(),
            moved: ChangeSize::default(),
            replaced: ChangeSize::default(),
        }
    }

    /// A missing label counts as the best level. So the best node loses a label first: otherwise
    /// the worst ones would count as the best meanwhile.
    fn add(&mut self, key: &str, before: Option<ScoreLevel>, after: Option<ScoreLevel>) {
        let size = match before.and(after) {
            Some(_) => &mut self.moved,
            None => &mut self.replaced,
        };
        let best = ScoreLevel::BEST;
        let change = if let (Some(before), None) = (before, after) {
            before.get()
        } else {
            let [before, after] = [before, after].map(|level| level.unwrap_or(best));
            let changes_headroom = (before == ScoreLevel::WORST) != (after == ScoreLevel::WORST);
            let more = if changes_headroom { HEADROOM_CHANGE } else { 0 };
            before.get().abs_diff(after.get()) + more
        };
        size.0 = size.0.max(change);
        size.1 += u32::from(change);
        self.labels.insert(key.into(), after);
    }

    /// The merge patch of the node.
    pub fn to_patch(&self) -> Value {
        let value = |level: &Option<ScoreLevel>| {
            level.map_or(Value::Null, |level| Value::from(level.value()))
        };
        let labels: serde_json::Map<String, Value> = self
            .labels
            .iter()
            .map(|(key, level)| (key.to_string(), value(level)))
            .collect();
        json!({"metadata": {"labels": labels}})
    }
}

/// The changes that bring the labels in line with the levels, the largest first. Labels of other
/// shapes are removed. Every fifth change is one of shapes alone, so that changed levels do not wait
/// until all nodes have a new shape's label, nor new shapes for levels that change all the time.
fn changes<'a>(
    nodes: impl IntoIterator<Item = &'a LabelledNode>,
    levels: &ShapeLevels,
) -> Vec<ScoreLabelChange> {
    let change = |node: &LabelledNode| {
        let mut change = ScoreLabelChange::none(node);
        for (key, value) in &node.labels {
            if !levels.0.contains_key(key) {
                change.add(key, ScoreLevel::of_value(value), None);
            }
        }
        for (key, levels) in &levels.0 {
            let value = node.labels.get(key);
            let before = value.and_then(|value| ScoreLevel::of_value(value));
            let next = node.next_level(key, levels.get(&node.name));
            let is_damaged = value.is_some() && before.is_none();
            if before != next || is_damaged {
                change.add(key, before, next);
            }
        }
        (!change.labels.is_empty()).then_some(change)
    };
    let changes = nodes.into_iter().filter_map(change);
    let (moved, replaced): (Vec<_>, Vec<_>) =
        changes.partition(|change| change.moved != ChangeSize::default());
    interleaved(sorted(moved), sorted(replaced))
}

fn sorted(mut changes: Vec<ScoreLabelChange>) -> Vec<ScoreLabelChange> {
    changes.sort_by(|a, b| {
        let size = |change: &ScoreLabelChange| Reverse((change.moved, change.replaced));
        (size(a), &a.node).cmp(&(size(b), &b.node))
    });
    changes
}

/// Both in their order: one of `replaced` after some of `moved`, while there are any.
fn interleaved(
    moved: Vec<ScoreLabelChange>,
    replaced: Vec<ScoreLabelChange>,
) -> Vec<ScoreLabelChange> {
    let all = moved.len() + replaced.len();
    let (mut moved, mut replaced) = (moved.into_iter(), replaced.into_iter());
    let mut changes = Vec::with_capacity(all);
    while changes.len() < all {
        changes.extend(moved.by_ref().take(ONE_FOR_SHAPES_OF - 1));
        changes.extend(replaced.next());
    }
    changes
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "score.evenkeel.dev/normal-c1";

    fn node(name: &str, labels: &[(&str, &str)]) -> LabelledNode {
        LabelledNode {
            name: name.into(),
            labels: labels
                .iter()
                .map(|(key, value)| ((*key).into(), (*value).into()))
                .collect(),
        }
    }

    fn levels(of: &[(&str, f64)]) -> ShapeLevels {
        levels_by(of, true)
    }

    fn levels_by(of: &[(&str, f64)], is_measured: bool) -> ShapeLevels {
        let mut levels = ShapeLevels::default();
        let exact = |value| ExactLevel { value, is_measured };
        let of = of
            .iter()
            .map(|(name, value)| ((*name).into(), exact(*value)))
            .collect();
        levels.set(&Shape::of_label(KEY).unwrap(), of);
        levels
    }

    fn patches(nodes: &[LabelledNode], levels: &ShapeLevels) -> Vec<(String, Value)> {
        let patch = |change: &ScoreLabelChange| {
            let patch = change.to_patch();
            (change.node.to_string(), patch["metadata"]["labels"].clone())
        };
        changes(nodes, levels).iter().map(patch).collect()
    }

    #[test]
    fn each_node_gets_one_patch_and_the_largest_change_comes_first() {
        let nodes = [
            node("best", &[]),
            node("moved", &[(KEY, "4")]),
            node("same", &[(KEY, "3")]),
            node("stale", &[(KEY, "3"), ("score.evenkeel.dev/io-d1", "1")]),
            node("strange", &[(KEY, "hot")]),
            node("unmeasured", &[(KEY, "3")]),
        ];
        let levels = levels(&[
            ("best", 4.0),
            ("moved", 0.0),
            ("same", 3.4),
            ("stale", 1.2),
            ("strange", 2.0),
        ]);
        let expected = [
            ("moved", json!({KEY: "0"})),
            ("stale", json!({KEY: "1", "score.evenkeel.dev/io-d1": null})),
            ("strange", json!({KEY: "2"})),
            ("best", json!({KEY: "4"})),
        ];
        let expected = expected.map(|(name, labels)| (name.to_owned(), labels));
        assert_eq!(patches(&nodes, &levels), expected);
    }

    #[test]
    fn without_a_measurement_no_level_is_raised() {
        const OTHER: &str = "score.evenkeel.dev/io-d1";
        let names = ["a", "b", "c", "d", "e"];
        let nodes = [
            node("a", &[(KEY, "1")]),
            node("b", &[(KEY, "3")]),
            // The shape is new on these.
            node("c", &[(OTHER, "1")]),
            node("d", &[(KEY, "hot"), (OTHER, "2")]),
            node("e", &[]),
        ];
        for (exact, expected) in [
            (4.0, ["", "", "1", "2", ""]),
            (0.4, ["", "0", "1", "0", ""]),
        ] {
            let levels = levels_by(&names.map(|name| (name, exact)), false);
            let found: BTreeMap<String, Value> = patches(&nodes, &levels).into_iter().collect();
            let found = names.map(|name| found.get(name).map(|labels| labels[KEY].clone()));
            let expected = expected.map(|level| (!level.is_empty()).then(|| json!(level)));
            assert_eq!(found, expected, "{exact}");
        }
    }

    #[test]
    fn new_shapes_leave_room_for_changed_levels() {
        let name = |number: usize| format!("{number:03}");
        let nodes: Vec<LabelledNode> = (0..100)
            .map(|number| match number {
                0..60 => node(&name(number), &[(KEY, "4")]),
                _ => node(&name(number), &[]),
            })
            .collect();
        // The nodes without a label change by more.
        let exact = |number| if number < 60 { 3.0 } else { 0.0 };
        let of: Vec<(String, f64)> = (0..100)
            .map(|number| (name(number), exact(number)))
            .collect();
        let of: Vec<(&str, f64)> = of
            .iter()
            .map(|(name, exact)| (name.as_str(), *exact))
            .collect();
        let found = changes(&nodes, &levels(&of));
        let moved = |some: &[ScoreLabelChange]| {
            let is_moved = |change: &&ScoreLabelChange| change.moved != ChangeSize::default();
            some.iter().filter(is_moved).count()
        };
        assert_eq!(found.len(), 100);
        assert_eq!(moved(&found[..PATCHES_PER_SECOND]), 40);
        assert_eq!(moved(&found), 60);
    }

    /// The harm: while a shape lost its labels, the hottest nodes lost them first and counted as the best.
    #[test]
    fn the_best_nodes_lose_a_label_first() {
        let nodes = [("a", "0"), ("b", "4"), ("c", "2"), ("d", "3")];
        let nodes = nodes.map(|(name, level)| node(name, &[(KEY, level)]));
        let found = patches(&nodes, &ShapeLevels::default());
        let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["b", "d", "c", "a"]);
    }

    #[test]
    fn without_shapes_all_labels_go() {
        let nodes = [
            node("a", &[(KEY, "0"), ("score.evenkeel.dev/?", "")]),
            node("b", &[]),
        ];
        let expected = json!({KEY: null, "score.evenkeel.dev/?": null});
        let found = patches(&nodes, &ShapeLevels::default());
        assert_eq!(found, [("a".to_owned(), expected)]);
    }

    #[test]
    fn only_score_labels_are_read() {
        let node = json!({"metadata": {"name": "a", "labels": {
            KEY: "2", "evenkeel.dev/enabled": "true", "score.evenkeel.device/x": "1"}}});
        let node: Node = serde_json::from_value(node).unwrap();
        let read = LabelledNode::of(&node);
        assert_eq!(
            read.labels.into_iter().collect::<Vec<_>>(),
            [(KEY.into(), "2".into())]
        );
    }

    #[test]
    fn forgotten_shapes_have_no_levels() {
        let mut levels = levels(&[("a", 1.0)]);
        let shape = Shape::of_label(KEY).unwrap();
        assert!(levels.has(&shape));
        levels.retain(|other| *other != shape);
        assert!(!levels.has(&shape));
    }

    proptest! {
        #[test]
        fn applied_changes_leave_none(
            exact in prop::collection::vec(0.0..=4.0, 1..30), before in prop::collection::vec(0_usize..6, 30)
        ) {
            let names: Vec<String> = (0..exact.len()).map(|at| at.to_string()).collect();
            let mut nodes: Vec<LabelledNode> = names.iter().zip(before).map(|(name, before)| {
                let value = ScoreLevel::VALUES.get(before);
                let labels: Vec<_> = value.map(|value| (KEY, *value)).into_iter().collect();
                node(name, &labels)
            }).collect();
            let of: Vec<_> = names.iter().map(String::as_str).zip(exact.iter().copied()).collect();
            let levels = levels(&of);
            let found = changes(&nodes, &levels);
            let (moved, replaced): (Vec<_>, Vec<_>) =
                found.iter().partition(|change| change.moved != ChangeSize::default());
            for some in [moved, replaced] {
                prop_assert!(some.is_sorted_by_key(|change| Reverse((change.moved, change.replaced))));
            }
            for change in found {
                let node = nodes.iter_mut().find(|node| node.name == change.node).unwrap();
                for (key, level) in change.labels {
                    let level = level.unwrap();
                    node.labels.insert(key, level.value().into());
                }
            }
            prop_assert_eq!(changes(&nodes, &levels), []);
        }
    }
}
