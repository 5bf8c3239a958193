//! Conditions as statuses hold them, in the form of Kubernetes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// It does not hold.
    False,
    /// It is not known at present if the condition holds.
    Unknown,
}

impl ConditionStatus {
    /// The word in conditions.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

/// One condition, in the form of Kubernetes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True` if the condition holds, otherwise `False` or `Unknown`.
    pub status: ConditionStatus,
    /// The reason, from a closed set.
    pub reason: String,
    /// The reason in words.
    pub message: String,
    /// Since when the status is what it is.
    pub last_transition_time: Timestamp,
    /// The `metadata.generation` that the condition was made of; `None` where it has none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// A condition of type `kind`; the time of its last transition is set later.
    #[must_use]
    pub fn new(
        kind: &str,
        status: impl Into<ConditionStatus>,
        reason: &str,
        message: String,
    ) -> Self {
        Self {
            kind: kind.to_owned(),
            status: status.into(),
            reason: reason.to_owned(),
            message,
            last_transition_time: Timestamp::UNIX_EPOCH,
            observed_generation: None,
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// Gives each condition the time since which it has its status: that of the one `before` with the same,
/// otherwise `now`. All are made of the object of this `generation`.
pub fn settle(
    conditions: &mut [Condition],
    before: &[Condition],
    generation: Option<i64>,
    now: Timestamp,
) {
    for condition in conditions {
        condition.observed_generation = generation;
        let same = before
            .iter()
            .find(|one| one.kind == condition.kind && one.status == condition.status);
        condition.last_transition_time = same.map_or(now, |one| one.last_transition_time);
    }
}
