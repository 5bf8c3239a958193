//! How far one step may go: by the policies of `behavior`, or by the older limit without it. Rules
//! without any policy, which no API server admits, limit as in Kubernetes: `Min` not at all, `Max`
//! to nothing.

use evenkeel_units::replicas_ceil;
use jiff::Timestamp;

use super::behavior::{ScalingPolicy, ScalingRules, SelectPolicy};
use super::events::ScaleEvents;
use super::settings::Settings;

/// The most replicas that the scaleUp `rules` allow after `current`, with the deciding policy. It
/// may be below `current` after events that the rules would not have allowed; if scaling is
/// disabled it is `current`, by no policy.
pub fn scale_up_limit(
    rules: &ScalingRules,
    current: i32,
    events: &ScaleEvents,
    now: Timestamp,
) -> (i32, Option<ScalingPolicy>) {
    let limits = rules.policies.iter().map(|policy| {
        let start = events.period_start(current, policy.period_seconds, now);
        (policy.most_from(start), Some(*policy))
    });
    match rules.select_policy {
        SelectPolicy::Disabled => (current, None),
        // `min_by_key` takes the first of equals; the other must too, for a steady policy.
        SelectPolicy::Min => {
            let least = limits.min_by_key(|(limit, _)| *limit);
            least.unwrap_or((i32::MAX, None))
        }
        SelectPolicy::Max => {
            let most = limits.rev().max_by_key(|(limit, _)| *limit);
            most.unwrap_or((i32::MIN, None))
        }
    }
}

/// The fewest replicas that the scaleDown `rules` allow after `current`. It may be above `current`
/// after events that the rules would not have allowed.
pub fn scale_down_limit(
    rules: &ScalingRules,
    current: i32,
    events: &ScaleEvents,
    now: Timestamp,
) -> i32 {
    let limits = rules.policies.iter().map(|policy| {
        let start = events.period_start(current, policy.period_seconds, now);
        policy.least_from(start)
    });
    match rules.select_policy {
        SelectPolicy::Disabled => current,
        SelectPolicy::Min => limits.max().unwrap_or(i32::MIN),
        SelectPolicy::Max => limits.min().unwrap_or(i32::MAX),
    }
}

/// With the usual settings `max(2 current, 4)`.
pub fn legacy_scale_up_limit(current: i32, settings: &Settings) -> i32 {
    let factor = settings.scale_up_limit_factor * f64::from(current);
    replicas_ceil(factor.max(settings.scale_up_limit_minimum).trunc())
}
