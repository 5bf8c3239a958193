//! The parts of an explanation.

use jiff::Timestamp;
use serde::Serialize;

use super::conditions::ConditionExplanation;
use super::limits::{BoundLimit, DirectionLimits};
use super::metric::MetricExplanation;
use super::thresholds::CountThreshold;
use super::window::WindowHold;

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HpaExplanation {
    pub namespace: String,
    pub name: String,
    /// Kind and name of the scaled object.
    pub target: String,
    pub at: Timestamp,
    /// The answer in sentences.
    pub summary: Vec<String>,
    /// `spec.replicas` of the target; `None` if its scale cannot be read.
    pub current_replicas: Option<i32>,
    /// The count that the algorithm decides; `None` if none can be computed, and the count stays.
    pub decided_replicas: Option<i32>,
    /// `status.desiredReplicas`: what the controller decided last.
    pub reported_replicas: i32,
    /// The count that the metrics ask for; `None` if they were not read.
    pub metrics_replicas: Option<i32>,
    pub min_replicas: i32,
    pub max_replicas: i32,
    /// The setters of the bounds beside the user, in sentences.
    pub bounds_set_by: Vec<String>,
    /// Why no count can be computed, or some metrics failed.
    pub error: Option<String>,
    /// Why the count changes, in the words of the controller's Event.
    pub reason: String,
    pub deciding_metric: Option<String>,
    pub metrics: Vec<MetricExplanation>,
    /// The least and the largest ratio without effect.
    pub tolerance: [f64; 2],
    /// The window that keeps the count from what the metrics ask for.
    pub window: Option<WindowHold>,
    /// The policy or bound that limits the count.
    pub limit: Option<BoundLimit>,
    /// The rules of both directions, and how far they allow one step now.
    pub directions: Vec<DirectionLimits>,
    /// The least rise of the deciding metric that makes the metrics ask for more than the count.
    pub more: Option<CountThreshold>,
    /// The least fall of it that makes them ask for less.
    pub less: Option<CountThreshold>,
    pub conditions: Vec<ConditionExplanation>,
    pub last_scale_time: Option<Timestamp>,
    /// Facts that only the controller knows, in sentences.
    pub unknown: Vec<String>,
}

impl HpaExplanation {
    pub(super) fn deciding(&self) -> Option<&MetricExplanation> {
        self.metrics.iter().find(|metric| metric.is_deciding)
    }
}
