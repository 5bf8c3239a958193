//! The stabilisation window that holds a count, and the range of its end.

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::input::{HpaDecisionInput, ScaleDirection};
use super::rescale_history::RescaleHistory;
use crate::status::reasons;
use crate::{ConditionType, DecisionTrace, SelectPolicy};

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct WindowHold {
    /// The direction of scaling that the window delays.
    pub direction: &'static str,
    pub seconds: i64,
    /// The count that it holds.
    pub replicas: i32,
    /// The window holds the count at least until then; `None` if that is not known.
    pub earliest_end: Option<Timestamp>,
    /// The end if the metrics go on to ask for the other count.
    pub latest_end: Timestamp,
}

pub(super) fn hold(
    input: &HpaDecisionInput<'_>,
    trace: &DecisionTrace,
    history: &RescaleHistory,
) -> Option<WindowHold> {
    let (normalized, desired) = (trace.normalized?, trace.desired?);
    let replicas = normalized.stabilized;
    let direction = match replicas.cmp(&desired) {
        std::cmp::Ordering::Equal => return None,
        std::cmp::Ordering::Greater => ScaleDirection::Down,
        std::cmp::Ordering::Less => ScaleDirection::Up,
    };
    let rules = input.rules(direction);
    let spec = &input.hpa.spec;
    let is_at_bound = match direction {
        ScaleDirection::Up => normalized.replicas >= spec.max_replicas,
        ScaleDirection::Down => normalized.replicas <= spec.min_replicas,
    };
    let is_disabled = rules.is_some_and(|rules| rules.select_policy == SelectPolicy::Disabled);
    if is_at_bound || is_disabled {
        // The bound or the policy keeps the count, whatever the window does.
        return None;
    }
    let own = rules.and_then(|rules| rules.stabilization_window_seconds);
    let downscale = input.controller.settings.downscale_stabilization;
    let seconds = own.map_or(downscale.as_secs(), i64::from);
    let window = SignedDuration::from_secs(seconds);
    Some(WindowHold {
        direction: direction.as_str(),
        seconds,
        replicas,
        earliest_end: earliest_end(input, history, direction, replicas, window),
        latest_end: input.now.saturating_add(window).unwrap_or(Timestamp::MAX),
    })
}

/// A metric asked for the count when it rose to it, and at the controller's last look if no window
/// held the count then. A rescale replaces the reason of that look, and a window may have led to it.
fn earliest_end(
    input: &HpaDecisionInput<'_>,
    history: &RescaleHistory,
    direction: ScaleDirection,
    replicas: i32,
    window: SignedDuration,
) -> Option<Timestamp> {
    let status = &input.hpa.status;
    let other = match direction {
        ScaleDirection::Up => reasons::SCALE_DOWN_STABILIZED,
        ScaleDirection::Down => reasons::SCALE_UP_STABILIZED,
    };
    let unheld = [reasons::READY_FOR_NEW_SCALE, other];
    let able = status.condition(&ConditionType::AbleToScale);
    let is_free = status.holds(&ConditionType::ScalingActive)
        && able.is_some_and(|able| unheld.iter().any(|one| able.reason == one.reason));
    let last_look = input.now - input.controller.settings.sync_period;
    let seen = (is_free && status.desired_replicas == replicas).then_some(last_look);
    let risen = history.newest().filter(|newest| {
        direction == ScaleDirection::Down && newest.is_rise_by_metric && newest.replicas >= replicas
    });
    let begin = seen.max(risen.map(|newest| newest.at))?;
    let end = begin.checked_add(window).ok()?;
    (end > input.now).then_some(end)
}
