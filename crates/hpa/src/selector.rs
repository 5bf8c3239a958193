//! The selector of the scale, without which no metric can be computed.

use evenkeel_metrics::pod::PodFacts;

use super::reconciliation::HpaReconciliation;
use super::status::{ConditionType, reasons};
use super::target_state::TargetScale;

/// The Pods of the scale's selector. On failure sets the condition `ScalingActive` and an Event.
///
/// # Errors
/// The selector is missing or invalid, or selects Pods that another HPA's target selects too
/// (`AmbiguousSelector`): both would count foreign Pods.
pub(crate) fn pods_of<'p>(
    round: &mut HpaReconciliation<'_>,
    scale: &TargetScale<'p>,
) -> Result<&'p [PodFacts], String> {
    let active = ConditionType::ScalingActive;
    if scale.selector.is_empty() {
        let error = "selector is required".to_owned();
        round.warn("SelectorRequired", error.clone());
        round.set(active, false, reasons::MISSING_SELECTOR);
        return Err(error);
    }
    let (reason, error) = match scale.pods {
        Err(error) => (
            "InvalidSelector",
            format!(
                "couldn't convert selector into a corresponding internal selector object: {error}"
            ),
        ),
        Ok(_) if scale.autoscalers.len() > 1 => (
            "AmbiguousSelector",
            format!(
                "pods by selector {} are controlled by multiple HPAs: [{}]",
                scale.selector,
                scale.autoscalers.join(" ")
            ),
        ),
        Ok(pods) => return Ok(pods),
    };
    round.warn(reason, error.clone());
    round.set_because(active, false, reason, error.clone());
    Err(error)
}
