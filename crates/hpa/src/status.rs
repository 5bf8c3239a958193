//! The status of an HPA: counts, conditions and the values of its metrics.

pub(crate) mod reasons;

use std::borrow::Cow;
use std::fmt;

use evenkeel_units::words;
use jiff::Timestamp;

pub use self::reasons::ConditionReason;
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::condition::ConditionStatus;
use evenkeel_quantity::Quantity;

#[derive(Debug, Clone, PartialEq, Default)]
pub struct HpaStatus {
    /// As the last reconciliation found it.
    pub current_replicas: i32,
    /// The last reconciliation's result.
    pub desired_replicas: i32,
    pub last_scale_time: Option<Timestamp>,
    /// An entry for each metric of the spec; empty if no metric was read.
    pub current_metrics: Vec<MetricStatus>,
    /// In order of first appearance.
    pub conditions: Vec<HpaCondition>,
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricStatus {
    /// `None` if the metric has no value: Kubernetes leaves an entry with an empty type.
    pub signal: Option<Signal>,
    pub current: CurrentValue,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CurrentValue {
    /// Percent of the requests.
    pub average_utilization: Option<i32>,
    /// Mean over the Pods.
    pub average_value: Option<Quantity>,
    /// For all Pods together.
    pub value: Option<Quantity>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HpaCondition {
    pub condition_type: ConditionType,
    pub status: ConditionStatus,
    pub reason: Cow<'static, str>,
    pub message: Cow<'static, str>,
    pub last_transition_time: Option<Timestamp>,
    /// Generation of the HPA that it was made of; `None` if that has none.
    pub observed_generation: Option<i64>,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionType {
    /// The target's scale can be read and written, and nothing holds up scaling.
    AbleToScale,
    /// The metrics can be computed, and scaling is not switched off.
    ScalingActive,
    /// The count is not what the metrics ask for.
    ScalingLimited,
    /// The HPA itself has scaled to zero (gate `HPAScaleToZero`, on since Kubernetes 1.37).
    ScaledToZero,
    Other(String),
}

impl ConditionType {
    pub fn as_str(&self) -> &str {
        match self {
            Self::AbleToScale => "AbleToScale",
            Self::ScalingActive => "ScalingActive",
            Self::ScalingLimited => "ScalingLimited",
            Self::ScaledToZero => "ScaledToZero",
            Self::Other(word) => word,
        }
    }
}

impl From<&str> for ConditionType {
    fn from(word: &str) -> Self {
        let known = [
            Self::AbleToScale,
            Self::ScalingActive,
            Self::ScalingLimited,
            Self::ScaledToZero,
        ];
        let found = known.into_iter().find(|one| one.as_str() == word);
        found.unwrap_or_else(|| Self::Other(word.to_owned()))
    }
}

impl fmt::Display for ConditionType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

words! {
    pub enum EventType {
        Normal = "Normal",
        Warning = "Warning",
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HpaEvent {
    pub event_type: EventType,
    pub reason: &'static str,
    pub message: String,
}

impl HpaStatus {
    pub fn condition(&self, condition_type: &ConditionType) -> Option<&HpaCondition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.condition_type == *condition_type)
    }

    pub fn holds(&self, condition_type: &ConditionType) -> bool {
        let condition = self.condition(condition_type);
        condition.is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// Replaces the condition of its type, or appends. The time of transition changes only with the
    /// status.
    pub(crate) fn set_condition(&mut self, new: HpaCondition) {
        let mut conditions = self.conditions.iter_mut();
        let same = conditions.find(|condition| condition.condition_type == new.condition_type);
        match same {
            Some(old) => {
                let is_kept = old.status == new.status;
                let since = is_kept.then_some(old.last_transition_time).flatten();
                *old = HpaCondition {
                    last_transition_time: if is_kept {
                        since
                    } else {
                        new.last_transition_time
                    },
                    ..new
                };
            }
            None => self.conditions.push(new),
        }
    }

    pub(crate) fn remove_condition(&mut self, condition_type: &ConditionType) {
        self.conditions
            .retain(|condition| condition.condition_type != *condition_type);
    }
}
