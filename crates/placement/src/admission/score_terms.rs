//! The score terms of a new Pod, or the reason for which it gets none.

use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::pod::Pod;
use evenkeel_units::{Amount, Resources};

use crate::SchedulingPolicy;
use crate::demand::with_history;
use crate::score_labels::kept_shapes::assigned;
use crate::score_labels::pod_shape::{ShapeContext, steady_shape};
use crate::score_labels::{ScoreTerm, Shape, score_terms};
use crate::score_term_rules::{TermsOutcome, is_score_term};
use crate::snapshot::Snapshot;

/// The namespace of the cluster's own parts.
pub(super) const KUBE_SYSTEM: &str = "kube-system";

/// The state of the score labels, as far as one new Pod depends on it.
#[derive(Debug, Clone, Default)]
pub struct ScoreTermInputs {
    /// The shape that other Pods of the Pod's controller carry.
    pub carried: Option<Shape>,
    /// The use by other Pods of its workload, if its controller is known by its UID. The terms show
    /// it to the caller, to a factor of four.
    pub used: Resources<Option<Amount>>,
    /// The kill switch stops the writes of labels.
    pub writes_disabled: bool,
}

/// Looks up the view for a Pod of a namespace.
pub type ScoreTermSource<'a> = &'a dyn Fn(&str, &Pod) -> ScoreTermInputs;

/// Nothing is known of other Pods.
pub fn nothing_carried(_: &str, _: &Pod) -> ScoreTermInputs {
    ScoreTermInputs::default()
}

/// The reason for which a new Pod like this one gets score terms, or none; `None` if score labels are
/// off. The Pod may be bound and have terms itself.
pub fn outcome_for_new(
    pod: &Pod,
    namespace: &NamespacePolicy,
    snapshot: &Snapshot,
    policy: &SchedulingPolicy,
    source: ScoreTermSource<'_>,
) -> Option<TermsOutcome> {
    let mut new = pod.clone();
    new.spec.node_name = None;
    let own = pod.spec.preferred_node_terms.iter();
    new.spec.preferred_node_terms = own.filter(|term| !is_score_term(term)).cloned().collect();
    let request = ScoreTermRequest {
        pod: &new,
        namespace_name: pod.namespace(),
        namespace,
        dry_run: false,
        second_scheduler: false,
    };
    request.decide(snapshot, policy, source).1
}

/// The shape of a new Pod, with the use by other Pods of its workload, or the one that other Pods of
/// its controller carry.
pub fn new_pod_shape(pod: &Pod, context: &ShapeContext<'_>, inputs: &ScoreTermInputs) -> Shape {
    let with = with_history(pod, context.policy.caps_as_demand, |_| inputs.used);
    let declared = pod.declared_profile();
    let wanted = context.shape_of(with.as_ref().unwrap_or(pod), declared);
    steady_shape(wanted, inputs.carried.as_ref(), declared)
}

/// A new Pod whose score terms are decided.
pub(super) struct ScoreTermRequest<'a> {
    pub(super) pod: &'a Pod,
    /// Of the request: the Pod itself may not name one.
    pub(super) namespace_name: &'a str,
    pub(super) namespace: &'a NamespacePolicy,
    pub(super) dry_run: bool,
    /// Admission gives it to the second scheduler, which calls the extender.
    pub(super) second_scheduler: bool,
}

impl ScoreTermRequest<'_> {
    /// The terms to add, and why; no reason if score labels are off.
    pub(super) fn decide(
        &self,
        snapshot: &Snapshot,
        policy: &SchedulingPolicy,
        source: ScoreTermSource<'_>,
    ) -> (Vec<ScoreTerm>, Option<TermsOutcome>) {
        let Some(rules) = policy.score_labels.as_ref() else {
            return (Vec::new(), None);
        };
        let refusal = if self.dry_run {
            Some(TermsOutcome::DryRun)
        } else if self.namespace_name == KUBE_SYSTEM {
            Some(TermsOutcome::Exempt)
        } else if self.namespace.score_labels == Some(false) {
            Some(TermsOutcome::NamespaceOptedOut)
        } else if self.pod.spec.preferred_node_terms.iter().any(is_score_term) {
            Some(TermsOutcome::Present)
        } else if self.second_scheduler {
            Some(TermsOutcome::OtherScheduler)
        } else {
            rules.refusal(self.pod)
        };
        let terms = match refusal {
            Some(outcome) => Err(outcome),
            None => self.terms(&source(self.namespace_name, self.pod), snapshot, policy),
        };
        match terms {
            Ok(terms) => (terms, Some(TermsOutcome::Added)),
            Err(outcome) => (Vec::new(), Some(outcome)),
        }
    }

    fn terms(
        &self,
        view: &ScoreTermInputs,
        snapshot: &Snapshot,
        policy: &SchedulingPolicy,
    ) -> Result<Vec<ScoreTerm>, TermsOutcome> {
        if view.writes_disabled {
            return Err(TermsOutcome::WritesDisabled);
        }
        let context = ShapeContext {
            nodes: &snapshot.nodes,
            namespace: self.namespace,
            policy,
        };
        let shape = new_pod_shape(self.pod, &context, view);
        let shape = assigned(&shape, &snapshot.labelled_shapes);
        let shape = shape.ok_or(TermsOutcome::NoShape)?;
        let terms = score_terms(&shape, &self.pod.spec.preferred_node_terms);
        if terms.is_empty() {
            return Err(TermsOutcome::OwnTerms);
        }
        Ok(terms)
    }
}
