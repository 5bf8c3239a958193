//! How fast the HPA may scale out: the rules of `spec.behavior`, and what they allow from the
//! current count.
//!
//! Kubernetes' own arithmetic to the letter, since a raised minimum must not be faster than the
//! HPA itself would be. Without `behavior` the controller's old limit holds: twice the count, or 4.

mod events;
mod rules;

pub use events::{ScaleEvent, ScaleEvents};
pub use rules::{
    Behavior, BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, ScalingRules, SelectPolicy,
};

use jiff::Timestamp;

use super::LimitedBy;
use crate::units::replicas_ceil;

/// Factor of the limit where there is no `behavior`.
const LEGACY_FACTOR: f64 = 2.0;
/// The least that the limit is where there is no `behavior`.
const LEGACY_MINIMUM: f64 = 4.0;

/// The most replicas that may follow on `current`, and the rule that says so; never below
/// `current`.
#[must_use]
pub fn scale_up_limit(
    behavior: Option<&Behavior>,
    current: i32,
    events: &ScaleEvents,
    now: Timestamp,
) -> (i32, LimitedBy) {
    let Some(Behavior { scale_up, .. }) = behavior else {
        return (legacy_limit(current), LimitedBy::DefaultScaleUp);
    };
    let (limit, policy) = rules_limit(scale_up, current, events, now);
    let by = policy.map_or(LimitedBy::ScaleUpDisabled, LimitedBy::ScaleUpPolicy);
    (limit.max(current), by)
}

/// The limit of one step without `behavior`: `max(2 current, 4)`.
#[must_use]
pub fn legacy_limit(current: i32) -> i32 {
    replicas_ceil((LEGACY_FACTOR * f64::from(current)).max(LEGACY_MINIMUM))
}

/// What the scaleUp `rules` allow, which may be below `current` after events that they would not
/// have allowed, with the policy that decides; `current` and no policy where scaling is disabled.
#[must_use]
pub fn rules_limit(
    rules: &ScalingRules,
    current: i32,
    events: &ScaleEvents,
    now: Timestamp,
) -> (i32, Option<ScalingPolicy>) {
    let proposals = rules.policies.iter().map(|policy| {
        let added = ScaleEvents::change_within(&events.up, policy.period_seconds, now);
        let removed = ScaleEvents::change_within(&events.down, policy.period_seconds, now);
        let start = current.saturating_sub(added).saturating_add(removed);
        (policy.most_from(start), Some(*policy))
    });
    let chosen = match rules.select_policy {
        SelectPolicy::Disabled => None,
        // `min_by_key` takes the first of equals; so must the other, for the reason to be steady.
        SelectPolicy::Min => proposals.min_by_key(|(limit, _)| *limit),
        SelectPolicy::Max => proposals.rev().max_by_key(|(limit, _)| *limit),
    };
    chosen.unwrap_or((current, None))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn behavior(select_policy: SelectPolicy) -> Behavior {
        let mut behavior = BehaviorSpec::default().defaulted();
        behavior.scale_up.select_policy = select_policy;
        behavior
    }

    #[test]
    fn the_rule_that_decides_is_named() {
        let (events, now) = (ScaleEvents::default(), Timestamp::UNIX_EPOCH);
        for (select, current, limit, by) in [
            (SelectPolicy::Max, 3, 7, "scaleUp policy Pods=4/15s"),
            (SelectPolicy::Max, 4, 8, "scaleUp policy Pods=4/15s"),
            (SelectPolicy::Max, 10, 20, "scaleUp policy Percent=100/15s"),
            (SelectPolicy::Min, 10, 14, "scaleUp policy Pods=4/15s"),
            (
                SelectPolicy::Disabled,
                10,
                10,
                "scaleUp selectPolicy Disabled",
            ),
        ] {
            let (found, found_by) = scale_up_limit(Some(&behavior(select)), current, &events, now);
            assert_eq!((found, found_by.to_string().as_str()), (limit, by));
        }
    }

    #[test]
    fn without_behavior_a_step_doubles_or_reaches_four() {
        for (current, limit) in [(0, 4), (1, 4), (3, 6), (50, 100), (i32::MAX, i32::MAX)] {
            assert_eq!(legacy_limit(current), limit, "{current}");
        }
    }

    #[test]
    fn what_was_added_in_the_period_counts() {
        let mut events = ScaleEvents::default();
        let (behavior, now) = (behavior(SelectPolicy::Min), Timestamp::UNIX_EPOCH);
        events.record(Some(&behavior), 4, 7, now);
        assert_eq!(scale_up_limit(Some(&behavior), 7, &events, now).0, 8);
        let later = Timestamp::from_second(15).unwrap();
        assert_eq!(scale_up_limit(Some(&behavior), 7, &events, later).0, 11);
    }
}
