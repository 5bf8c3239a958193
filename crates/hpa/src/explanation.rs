//! Why an HPA has its count, for people and programs: the decision of [`crate::reconcile()`] on what
//! was read, with each metric, each Pod, and what holds the count. It decides nothing itself.

mod conditions;
mod hpa_explanation;
mod input;
mod limit_sentences;
mod limits;
mod metric;
mod rescale_history;
mod snapshot;
mod summary;
mod thresholds;
mod unknowns;
mod window;
mod wording;

pub use self::conditions::ConditionExplanation;
pub use self::hpa_explanation::HpaExplanation;
pub use self::input::{HpaDecisionInput, ScaleDirection};
pub use self::limits::{BoundLimit, DirectionLimits, PolicyLimit};
pub use self::metric::{MetricExplanation, PodContribution};
pub use self::rescale_history::{PastRescale, RescaleHistory};
pub use self::snapshot::{HpaSnapshot, SnapshotScale};
pub use self::thresholds::CountThreshold;
pub use self::window::WindowHold;
use crate::{Controller, DecisionTrace, HorizontalPodAutoscaler, HpaOutcome};

/// Explains the decision that follows from the input. `history` shows since when a window may hold.
pub fn explain(input: &HpaDecisionInput<'_>, history: &RescaleHistory) -> HpaExplanation {
    let outcome = input.decide(input.observed.readings);
    let trace = outcome.trace.as_deref().cloned().unwrap_or_default();
    let mut explanation = skeleton(input, &outcome, &trace);
    explanation.window = window::hold(input, &trace, history);
    explanation.limit = limits::bound(&trace);
    explanation.directions = limits::directions(input, history);
    (explanation.more, explanation.less) = thresholds::find(input, &trace);
    explanation.unknown = unknowns::sentences(input, &explanation, history);
    explanation.summary = summary::sentences(&explanation);
    explanation
}

fn skeleton(
    input: &HpaDecisionInput<'_>,
    outcome: &HpaOutcome,
    trace: &DecisionTrace,
) -> HpaExplanation {
    let HorizontalPodAutoscaler {
        namespace,
        name,
        spec,
        status,
        ..
    } = input.hpa;
    let Controller {
        settings,
        feature_gates,
    } = input.controller;
    let metrics = metric::explain(input, trace);
    let deciding = metrics.iter().find(|metric| metric.is_deciding);
    let tolerances = spec.tolerances(settings, *feature_gates);
    let scale_error = input.observed.scale.err().map(ToString::to_string);
    HpaExplanation {
        namespace: namespace.clone(),
        name: name.clone(),
        target: format!("{} {}", spec.scale_target.kind, spec.scale_target.name),
        at: input.now,
        summary: Vec::new(),
        current_replicas: input.current(),
        decided_replicas: trace.replicas,
        reported_replicas: status.desired_replicas,
        metrics_replicas: trace.desired,
        min_replicas: spec.min_replicas,
        max_replicas: spec.max_replicas,
        bounds_set_by: Vec::new(),
        error: scale_error.or_else(|| outcome.error.as_ref().map(ToString::to_string)),
        reason: trace.reason.clone(),
        deciding_metric: deciding.map(|metric| metric.name.clone()),
        metrics,
        tolerance: [1.0 - tolerances.down, 1.0 + tolerances.up],
        window: None,
        limit: None,
        directions: Vec::new(),
        more: None,
        less: None,
        conditions: conditions::explain(&status.conditions),
        last_scale_time: status.last_scale_time,
        unknown: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
