//! The outcome of a reconciliation, in the JSON of the cases.

use evenkeel_hpa::autoscaler::status;
use evenkeel_hpa::{
    HpaCondition, HpaEvent, HpaMemory, HpaOutcome, HpaStatus, MetricStatus, ReconcileError,
};
use evenkeel_metrics::signal::Signal;
use serde::Deserialize;
use serde_json::Value;

use crate::cases::relative;
use crate::rules::{Event as ScaleEvent, Recommended, recommended, written};

#[derive(Debug, PartialEq, Deserialize)]
pub(crate) struct ReconcileOut {
    expected: Expected,
    observed: ObservedOut,
}

/// The assertions of Kubernetes' own tests.
#[derive(Debug, PartialEq, Eq, Deserialize)]
struct Expected {
    desired_replicas: i32,
    scale_updated: bool,
    status_updated: bool,
    conditions: Option<Vec<ShortCondition>>,
    cpu_utilization_percent: Option<i32>,
    reconciliation_action_label: String,
    reconciliation_error_label: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
struct ShortCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
}

/// Everything that Kubernetes did.
#[derive(Debug, PartialEq, Deserialize)]
struct ObservedOut {
    error: Option<Message>,
    desired_replicas: Option<i32>,
    scale_updates: Vec<i32>,
    status_updated: bool,
    current_replicas: Option<i32>,
    last_scale_s: Option<i64>,
    conditions: Option<Vec<LongCondition>>,
    current_metrics: Option<Vec<Value>>,
    events: Vec<EventOut>,
    recommendations_after: Option<Vec<Recommended>>,
    scale_up_events_after: Vec<ScaleEvent>,
    scale_down_events_after: Vec<ScaleEvent>,
    reconciliation_action_label: String,
    reconciliation_error_label: String,
}

#[derive(Debug, PartialEq, Deserialize)]
struct LongCondition {
    #[serde(rename = "type")]
    kind: String,
    status: String,
    reason: String,
    message: Message,
}

#[derive(Debug, PartialEq, Deserialize)]
struct EventOut {
    #[serde(rename = "type")]
    kind: String,
    reason: String,
    message: Message,
}

/// A message. Go's own parser words what is wrong with a selector; only what stands before it counts.
#[derive(Debug, Deserialize)]
struct Message(String);

impl Message {
    fn counted(&self) -> &str {
        let parser = "into a corresponding internal selector object: ";
        let end = self.0.find(parser).map(|start| start + parser.len());
        &self.0[..end.unwrap_or(self.0.len())]
    }
}

impl PartialEq for Message {
    fn eq(&self, other: &Self) -> bool {
        self.counted() == other.counted()
    }
}

impl ReconcileOut {
    /// The outcome that was found. A status that is not written is not seen by what recorded the
    /// cases: what `expected` says of it comes from elsewhere and counts as met, while `observed`
    /// holds that it was not written.
    pub(super) fn new(
        outcome: &HpaOutcome,
        scale_updates: Vec<i32>,
        memory: &HpaMemory,
        expected: &Self,
    ) -> Self {
        Self {
            expected: Expected::new(outcome, !scale_updates.is_empty(), &expected.expected),
            observed: ObservedOut::new(outcome, scale_updates, memory, &expected.observed),
        }
    }
}

/// The status, where it is written.
fn new_status(outcome: &HpaOutcome) -> Option<&HpaStatus> {
    outcome.is_status_changed.then_some(&outcome.status)
}

fn error_label(outcome: &HpaOutcome) -> String {
    ReconcileError::label(outcome.error.as_ref()).to_owned()
}

impl Expected {
    fn new(outcome: &HpaOutcome, scale_updated: bool, expected: &Self) -> Self {
        let status = new_status(outcome);
        let desired = status.map(|status| status.desired_replicas);
        let conditions = |status: &HpaStatus| status.conditions.iter().map(short).collect();
        Self {
            desired_replicas: desired.unwrap_or(expected.desired_replicas),
            scale_updated,
            status_updated: status.is_some() || expected.status_updated,
            conditions: status.map_or_else(
                || expected.conditions.clone(),
                |status| Some(conditions(status)),
            ),
            cpu_utilization_percent: status.map_or(expected.cpu_utilization_percent, |status| {
                expected
                    .cpu_utilization_percent
                    .and(cpu_utilization(status))
            }),
            reconciliation_action_label: outcome.action.as_str().to_owned(),
            reconciliation_error_label: error_label(outcome),
        }
    }
}

impl ObservedOut {
    fn new(
        outcome: &HpaOutcome,
        scale_updates: Vec<i32>,
        memory: &HpaMemory,
        expected: &Self,
    ) -> Self {
        let status = new_status(outcome);
        let error = outcome.error.as_ref();
        let last_scale = |status: &HpaStatus| status.last_scale_time.map(relative);
        let current = status.map(|status| status.current_replicas);
        let desired = status.map(|status| status.desired_replicas);
        let conditions = |status: &HpaStatus| status.conditions.iter().map(long).collect();
        Self {
            error: error.map(|error| Message(error.to_string())),
            desired_replicas: desired.or(expected.desired_replicas),
            scale_updates,
            status_updated: status.is_some(),
            current_replicas: current.or(expected.current_replicas),
            last_scale_s: status.map_or(expected.last_scale_s, last_scale),
            conditions: status.map(conditions),
            current_metrics: status.and_then(current_metrics),
            events: outcome.events.iter().map(event).collect(),
            recommendations_after: memory.recommendations.as_deref().map(recommended),
            scale_up_events_after: written(&memory.scale_events.up),
            scale_down_events_after: written(&memory.scale_events.down),
            reconciliation_action_label: outcome.action.as_str().to_owned(),
            reconciliation_error_label: error_label(outcome),
        }
    }
}

fn current_metrics(status: &HpaStatus) -> Option<Vec<Value>> {
    let metrics = status.current_metrics.iter();
    let written: Vec<_> = metrics.map(status::write_metric).collect();
    (!written.is_empty()).then_some(written)
}

fn short(condition: &HpaCondition) -> ShortCondition {
    ShortCondition {
        kind: condition.condition_type.to_string(),
        status: condition.status.as_str().to_owned(),
        reason: condition.reason.to_string(),
    }
}

fn long(condition: &HpaCondition) -> LongCondition {
    LongCondition {
        kind: condition.condition_type.to_string(),
        status: condition.status.as_str().to_owned(),
        reason: condition.reason.to_string(),
        message: Message(condition.message.to_string()),
    }
}

fn event(event: &HpaEvent) -> EventOut {
    EventOut {
        kind: event.event_type.as_str().to_owned(),
        reason: event.reason.to_owned(),
        message: Message(event.message.clone()),
    }
}

fn cpu_utilization(status: &HpaStatus) -> Option<i32> {
    let is_cpu = |metric: &&MetricStatus| metric.signal == Some(Signal::CPU);
    let metric = status.current_metrics.iter().find(is_cpu)?;
    metric.current.average_utilization
}
