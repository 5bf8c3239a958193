//! The nodes' score labels and the Pods' shapes, kept up to date with each event.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::node::Node;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::plan::score_labels::LabelledNode;
use evenkeel_placement::score_labels::{Shape, ShapeTotals};
use evenkeel_units::{Amount, Resources};
use foldhash::fast::RandomState;
use jiff::Timestamp;

use crate::cluster::owners::Owner;

type ScoreMap<K, V> = HashMap<K, V, RandomState>;

#[derive(Debug, Default)]
pub(super) struct ScoreLabelState {
    is_on: bool,
    /// All nodes if score labels are on, else those that still have some.
    pub(super) nodes: ScoreMap<Arc<str>, Arc<LabelledNode>>,
    /// Nodes by the key of each score label.
    keys: BTreeMap<Box<str>, usize>,
    /// The shapes that more than one node has labels of; in a cluster of one node, that one.
    pub(super) labelled: Arc<BTreeSet<Shape>>,
    pods: ScoreMap<Box<str>, ShapedPod>,
    /// Bound Pods by namespace and shape. A shape stays without Pods until the next plan, so that
    /// Pods that live for less than a second count as its use.
    pub(super) shapes: BTreeMap<Box<str>, BTreeMap<Shape, ShapeTotals>>,
    pub(super) controllers: ScoreMap<ControllerKey, ControllerShape>,
    /// The shapes of Pods that were bound since the last plan.
    pub(super) bound: BTreeSet<Shape>,
    /// A plan was made since the last round.
    pub(super) has_planned: bool,
    /// Measurement rounds until now.
    pub(super) rounds: u64,
    /// The free capacity of the median node, if it was computed since the last round.
    free: Option<Resources<Option<Amount>>>,
}

/// The shape that a Pod counts under.
pub(super) struct CountedShape {
    pub(super) shape: Shape,
    /// In its terms, if it has some.
    pub(super) carried: Option<Shape>,
    pub(super) demand: Resources<Amount>,
}

#[derive(Debug)]
struct ShapedPod {
    namespace: Box<str>,
    controller: Option<ControllerKey>,
    shape: Shape,
    demand: Resources<Amount>,
    is_bound: bool,
}

#[derive(Debug)]
pub(super) struct ControllerShape {
    pods: usize,
    /// As the API server has shown it in a Pod.
    pub(super) owner: Owner,
    /// In the terms of its newest Pod, with the time of that Pod's creation.
    carried: Option<(Option<Timestamp>, Shape)>,
}

impl ControllerShape {
    pub(super) fn carried(&self) -> Option<&Shape> {
        self.carried.as_ref().map(|(_, shape)| shape)
    }

    fn carry(&mut self, created: Option<Timestamp>, carried: Option<Shape>) {
        let is_newest = self.carried.as_ref().is_none_or(|(at, _)| created >= *at);
        if let Some(carried) = carried.filter(|_| is_newest) {
            self.carried = Some((created, carried));
        }
    }
}

impl ScoreLabelState {
    pub(super) fn new(is_on: bool) -> Self {
        Self {
            is_on,
            ..Self::default()
        }
    }

    pub(super) fn apply_node(&mut self, node: &Node) {
        let seen = LabelledNode::of(node);
        let known = self.nodes.get(&seen.name);
        if known.is_some_and(|known| **known == seen) {
            return;
        }
        let before = self.nodes.remove(&seen.name);
        if before.is_none() {
            self.free = None;
        }
        let is_kept = self.is_on || !seen.labels.is_empty();
        let after = is_kept.then(|| Arc::new(seen));
        self.count(before.as_deref(), after.as_deref());
        if let Some(after) = after {
            self.nodes.insert(Arc::clone(&after.name), after);
        }
        self.update_labelled();
    }

    pub(super) fn remove_node(&mut self, name: &str) {
        let Some(before) = self.nodes.remove(name) else {
            return;
        };
        self.count(Some(&*before), None);
        self.free = None;
        self.update_labelled();
    }

    pub(super) fn retain_nodes(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<Arc<str>> = self
            .nodes
            .keys()
            .filter(|name| !keep(name))
            .cloned()
            .collect();
        for name in gone {
            let before = self.nodes.remove(&name);
            self.count(before.as_deref(), None);
            self.free = None;
        }
        self.update_labelled();
    }

    fn count(&mut self, before: Option<&LabelledNode>, after: Option<&LabelledNode>) {
        for key in after.iter().flat_map(|node| node.labels.keys()) {
            *self.keys.entry(key.clone()).or_default() += 1;
        }
        for key in before.iter().flat_map(|node| node.labels.keys()) {
            if let Some(nodes) = self.keys.get_mut(key) {
                *nodes -= 1;
                if *nodes == 0 {
                    self.keys.remove(key);
                }
            }
        }
    }

    /// A kubelet may label its own node, so a label on a single node says nothing.
    fn update_labelled(&mut self) {
        let enough = self.nodes.len().min(2);
        let keys = self.keys.iter().filter(|(_, nodes)| **nodes >= enough);
        let shapes: BTreeSet<Shape> = keys.filter_map(|(key, _)| Shape::of_label(key)).collect();
        if *self.labelled != shapes {
            self.labelled = Arc::new(shapes);
        }
    }

    pub(super) fn apply_pod(&mut self, pod: &Pod, counted: CountedShape) {
        let CountedShape {
            shape,
            carried,
            demand,
        } = counted;
        let is_bound = pod.spec.node_name.is_some();
        let known = self.pods.get(pod.uid());
        let is_same = |known: &ShapedPod| {
            known.shape == shape && known.demand == demand && known.is_bound == is_bound
        };
        if known.is_some_and(is_same) {
            return;
        }
        let before = self.pods.remove(pod.uid());
        if is_bound && !before.as_ref().is_some_and(|before| before.is_bound) {
            self.bound.insert(shape.clone());
        }
        if let Some(before) = &before {
            self.uncount(before);
        }
        let controller = match before {
            Some(before) => before.controller,
            None => self.join_controller(pod, carried),
        };
        if is_bound {
            let pods = self.shapes.entry(pod.namespace().into()).or_default();
            pods.entry(shape.clone()).or_default().add(&demand);
        }
        let shaped = ShapedPod {
            namespace: pod.namespace().into(),
            controller,
            shape,
            demand,
            is_bound,
        };
        self.pods.insert(pod.uid().into(), shaped);
    }

    /// Counts a Pod that was not known until now for its controller.
    fn join_controller(&mut self, pod: &Pod, carried: Option<Shape>) -> Option<ControllerKey> {
        let reference = pod.metadata.controller()?;
        let key = ControllerKey::of_reference(pod.namespace(), reference)?;
        let new = || ControllerShape {
            pods: 0,
            owner: reference.into(),
            carried: None,
        };
        let known = self.controllers.entry(key.clone()).or_insert_with(new);
        known.pods += 1;
        known.carry(pod.metadata.creation_timestamp, carried);
        Some(key)
    }

    pub(super) fn remove_pod(&mut self, uid: &str) {
        let Some(removed) = self.pods.remove(uid) else {
            return;
        };
        self.uncount(&removed);
        let Some(controller) = removed.controller else {
            return;
        };
        if let Some(known) = self.controllers.get_mut(&controller) {
            known.pods -= 1;
            if known.pods == 0 {
                self.controllers.remove(&controller);
            }
        }
    }

    fn uncount(&mut self, pod: &ShapedPod) {
        if !pod.is_bound {
            return;
        }
        let shapes = self.shapes.get_mut(&pod.namespace);
        if let Some(pods) = shapes.and_then(|shapes| shapes.get_mut(&pod.shape)) {
            pods.remove(&pod.demand);
        }
    }

    /// Forgets the shapes without Pods.
    pub(super) fn forget_unused(&mut self) {
        self.shapes.retain(|_, shapes| {
            shapes.retain(|_, pods| pods.count > 0);
            !shapes.is_empty()
        });
    }

    pub(super) fn retain_pods(&mut self, keep: impl Fn(&str) -> bool) {
        let gone: Vec<Box<str>> = self.pods.keys().filter(|uid| !keep(uid)).cloned().collect();
        for uid in gone {
            self.remove_pod(&uid);
        }
    }

    /// A round of measurements was taken. The leader then computes all levels, whatever was bound.
    pub(super) fn measured(&mut self) {
        self.rounds += 1;
        self.bound.clear();
        // Replicas that do not lead make no plans.
        if !std::mem::take(&mut self.has_planned) {
            self.forget_unused();
        }
        self.free = None;
    }

    /// The free capacity of the median node. It is computed once for each round and each change of
    /// the set of nodes: Pods come far more often, and each changes the load of a node.
    pub(super) fn free(
        &mut self,
        compute: impl FnOnce() -> Resources<Option<Amount>>,
    ) -> Resources<Option<Amount>> {
        *self.free.get_or_insert_with(compute)
    }
}

#[cfg(test)]
mod tests {
    use jiff::SignedDuration;
    use serde_json::json;

    use super::*;

    fn shape(name: &str) -> Shape {
        Shape::named(name).unwrap()
    }

    fn see(state: &mut ScoreLabelState, name: &str, shapes: &[&str]) {
        let labels: BTreeMap<String, &str> = shapes
            .iter()
            .map(|shape| (format!("score.evenkeel.dev/{shape}"), "2"))
            .collect();
        let node = json!({"metadata": {"name": name, "labels": labels}});
        state.apply_node(&serde_json::from_value(node).unwrap());
    }

    #[test]
    fn a_label_on_a_single_node_counts_only_in_a_cluster_of_one() {
        let mut state = ScoreLabelState::new(true);
        let labelled = |state: &ScoreLabelState| -> Vec<String> {
            state.labelled.iter().map(ToString::to_string).collect()
        };
        see(&mut state, "a", &["io-d1", "normal-c1"]);
        assert_eq!(labelled(&state), ["io-d1", "normal-c1"]);
        see(&mut state, "b", &["normal-c1"]);
        assert_eq!(labelled(&state), ["normal-c1"]);
        see(&mut state, "c", &["io-d1"]);
        assert_eq!(labelled(&state), ["io-d1", "normal-c1"]);
        state.retain_nodes(|name| name != "a");
        assert_eq!(labelled(&state), Vec::<String>::new());
        state.retain_nodes(|name| name == "c");
        assert_eq!(labelled(&state), ["io-d1"]);
    }

    #[test]
    fn the_median_is_computed_once_a_round() {
        let mut state = ScoreLabelState::new(true);
        see(&mut state, "a", &[]);
        let free = |cpu| Resources::new([Some(Amount::new(cpu)); 5]);
        assert_eq!(state.free(|| free(1)), free(1));
        assert_eq!(state.free(|| free(2)), free(1));
        see(&mut state, "a", &["io-d1"]);
        assert_eq!(state.free(|| free(3)), free(1), "the nodes are the same");
        see(&mut state, "b", &[]);
        assert_eq!(state.free(|| free(4)), free(4));
        state.measured();
        assert_eq!(state.free(|| free(5)), free(5));
    }

    #[test]
    fn a_controller_carries_the_shape_of_its_newest_pod() {
        let mut state = ScoreLabelState::new(true);
        let key = ControllerKey::new("shop", "set");
        for (name, minutes, given, expected) in [
            ("a", 5, Some("normal-c1"), Some("normal-c1")),
            ("b", 3, Some("normal-c2"), Some("normal-c1")),
            ("c", 6, None, Some("normal-c1")),
            ("d", 7, Some("normal-c3"), Some("normal-c3")),
        ] {
            let created = Timestamp::UNIX_EPOCH + SignedDuration::from_mins(minutes);
            let pod = json!({"metadata": {"name": name, "namespace": "shop", "uid": name,
                "creationTimestamp": created.to_string(),
                "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web",
                    "uid": "set", "controller": true}]}});
            let counted = CountedShape {
                shape: shape("normal-c9"),
                carried: given.map(shape),
                demand: Resources::default(),
            };
            state.apply_pod(&serde_json::from_value(pod).unwrap(), counted);
            let carried = state.controllers[&key].carried().cloned();
            assert_eq!(carried, expected.map(shape), "{name}");
        }
        assert!(state.shapes.is_empty(), "none of them is bound");
        assert!(state.bound.is_empty());
    }
}
