//! The nodes' score labels and the Pods' shapes, as admission reads them and the leader plans by
//! them. Every replica keeps both, so that admission gives the same terms everywhere.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::admission::ScoreTermInputs;
use evenkeel_placement::demand::Demand;
use evenkeel_placement::plan::score_labels::{LabelledNode, LevelInputs};
use evenkeel_placement::score_labels::pod_shape::{ShapeContext, steady_shape};
use evenkeel_placement::score_labels::shape_totals::merge_namespaces;
use evenkeel_placement::score_labels::terms::carried_shape;
use evenkeel_placement::score_labels::{Shape, ShapeTotals, shared_counts};
use evenkeel_units::{Amount, Resources};

use super::ClusterState;
use super::placement_state::PlacementState;
use super::score_label_state::CountedShape;
use crate::cluster::autoscaling::WorkloadKey;

/// The state that the leader plans score labels by.
#[derive(Debug)]
pub(crate) struct LabelPlanView {
    pub(crate) nodes: Vec<Arc<LabelledNode>>,
    pub(crate) labelled: Arc<BTreeSet<Shape>>,
    pub(crate) inputs: LevelInputs,
}

impl PlacementState {
    /// Takes the shape of a Pod with this demand, unless score labels are off.
    pub(super) fn apply_score_pod(&mut self, pod: &Pod, demand: &Demand) {
        let Some(policy) = self.shape_policy.as_deref() else {
            return;
        };
        let rules = policy.score_labels.as_ref();
        let takes_part = rules.is_some_and(|rules| rules.refusal_of_any(pod).is_none());
        if !takes_part || pod.is_skipped() || pod.is_finished() {
            self.scores.remove_pod(pod.uid());
            return;
        }
        let free = self.scores.free(|| self.table.nodes().median().free());
        let record = self.namespaces.get(pod.namespace());
        let no_policy = NamespacePolicy::default();
        let context = ShapeContext {
            nodes: self.table.nodes(),
            namespace: record.map_or(&no_policy, |record| &record.policy),
            policy,
        };
        let wanted = context.shape_for(demand, pod.annotated_profile(), || free);
        // The profile may be one of an earlier configuration, or invented by the Pod's author.
        let carried = carried_shape(&pod.spec.preferred_node_terms)
            .filter(|carried| policy.profiles.get(carried.profile()).is_some());
        let known = wanted.known;
        let shape = steady_shape(wanted, carried.as_ref(), pod.declared_profile());
        let counted = CountedShape {
            demand: shape.demand_within(&demand.assumed, &known),
            shape,
            carried,
        };
        self.scores.apply_pod(pod, counted);
    }

    /// The bound Pods by shape, of each namespace that takes part.
    fn shaped_pods(&self) -> impl Iterator<Item = &BTreeMap<Shape, ShapeTotals>> {
        let shapes = self.scores.shapes.iter();
        let taking_part = shapes.filter(|(namespace, _)| self.takes_score_terms(namespace));
        taking_part.map(|(_, shapes)| shapes)
    }

    fn takes_score_terms(&self, namespace: &str) -> bool {
        self.namespaces.get(namespace).is_some_and(|record| {
            record.policy.enabled && record.policy.score_labels != Some(false)
        })
    }
}

impl ClusterState {
    /// The state of the score labels for a new Pod of a namespace, if they are written.
    pub(crate) fn score_term_inputs(&self, namespace: &str, pod: &Pod) -> ScoreTermInputs {
        let mut view = ScoreTermInputs::default();
        let Some(controller) = pod.metadata.controller() else {
            return view;
        };
        let Some(key) = ControllerKey::of_reference(namespace, controller) else {
            return view;
        };
        let inner = self.lock();
        let known = inner.scores.controllers.get(&key);
        view.carried = known.and_then(|known| known.carried().cloned());
        // Any client may send a review. Few of them know the UID of a controller, and those may
        // write the name of another one beside it.
        let owner = inner.owners.workload(&key);
        let owner = owner.or_else(|| known.map(|known| &known.owner)).cloned();
        drop(inner);
        if let Some(owner) = owner {
            view.used = self.0.history.usual(&WorkloadKey::of(namespace, &owner));
        }
        view
    }

    /// The state that the leader plans score labels by; it forgets the Pods that were bound, and the
    /// shapes whose Pods have ended.
    pub(crate) fn take_label_plan(&self) -> LabelPlanView {
        let mut inner = self.lock();
        let bound = std::mem::take(&mut inner.scores.bound);
        let view = LabelPlanView {
            nodes: inner.scores.nodes.values().cloned().collect(),
            labelled: Arc::clone(&inner.scores.labelled),
            inputs: LevelInputs {
                counts: shared_counts(inner.shaped_pods()),
                totals: merge_namespaces(inner.shaped_pods()),
                bound,
                rounds: inner.scores.rounds,
            },
        };
        inner.scores.has_planned = true;
        inner.scores.forget_unused();
        view
    }

    /// The mean demand of a shape's Pods, for which the leader computes levels.
    pub(crate) fn mean_demand(&self, shape: &Shape) -> Option<Resources<Amount>> {
        let inner = self.lock();
        let mut all = ShapeTotals::default();
        for pods in inner.shaped_pods().filter_map(|pods| pods.get(shape)) {
            all.merge(pods);
        }
        all.mean_demand()
    }

    /// A node with its score labels.
    pub fn labelled_node(&self, name: &str) -> Option<Arc<LabelledNode>> {
        self.lock().scores.nodes.get(name).cloned()
    }
}
