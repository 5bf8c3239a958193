//! Conditions as statuses hold them, in the form of Kubernetes.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum ConditionStatus {
    True,
    /// It does not hold.
    False,
    /// It is not known at present if the condition holds.
    Unknown,
}

impl ConditionStatus {
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    #[serde(rename = "type")]
    pub kind: String,
    pub status: ConditionStatus,
    pub reason: String,
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

/// Sets the transition times: that of the condition in `before` with the same status, otherwise
/// `now`. All conditions get this `generation`.
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
