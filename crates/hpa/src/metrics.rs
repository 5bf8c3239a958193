//! The proposal of all metrics of one HPA together: the highest of any of them.

use evenkeel_label_selector::go_syntax;
use evenkeel_metrics::signal::{MetricTarget, PromQl, ResourceName, Signal};
use evenkeel_quantity::{Quantity, QuantityFormat};

use super::basis::ProposalBasis;
use super::error::ReplicasError;
use super::replicas::{MetricProposal, ReplicaCalculator};
use super::spec::MetricSpec;
use super::status::{CurrentValue, MetricStatus};
use super::trace::{DecisionTrace, MetricTrace};

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct MetricProposals {
    /// Or the first failure, if the highest may not be acted on.
    pub(crate) highest: Result<HighestProposal, MetricFailure>,
    pub(crate) statuses: Vec<MetricStatus>,
    pub(crate) failures: Vec<MetricFailure>,
}

/// The metric's name is in the words of conditions and Events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HighestProposal {
    pub(crate) replicas: i32,
    /// Among the metrics of the spec.
    pub(crate) position: usize,
    pub(crate) metric: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MetricFailure {
    /// Reason of the condition `ScalingActive` and of the Event.
    pub(crate) reason: &'static str,
    /// Message of the Event and the condition.
    pub(crate) message: String,
    /// Error of the reconciliation; names the metric.
    pub(crate) error: String,
}

/// If some metrics fail, the others may scale up, but not down; if they would, or none is left, the
/// first failure stands.
pub(crate) fn compute(
    calculator: &ReplicaCalculator<'_>,
    metrics: &[MetricSpec],
    mut trace: Option<&mut DecisionTrace>,
) -> MetricProposals {
    let mut highest: Option<HighestProposal> = None;
    let (mut statuses, mut failures) = (Vec::with_capacity(metrics.len()), Vec::new());
    for (position, metric) in metrics.iter().enumerate() {
        let mut basis = trace.is_some().then(ProposalBasis::default);
        let computed = compute_one(calculator, metric, basis.as_mut());
        if let Some((trace, basis)) = trace.as_deref_mut().zip(basis) {
            let proposal = computed.as_ref().map(|(_, _, proposal)| *proposal);
            let proposal = proposal.map_err(|failure| failure.message.clone());
            trace.metrics.push(MetricTrace { basis, proposal });
        }
        match computed {
            Ok((signal, target, proposal)) => {
                // A proposal of 0 gives way to any other, even to one below it.
                let gives_way = |most: &HighestProposal| {
                    most.replicas == 0 || proposal.replicas > most.replicas
                };
                if highest.as_ref().is_none_or(gives_way) {
                    highest = Some(HighestProposal {
                        replicas: proposal.replicas,
                        position,
                        metric: name(signal, target),
                    });
                }
                statuses.push(MetricStatus {
                    signal: Some(signal.clone()),
                    current: current_value(signal, target, proposal),
                });
            }
            Err(failure) => {
                statuses.push(MetricStatus::default());
                failures.push(failure);
            }
        }
    }
    let is_down = |highest: &HighestProposal| highest.replicas < calculator.spec_replicas;
    let highest = match (highest, failures.first()) {
        (Some(highest), None) => Ok(highest),
        (Some(highest), Some(_)) if !is_down(&highest) => Ok(highest),
        (_, Some(first)) => Err(first.clone()),
        (None, None) => Err(no_metric()),
    };
    MetricProposals {
        highest,
        statuses,
        failures,
    }
}

/// How many metrics failed, and the first of them.
pub(crate) fn summary(failures: &[MetricFailure], metrics: usize) -> Option<String> {
    let MetricFailure { error, .. } = failures.first()?;
    let invalid = failures.len();
    Some(format!(
        "invalid metrics ({invalid} invalid out of {metrics}), first error is: {error}"
    ))
}

/// The API admits no HPA without a metric; the older controller would scale one to its minimum.
fn no_metric() -> MetricFailure {
    MetricFailure {
        reason: "InvalidMetricSourceType",
        message: "there is no metric".to_owned(),
        error: "there is no metric".to_owned(),
    }
}

fn compute_one<'m>(
    calculator: &ReplicaCalculator<'_>,
    metric: &'m MetricSpec,
    basis: Option<&mut ProposalBasis>,
) -> Result<(&'m Signal, Option<MetricTarget>, MetricProposal), MetricFailure> {
    match metric {
        MetricSpec::Known(signal, target) => {
            let proposal = calculator.propose_on(signal, *target, basis);
            let proposal = proposal.map_err(|error| failure(signal, *target, &error))?;
            Ok((signal, *target, proposal))
        }
        MetricSpec::Unknown(source_type) => {
            let error = format!("unknown metric source type {source_type:?}");
            Err(MetricFailure {
                reason: "InvalidMetricSourceType",
                message: error.clone(),
                error,
            })
        }
    }
}

/// Kubernetes wraps the error differently for each type and target, and puts more around the
/// reconciliation's error than around the condition's.
fn failure(signal: &Signal, target: Option<MetricTarget>, error: &ReplicasError) -> MetricFailure {
    let reason = match signal {
        Signal::Resource(_) => "FailedGetResourceMetric",
        Signal::ContainerResource { .. } => "FailedGetContainerResourceMetric",
        Signal::Pods(_) => "FailedGetPodsMetric",
        Signal::Object { .. } => "FailedGetObjectMetric",
        Signal::External(_) | Signal::PromQl(_) => "FailedGetExternalMetric",
    };
    let (message, error) = match signal {
        Signal::Resource(resource) => {
            let message = of_resource(resource, target, error);
            let error = format!("failed to get {resource} resource metric value: {message}");
            (message, error)
        }
        Signal::ContainerResource {
            resource,
            container,
        } => {
            let message = of_resource(resource, target, error);
            let error = format!("failed to get {container} container metric value: {message}");
            (message, error)
        }
        Signal::Pods(_) => {
            let wrapped = format!("failed to get pods metric value: {error}");
            (error.to_string(), wrapped)
        }
        Signal::Object { metric, .. } => {
            (error.to_string(), of_object(&metric.name, target, error))
        }
        Signal::External(metric) => (error.to_string(), of_external(&metric.name, target, error)),
        Signal::PromQl(PromQl { query, .. }) => {
            (error.to_string(), of_external(query, target, error))
        }
    };
    MetricFailure {
        reason,
        message,
        error,
    }
}

fn of_resource(
    resource: &ResourceName,
    target: Option<MetricTarget>,
    error: &ReplicasError,
) -> String {
    match target {
        Some(MetricTarget::AverageValue(_)) => format!("failed to get {resource} usage: {error}"),
        Some(MetricTarget::Utilization(_)) => {
            format!("failed to get {resource} utilization: {error}")
        }
        Some(MetricTarget::Value(_)) | None => error.to_string(),
    }
}

fn of_object(metric: &str, target: Option<MetricTarget>, error: &ReplicasError) -> String {
    let is_bare = matches!(error, ReplicasError::Selector(_));
    match target {
        Some(MetricTarget::AverageValue(_)) if !is_bare => {
            format!(
                "failed to get object metric value: failed to get {metric} object metric: {error}"
            )
        }
        _ => format!("failed to get object metric value: {error}"),
    }
}

fn of_external(metric: &str, target: Option<MetricTarget>, error: &ReplicasError) -> String {
    let what = match target {
        Some(MetricTarget::AverageValue(_)) => format!("failed to get {metric} external metric: "),
        Some(MetricTarget::Value(_)) => format!("failed to get external metric {metric}: "),
        Some(MetricTarget::Utilization(_)) | None => String::new(),
    };
    format!("failed to get {metric} external metric value: {what}{error}")
}

/// In conditions and Events. An object's metric with a target per Pod is worded as an external
/// metric, and a container metric with an amount per Pod as one of the Pod.
fn name(signal: &Signal, target: Option<MetricTarget>) -> String {
    let is_utilization = matches!(target, Some(MetricTarget::Utilization(_)));
    match signal {
        Signal::Resource(resource) if is_utilization => {
            format!("{resource} resource utilization (percentage of request)")
        }
        Signal::ContainerResource { resource, .. } if is_utilization => {
            format!("{resource} container resource utilization (percentage of request)")
        }
        Signal::Resource(resource) | Signal::ContainerResource { resource, .. } => {
            format!("{resource} resource")
        }
        Signal::Pods(metric) => format!("pods metric {}", metric.name),
        Signal::Object { object, metric } if matches!(target, Some(MetricTarget::Value(_))) => {
            format!("{} metric {}", object.kind, metric.name)
        }
        Signal::Object { metric, .. } | Signal::External(metric) => {
            let selector = go_syntax(metric.selector.as_ref());
            format!("external metric {}({selector})", metric.name)
        }
        Signal::PromQl(PromQl { query, .. }) => format!("PromQL query {query}"),
    }
}

pub(crate) fn current_value(
    signal: &Signal,
    target: Option<MetricTarget>,
    proposal: MetricProposal,
) -> CurrentValue {
    let MetricProposal {
        utilization, value, ..
    } = proposal;
    let quantity = match signal.resource() {
        Some((resource, _)) => resource_quantity(resource, value),
        None => Quantity::from_milli(value, QuantityFormat::DecimalSi),
    };
    let is_total = matches!(target, Some(MetricTarget::Value(_)));
    CurrentValue {
        average_utilization: utilization,
        average_value: (!is_total).then_some(quantity),
        value: is_total.then_some(quantity),
    }
}

/// As the status shows it: memory in powers of 1024, as the metrics server does, all else in powers
/// of 1000.
pub fn resource_quantity(resource: &ResourceName, milli: i64) -> Quantity {
    let format = match resource {
        ResourceName::Memory => QuantityFormat::BinarySi,
        ResourceName::Cpu | ResourceName::Other(_) => QuantityFormat::DecimalSi,
    };
    Quantity::from_milli(milli, format)
}
