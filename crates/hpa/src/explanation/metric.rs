//! One metric of an explanation: its value against its target, and how each Pod counts.

use evenkeel_metrics::signal::{MetricTarget, ResourceName, Signal};
use evenkeel_quantity::{Quantity, QuantityFormat};
use serde::Serialize;

use super::input::HpaDecisionInput;
use crate::metrics::current_value;
use crate::{
    CurrentValue, DecisionTrace, MetricSpec, MetricTrace, PodGroup, PodTrace, ProposalRule,
    resource_quantity,
};

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MetricExplanation {
    /// For example `cpu`, `cpu/app` or `external/queue`.
    pub name: String,
    /// True if its count is the one that counts.
    pub is_deciding: bool,
    /// Percent of the requests, or an amount; `None` without a proposal.
    pub current: Option<String>,
    pub target: String,
    /// The value that the controller reported last.
    pub reported: Option<String>,
    /// Usage over target, of measured values; `None` without Pods to divide a total by.
    pub ratio: Option<f64>,
    /// The ratio with assumed values of Pods that are not measured.
    pub adjusted_ratio: Option<f64>,
    /// The Pods that the ratio is multiplied with.
    pub multiplied_pods: Option<usize>,
    /// The rule from ratio to count; see [`ProposalRule`].
    pub rule: Option<&'static str>,
    /// The count that it asks for.
    pub replicas: Option<i32>,
    /// Why it asks for none.
    pub error: Option<String>,
    pub pods: Vec<PodContribution>,
}

/// The part of one Pod in a metric.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodContribution {
    pub pod: String,
    /// The name of the Pod's [`PodGroup`].
    pub group: &'static str,
    pub measured: Option<String>,
    pub request: Option<String>,
    /// The value in the sum, measured or assumed; `None` if the Pod is left out.
    pub counted: Option<String>,
    pub why: String,
}

pub(super) fn explain(
    input: &HpaDecisionInput<'_>,
    trace: &DecisionTrace,
) -> Vec<MetricExplanation> {
    let specs = &input.hpa.spec.metrics;
    if trace.metrics.is_empty() {
        // The metrics were not read; their names and targets are still of interest.
        return specs.iter().map(|spec| one(input, spec, None)).collect();
    }
    let pairs = specs.iter().zip(&trace.metrics).enumerate();
    pairs
        .map(|(position, (spec, metric))| MetricExplanation {
            is_deciding: trace.deciding == Some(position),
            ..one(input, spec, Some(metric))
        })
        .collect()
}

fn one(
    input: &HpaDecisionInput<'_>,
    spec: &MetricSpec,
    trace: Option<&MetricTrace>,
) -> MetricExplanation {
    let (signal, target) = match spec {
        MetricSpec::Known(signal, target) => (Some(signal), *target),
        MetricSpec::Unknown(_) => (None, None),
    };
    let name = match spec {
        MetricSpec::Known(signal, _) => signal.to_string(),
        MetricSpec::Unknown(source_type) => format!("unknown type {source_type:?}"),
    };
    let basis = trace.map(|trace| trace.basis.clone()).unwrap_or_default();
    let proposal = trace.and_then(|trace| trace.proposal.as_ref().ok());
    let current = signal.zip(proposal);
    let current = current.map(|(signal, found)| current_value(signal, target, *found));
    let total = signal.zip(basis.undivided_total);
    let total = total.map(|(signal, total)| format!("{} in total", amount(signal, total)));
    let pods = basis.pods.iter();
    MetricExplanation {
        name,
        is_deciding: false,
        current: total.or_else(|| text(current.as_ref()?)),
        target: target_text(signal, target),
        reported: signal.and_then(|signal| reported(input, signal)),
        ratio: basis.ratio,
        adjusted_ratio: basis.adjusted,
        multiplied_pods: basis.multiplied,
        rule: basis.rule.map(ProposalRule::as_str),
        replicas: proposal.map(|proposal| proposal.replicas),
        error: trace.and_then(|trace| trace.proposal.as_ref().err().cloned()),
        pods: pods
            .map(|pod| contribution(pod, signal, target, basis.ratio))
            .collect(),
    }
}

fn reported(input: &HpaDecisionInput<'_>, signal: &Signal) -> Option<String> {
    let mut statuses = input.hpa.status.current_metrics.iter();
    let same = statuses.find(|status| status.signal.as_ref() == Some(signal))?;
    text(&same.current)
}

fn text(value: &CurrentValue) -> Option<String> {
    let CurrentValue {
        average_utilization,
        average_value,
        value,
    } = value;
    let percent = average_utilization.map(|percent| format!("{percent}%"));
    let quantity = average_value.or(*value);
    percent.or_else(|| quantity.map(|quantity| quantity.to_string()))
}

/// An amount of a signal in thousandths, as Kubernetes writes it.
pub(super) fn amount(signal: &Signal, milli: i64) -> String {
    match signal.resource() {
        Some((ResourceName::Memory, _)) => {
            // A fraction of a byte is of no interest.
            let bytes = milli.div_euclid(1000).saturating_mul(1000);
            resource_quantity(&ResourceName::Memory, bytes).to_string()
        }
        Some((resource, _)) => resource_quantity(resource, milli).to_string(),
        None => Quantity::from_milli(milli, QuantityFormat::DecimalSi).to_string(),
    }
}

fn target_text(signal: Option<&Signal>, target: Option<MetricTarget>) -> String {
    let (Some(signal), Some(target)) = (signal, target) else {
        return "none".to_owned();
    };
    match target {
        MetricTarget::Utilization(percent) => format!("{percent}%"),
        MetricTarget::AverageValue(milli) => format!("{} for each Pod", amount(signal, milli)),
        MetricTarget::Value(milli) => format!("{} in total", amount(signal, milli)),
    }
}

fn contribution(
    pod: &PodTrace,
    signal: Option<&Signal>,
    target: Option<MetricTarget>,
    ratio: Option<f64>,
) -> PodContribution {
    let amount = |milli: Option<i64>| Some(amount(signal?, milli?));
    PodContribution {
        pod: pod.pod.clone(),
        group: pod.group.as_str(),
        measured: amount(pod.measured.map(|measured| measured.value)),
        request: amount(pod.request),
        counted: amount(pod.counted),
        why: why(pod, target, ratio),
    }
}

/// The group of the Pod in words, and what follows from it.
fn why(pod: &PodTrace, target: Option<MetricTarget>, ratio: Option<f64>) -> String {
    let group = match pod.group {
        PodGroup::Measured => return "measured".to_owned(),
        PodGroup::Deleted => "is being deleted",
        PodGroup::Failed => "failed",
        PodGroup::Pending => "is pending",
        PodGroup::NoReadyCondition => "has no start time or no condition Ready",
        PodGroup::Starting => "is not ready yet",
        PodGroup::MeasuredTooSoon => "was not ready for the whole time of its measurement",
        PodGroup::NeverReady => "was never ready",
        PodGroup::Missing => "has no measurement",
    };
    let counts = match (pod.counted, target) {
        (None, _) => "left out",
        (Some(0), _) if ratio.is_some_and(|ratio| ratio > 1.0) => "counts as 0",
        (Some(_), Some(MetricTarget::Utilization(percent))) if percent <= 100 => {
            "counts as its request"
        }
        (Some(_), _) => "counts as the target",
    };
    format!("{group}: {counts}")
}
