//! The status of an HPA: counts, conditions and the values of its metrics.

pub(super) mod reasons;

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;

pub use self::reasons::ConditionReason;
pub use crate::scaling::pod::ConditionStatus;
use crate::scaling::signal::Signal;
use crate::units::Quantity;

/// `status` of an HPA.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct HpaStatus {
    /// `currentReplicas`: the count that the last reconciliation found.
    pub current_replicas: i32,
    /// `desiredReplicas`: the count that it came to.
    pub desired_replicas: i32,
    /// `lastScaleTime`: the last change of the count by this HPA.
    pub last_scale_time: Option<Timestamp>,
    /// `currentMetrics`: an entry for each metric of the spec; none where no metric was looked at.
    pub current_metrics: Vec<MetricStatus>,
    /// `conditions`, in the order in which they first came up.
    pub conditions: Vec<HpaCondition>,
}

/// The value of one metric in the status.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MetricStatus {
    /// The signal; `None` if the metric has no value: Kubernetes leaves an entry with an empty type
    /// in its place.
    pub signal: Option<Signal>,
    /// The value.
    pub current: CurrentValue,
}

/// The value of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CurrentValue {
    /// `averageUtilization`: percent of the requests.
    pub average_utilization: Option<i32>,
    /// `averageValue`: the mean over the Pods.
    pub average_value: Option<Quantity>,
    /// `value`: the value for all Pods together.
    pub value: Option<Quantity>,
}

/// A condition of an HPA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HpaCondition {
    pub condition_type: ConditionType,
    pub status: ConditionStatus,
    /// The reason, one word.
    pub reason: Cow<'static, str>,
    pub message: Cow<'static, str>,
    /// Since when the status is what it is.
    pub last_transition_time: Option<Timestamp>,
    /// `observedGeneration`: the generation of the HPA that it was made of; `None` where that has none.
    pub observed_generation: Option<i64>,
}

/// The type of a condition of an HPA.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionType {
    /// The target's scale can be read and written, and nothing holds up scaling.
    AbleToScale,
    /// The metrics can be computed, and scaling is not switched off.
    ScalingActive,
    /// The count is not what the metrics ask for.
    ScalingLimited,
    /// The HPA itself has scaled the target to zero (gate `HPAScaleToZero`, on since Kubernetes 1.37).
    ScaledToZero,
    /// A type that others have set.
    Other(String),
}

impl ConditionType {
    /// The word in the API.
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

/// The type of an Event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventType {
    /// Something went as intended.
    Normal,
    /// Something is wrong.
    Warning,
}

impl EventType {
    /// The word in the API.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// An Event on the HPA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HpaEvent {
    pub event_type: EventType,
    /// The reason, one word.
    pub reason: &'static str,
    pub message: String,
}

impl HpaStatus {
    /// The condition of a type.
    pub fn condition(&self, condition_type: &ConditionType) -> Option<&HpaCondition> {
        let mut conditions = self.conditions.iter();
        conditions.find(|condition| condition.condition_type == *condition_type)
    }

    /// True where the condition of a type holds.
    pub fn holds(&self, condition_type: &ConditionType) -> bool {
        let condition = self.condition(condition_type);
        condition.is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// Sets a condition, in its place where there is one of its type, and last otherwise. The time
    /// of its transition only changes with its status.
    pub(super) fn set_condition(&mut self, new: HpaCondition) {
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

    /// Removes the condition of a type.
    pub(super) fn remove_condition(&mut self, condition_type: &ConditionType) {
        self.conditions
            .retain(|condition| condition.condition_type != *condition_type);
    }
}
