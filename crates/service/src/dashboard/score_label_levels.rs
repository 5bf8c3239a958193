//! The part of an explanation about score labels: the Pod's shape, its terms, and the sum that
//! NodeAffinity makes of them on each node.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::pod::{Pod, PreferredNodeTerm};
use evenkeel_placement::admission::{new_pod_shape, outcome_for_new};
use evenkeel_placement::extender::placement_rules::Exemption;
use evenkeel_placement::score_labels::kept_shapes::assigned;
use evenkeel_placement::score_labels::pod_shape::ShapeContext;
use evenkeel_placement::score_labels::terms::carried_shape;
use evenkeel_placement::score_labels::{
    ExactLevel, ScorePools, Shape, node_affinity_sum, score_terms,
};
use evenkeel_placement::score_term_rules::{TermsOutcome, is_score_term};
use evenkeel_placement::snapshot::{OptIn, Snapshot};

use crate::api::explain::{NodeScoreLevel, ScoreLabelExplanation, ScoreTermExplanation};
use crate::server::handlers::Handlers;

/// The levels of the named nodes for a Pod; `None` if score labels are off.
pub(super) fn explained<'a>(
    handlers: &Handlers,
    pod: &Pod,
    snapshot: &Snapshot,
    nodes: impl Iterator<Item = &'a str>,
) -> Option<ScoreLabelExplanation> {
    handlers.policy.score_labels.as_ref()?;
    let (own, ours): (Vec<_>, Vec<_>) = pod
        .spec
        .preferred_node_terms
        .iter()
        .cloned()
        .partition(|term: &PreferredNodeTerm| !is_score_term(term));
    let carried = carried_shape(&ours);
    let shape = match &carried {
        Some(shape) => shape.clone(),
        None => new_shape(handlers, pod, snapshot),
    };
    let terms = score_terms(&shape, &own);
    let demand = handlers.cluster.mean_demand(&shape);
    let levels = ScorePools::of(&snapshot.nodes).exact_levels(&shape, demand, &handlers.policy);
    let levels: HashMap<Arc<str>, ExactLevel> = levels.into_iter().collect();
    let key = shape.label();
    let node = |name: &str| {
        let labelled = handlers.cluster.labelled_node(name);
        let label = labelled
            .as_ref()
            .and_then(|node| node.labels.get(key.as_str()));
        NodeScoreLevel {
            name: name.to_owned(),
            label: label.map(ToString::to_string),
            level: levels.get(name).map(|level| level.value),
            sum: node_affinity_sum(&terms, label.map(AsRef::as_ref)),
        }
    };
    let mut nodes: Vec<NodeScoreLevel> = nodes.map(node).collect();
    nodes.sort_by(|a, b| b.sum.cmp(&a.sum).then_with(|| a.name.cmp(&b.name)));
    Some(ScoreLabelExplanation {
        shape: shape.to_string(),
        carried: carried.is_some(),
        without_terms: refusal(handlers, pod, snapshot).map(Into::into),
        terms: terms
            .iter()
            .map(|term| ScoreTermExplanation {
                weight: term.weight,
                excluded: term.excluded().iter().map(ToString::to_string).collect(),
            })
            .collect(),
        nodes,
    })
}

/// The reason for which a new Pod like this gets no terms.
fn refusal(handlers: &Handlers, pod: &Pod, snapshot: &Snapshot) -> Option<&'static str> {
    let namespace = match snapshot.opt_in(pod.namespace()) {
        OptIn::Unknown => return Some(Exemption::NamespaceUnknown.explanation()),
        OptIn::Out => return Some(Exemption::NotOptedIn.explanation()),
        OptIn::In(_) if pod.is_skipped() => return Some(Exemption::Skipped.explanation()),
        OptIn::In(namespace) => namespace,
    };
    let source = |namespace: &str, pod: &Pod| handlers.score_term_inputs(namespace, pod);
    let outcome = outcome_for_new(pod, namespace, snapshot, &handlers.policy, &source)?;
    (outcome != TermsOutcome::Added).then(|| outcome.explanation())
}

/// The shape that a new Pod like this reads, or its own if all shapes with labels are smaller.
fn new_shape(handlers: &Handlers, pod: &Pod, snapshot: &Snapshot) -> Shape {
    let no_policy = NamespacePolicy::default();
    let context = ShapeContext {
        nodes: &snapshot.nodes,
        namespace: match snapshot.opt_in(pod.namespace()) {
            OptIn::In(policy) => policy,
            OptIn::Unknown | OptIn::Out => &no_policy,
        },
        policy: &handlers.policy,
    };
    let inputs = handlers.score_term_inputs(pod.namespace(), pod);
    let own = new_pod_shape(pod, &context, &inputs);
    assigned(&own, &snapshot.labelled_shapes).unwrap_or(own)
}
