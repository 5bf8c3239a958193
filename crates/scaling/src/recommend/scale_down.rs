//! The way down of a floor: by the HPA's scaleDown rules, applied to the floor itself.
//!
//! The HPA's own stabilisation window holds nothing back here: its recommendations were low all the
//! time that the floor was above them, so that it follows a falling floor at once. So the floor has
//! a window over its own proposals and policies over its own changes, by the HPA's code.

use evenkeel_hpa::{Behavior, HpaMemory, Normalizer, Settings};
use jiff::Timestamp;

use super::policy::TargetPolicy;
use crate::limits::LimitedBy;

/// The floor of one tick, and the rule that holds it above what was proposed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct LimitedFloor {
    pub(crate) replicas: i32,
    pub(crate) limited_by: Option<LimitedBy>,
}

/// The floor that follows on `before` where `proposed` replicas are proposed. Upwards it is the
/// proposal, which the scaleUp rules have limited already. The proposal is remembered; a change of
/// the floor is what the caller makes of it, and [`record`]s.
pub(crate) fn step(
    policy: &TargetPolicy,
    before: i32,
    proposed: i32,
    memory: &mut HpaMemory,
    now: Timestamp,
) -> LimitedFloor {
    let normalizer = Normalizer {
        min: policy.bounds.min(),
        max: policy.bounds.max(),
        behavior: policy.behavior.as_ref(),
        settings: &Settings::DEFAULT,
        now,
    };
    let proposals = memory.recommendations.get_or_insert_default();
    let highest = match normalizer.behavior {
        None => normalizer.stabilize_without_behavior(proposed, proposals),
        Some(behavior) => {
            let stabilized = normalizer.stabilize(behavior, before, proposed, proposals);
            stabilized.replicas
        }
    };
    if proposed >= before {
        return LimitedFloor {
            replicas: proposed,
            limited_by: None,
        };
    }
    let stabilized = highest.min(before);
    let replicas = match normalizer.behavior {
        None => stabilized,
        Some(behavior) => {
            let limited = normalizer.limit(behavior, before, stabilized, &memory.scale_events);
            limited.replicas
        }
    };
    let by_policy = (replicas > stabilized).then_some(LimitedBy::ScaleDownPolicies);
    let seconds = window(policy.behavior.as_ref());
    let by_window = (stabilized > proposed).then_some(LimitedBy::ScaleDownWindow { seconds });
    LimitedFloor {
        replicas,
        limited_by: by_policy.or(by_window),
    }
}

/// Remembers a change of the floor, which the policies count.
pub(crate) fn record(
    policy: &TargetPolicy,
    before: i32,
    after: i32,
    memory: &mut HpaMemory,
    now: Timestamp,
) {
    if before != after {
        let events = &mut memory.scale_events;
        events.record(policy.behavior.as_ref(), before, after, now);
    }
}

/// The stabilisation window in seconds: the HPA's, or else the controller's own.
fn window(behavior: Option<&Behavior>) -> i64 {
    let given = behavior.and_then(|rules| rules.scale_down.stabilization_window_seconds);
    let default = Settings::DEFAULT.downscale_stabilization.as_secs();
    given.map_or(default, i64::from)
}
