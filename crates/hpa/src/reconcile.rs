//! One reconciliation of one HPA, up to the write of the scale.

use jiff::Timestamp;

use super::memory::HpaMemory;
use super::metrics::{HighestProposal, MetricProposals, compute, summary};
use super::normalize::Normalizer;
use super::outcome::{Action, HpaOutcome, ReconcileError};
use super::reconciliation::HpaReconciliation;
use super::replicas::ReplicaCalculator;
use super::rescale::Rescale;
use super::scale_to_zero::{Zero, zero_replicas};
use super::selector::pods_of;
use super::settings::Controller;
use super::spec::HorizontalPodAutoscaler;
use super::status::{ConditionType, MetricStatus, reasons};
use super::target_state::{ObservedTarget, ScaleError, TargetScale};

const ABOVE_MAX: &str = "Current number of replicas above Spec.MaxReplicas";
const BELOW_MIN: &str = "Current number of replicas below Spec.MinReplicas";

/// After a reconciliation's decision.
#[derive(Debug)]
pub enum ReconcileStep<'a> {
    Rescale(Rescale<'a>),
    Done(HpaOutcome),
}

impl ReconcileStep<'_> {
    /// The outcome if the write of the scale succeeds.
    pub fn written(self, memory: &mut HpaMemory) -> HpaOutcome {
        match self {
            Self::Rescale(rescale) => rescale.succeeded(memory),
            Self::Done(outcome) => outcome,
        }
    }
}

struct HpaDecision {
    replicas: i32,
    /// In the words of the Event; empty if only a bound or a window decides.
    reason: String,
    /// Empty if the metrics were not read.
    metrics: Vec<MetricStatus>,
    error: Option<String>,
}

impl HpaDecision {
    fn without_metrics(replicas: i32, reason: &str) -> Self {
        Self {
            replicas,
            reason: reason.to_owned(),
            metrics: Vec::new(),
            error: None,
        }
    }
}

struct ReconcileFailure {
    error: String,
    metrics: Vec<MetricStatus>,
}

/// Reconciles an HPA: decides on the replica count of its target and on its status.
///
/// The metrics' recommendation enters `memory` at once; a change of the count only when it is
/// written (see [`Rescale`]).
pub fn reconcile<'a>(
    controller: &'a Controller,
    hpa: &'a HorizontalPodAutoscaler,
    observed: &ObservedTarget<'_>,
    memory: &mut HpaMemory,
    now: Timestamp,
) -> ReconcileStep<'a> {
    run(
        HpaReconciliation::new(controller, hpa, now),
        observed,
        memory,
    )
}

/// The same, and the outcome has a [`DecisionTrace`](super::DecisionTrace).
pub fn reconcile_traced<'a>(
    controller: &'a Controller,
    hpa: &'a HorizontalPodAutoscaler,
    observed: &ObservedTarget<'_>,
    memory: &mut HpaMemory,
    now: Timestamp,
) -> ReconcileStep<'a> {
    let mut round = HpaReconciliation::new(controller, hpa, now);
    round.trace = Some(Box::default());
    run(round, observed, memory)
}

fn run<'a>(
    mut round: HpaReconciliation<'a>,
    observed: &ObservedTarget<'_>,
    memory: &mut HpaMemory,
) -> ReconcileStep<'a> {
    let scale = match observed.scale {
        Ok(scale) => scale,
        Err(error) => return ReconcileStep::Done(without_scale(round, error)),
    };
    let able = ConditionType::AbleToScale;
    round.set(able, true, reasons::SUCCEEDED_GET_SCALE);
    let current = scale.spec_replicas;
    memory.begin(current, round.now);
    let decision = match decide(&mut round, &scale, observed, memory) {
        Ok(decision) => decision,
        Err(undecided) => return ReconcileStep::Done(without_decision(round, current, undecided)),
    };
    let HpaDecision {
        replicas,
        reason,
        metrics,
        error,
    } = decision;
    round.error = error.map(ReconcileError::Internal);
    if let Some(trace) = &mut round.trace {
        trace.replicas = Some(replicas);
        trace.reason.clone_from(&reason);
    }
    if replicas == current {
        round.set_counts(current, Some(replicas), metrics);
        return ReconcileStep::Done(round.end(Action::None));
    }
    ReconcileStep::Rescale(Rescale::new(round, current, replicas, reason, metrics))
}

/// The scale cannot be read: the rest of the status stays.
fn without_scale(mut round: HpaReconciliation<'_>, error: &ScaleError) -> HpaOutcome {
    round.warn("FailedGetScale", error.to_string());
    let message =
        format!("the HPA controller was unable to get the target's current scale: {error}");
    let able = ConditionType::AbleToScale;
    round.set_because(able, false, "FailedGetScale", message);
    round.error = Some(match error {
        ScaleError::ApiVersion(_) => ReconcileError::Spec(format!(
            "invalid API version in scale target reference: {error}"
        )),
        ScaleError::NoMatch { .. } => ReconcileError::Internal(format!(
            "unable to determine resource for scale target reference: {error}"
        )),
        ScaleError::Get(_) => ReconcileError::Internal(format!(
            "failed to query scale subresource for {}: {error}",
            round.reference()
        )),
    });
    round.end(Action::None)
}

/// The metrics give no count: the target stays.
fn without_decision(
    mut round: HpaReconciliation<'_>,
    current: i32,
    undecided: ReconcileFailure,
) -> HpaOutcome {
    let ReconcileFailure { error, metrics } = undecided;
    round.set_counts(current, None, metrics);
    let reference = round.reference();
    let text = format!(
        "failed to compute desired number of replicas based on listed metrics for {reference}: \
         {error}"
    );
    round.warn("FailedComputeMetricsReplicas", error);
    round.error = Some(ReconcileError::Internal(text));
    round.end(Action::None)
}

/// By the bounds if the current count is outside of them, else by the metrics.
fn decide(
    round: &mut HpaReconciliation<'_>,
    scale: &TargetScale<'_>,
    observed: &ObservedTarget<'_>,
    memory: &mut HpaMemory,
) -> Result<HpaDecision, ReconcileFailure> {
    let (current, spec) = (scale.spec_replicas, &round.hpa.spec);
    if current != 0 && current > spec.max_replicas {
        return Ok(HpaDecision::without_metrics(spec.max_replicas, ABOVE_MAX));
    }
    if current != 0 && current < spec.min_replicas {
        return Ok(HpaDecision::without_metrics(spec.min_replicas, BELOW_MIN));
    }
    let zero = Zero::of(round);
    if current == 0 && zero_replicas(spec.min_replicas, zero).should_disable {
        let active = ConditionType::ScalingActive;
        round.set(active, false, reasons::SCALING_DISABLED);
        if !round.controller.feature_gates.hpa_scale_to_zero {
            round.status.remove_condition(&ConditionType::ScaledToZero);
        }
        return Ok(HpaDecision::without_metrics(0, ""));
    }
    let mut decision = by_metrics(round, scale, observed, memory)?;
    let min = round.hpa.spec.min_replicas;
    if current == 0 && min != 0 && zero.scaled_to_zero && decision.replicas < min {
        // The metrics ask for 0, but the minimum was raised while there were no replicas.
        decision.replicas = min;
        if decision.reason.is_empty() {
            BELOW_MIN.clone_into(&mut decision.reason);
        }
    }
    Ok(decision)
}

/// Within windows, policies and bounds.
fn by_metrics(
    round: &mut HpaReconciliation<'_>,
    scale: &TargetScale<'_>,
    observed: &ObservedTarget<'_>,
    memory: &mut HpaMemory,
) -> Result<HpaDecision, ReconcileFailure> {
    let pods = pods_of(round, scale).map_err(|error| ReconcileFailure {
        error,
        metrics: Vec::new(),
    })?;
    let (controller, hpa) = (round.controller, round.hpa);
    let calculator = ReplicaCalculator {
        controller,
        tolerances: hpa
            .spec
            .tolerances(&controller.settings, controller.feature_gates),
        namespace: &hpa.namespace,
        spec_replicas: scale.spec_replicas,
        status_replicas: scale.status_replicas,
        pods,
        readings: observed.readings,
        now: round.now,
    };
    let computed = compute(&calculator, &hpa.spec.metrics, round.trace.as_deref_mut());
    let (highest, metrics, error) = weigh(round, computed)?;
    let current = scale.spec_replicas;
    // Metrics may be negative, replicas not.
    let desired = highest.replicas.max(0);
    let reason = match desired.cmp(&current) {
        std::cmp::Ordering::Greater => format!("{} above target", highest.metric),
        std::cmp::Ordering::Less => "All metrics below target".to_owned(),
        std::cmp::Ordering::Equal => String::new(),
    };
    let rules = Normalizer::new(&hpa.spec, &controller.settings, round.now);
    let normalized = rules.normalize(current, desired, memory);
    if let Some(trace) = &mut round.trace {
        trace.deciding = Some(highest.position);
        trace.desired = Some(desired);
        trace.normalized = Some(normalized);
    }
    round.set(ConditionType::AbleToScale, true, normalized.able_to_scale);
    round.set(
        ConditionType::ScalingLimited,
        normalized.is_limited,
        normalized.scaling_limited,
    );
    Ok(HpaDecision {
        replicas: normalized.replicas,
        reason,
        metrics,
        error,
    })
}

/// Reports failed metrics, and whether the others may be acted on.
fn weigh(
    round: &mut HpaReconciliation<'_>,
    computed: MetricProposals,
) -> Result<(HighestProposal, Vec<MetricStatus>, Option<String>), ReconcileFailure> {
    let MetricProposals {
        highest,
        statuses,
        failures,
    } = computed;
    let error = summary(&failures, statuses.len());
    for failure in failures {
        round.warn(failure.reason, failure.message);
    }
    let active = ConditionType::ScalingActive;
    match highest {
        Ok(highest) => {
            let metric = &highest.metric;
            let message =
                format!("the HPA was able to successfully calculate a replica count from {metric}");
            round.set_because(active, true, "ValidMetricFound", message);
            Ok((highest, statuses, error))
        }
        Err(failure) => {
            let message = failure.message;
            let message = format!("the HPA was unable to compute the replica count: {message}");
            round.set_because(active, false, failure.reason, message);
            Err(ReconcileFailure {
                error: error.unwrap_or(failure.error),
                metrics: statuses,
            })
        }
    }
}
