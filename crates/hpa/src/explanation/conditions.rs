//! Conditions of an HPA in plain words.

use evenkeel_objects::condition::ConditionStatus;
use jiff::Timestamp;
use serde::Serialize;

use crate::HpaCondition;

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ConditionExplanation {
    #[serde(rename = "type")]
    pub condition_type: String,
    pub status: String,
    pub reason: String,
    /// In plain words; the controller's own message if the reason is not in the table.
    pub meaning: String,
    /// The last change of the status, not of the reason.
    pub since: Option<Timestamp>,
}

/// Reasons whose message is fixed, with their meaning.
const MEANINGS: [(&str, &str); 12] = [
    (
        "SucceededGetScale",
        "The controller reads the count of the target.",
    ),
    (
        "ReadyForNewScale",
        "No window holds the count: the metrics decide.",
    ),
    (
        "SucceededRescale",
        "The controller changed the count at its last look.",
    ),
    (
        "ScaleDownStabilized",
        "The scaleDown window holds a higher count than the metrics ask for.",
    ),
    (
        "ScaleUpStabilized",
        "The scaleUp window holds a lower count than the metrics ask for.",
    ),
    (
        "ScalingDisabled",
        "Scaling is off, because the target has 0 replicas.",
    ),
    (
        "DesiredWithinRange",
        "No policy and no bound limits the count.",
    ),
    (
        "TooManyReplicas",
        "The metrics ask for more than maxReplicas.",
    ),
    (
        "TooFewReplicas",
        "The metrics ask for fewer than minReplicas.",
    ),
    (
        "ScaleUpLimit",
        "The metrics ask for more than a scaleUp policy allows in one step.",
    ),
    (
        "ScaleDownLimit",
        "The metrics ask for fewer than a scaleDown policy allows in one step.",
    ),
    ("ScaledToZero", "The HPA scaled the target to zero."),
];

pub(super) fn explain(conditions: &[HpaCondition]) -> Vec<ConditionExplanation> {
    conditions.iter().map(one).collect()
}

fn one(condition: &HpaCondition) -> ConditionExplanation {
    let HpaCondition {
        condition_type,
        status,
        reason,
        message,
        last_transition_time,
        observed_generation: _,
    } = condition;
    let known = MEANINGS.iter().find(|(known, _)| *known == reason.as_ref());
    let meaning = match known {
        Some((_, meaning)) => (*meaning).to_owned(),
        None if reason == "ValidMetricFound" && *status == ConditionStatus::True => {
            "At least one metric has a value.".to_owned()
        }
        None => message.to_string(),
    };
    ConditionExplanation {
        condition_type: condition_type.to_string(),
        status: status.as_str().to_owned(),
        reason: reason.to_string(),
        meaning,
        since: *last_transition_time,
    }
}
