//! Conditions as statuses hold them, in the form of Kubernetes.

use evenkeel_units::words;
use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

words! {
    /// The status of a condition.
    #[derive(Serialize, Deserialize, JsonSchema)]
    pub enum ConditionStatus {
        True = "True",
        False = "False",
        Unknown = "Unknown",
    }
}

impl From<&str> for ConditionStatus {
    /// A word that is not known is `Unknown`.
    fn from(word: &str) -> Self {
        match word {
            "True" => Self::True,
            "False" => Self::False,
            _ => Self::Unknown,
        }
    }
}

impl From<bool> for ConditionStatus {
    fn from(holds: bool) -> Self {
        if holds { Self::True } else { Self::False }
    }
}

/// One condition.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Condition {
    /// The type of the condition.
    #[serde(rename = "type")]
    pub kind: String,
    /// True if the condition holds.
    pub status: ConditionStatus,
    /// The reason in one word.
    pub reason: String,
    /// The reason in words.
    pub message: String,
    /// Since when the status has been the same.
    pub last_transition_time: Timestamp,
    /// The generation of the spec that the condition describes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
}

impl Condition {
    /// A condition of type `kind`; the time of its last transition is set later.
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
