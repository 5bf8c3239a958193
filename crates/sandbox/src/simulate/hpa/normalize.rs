//! The way from a wish: the stabilisation windows, then the scaling policies and bounds.

use jiff::{SignedDuration, Timestamp};

use super::Reason;
use evenkeel_core::scaling::hpa::{
    Behavior, PolicyType, ScaleEvents, ScalingPolicy, ScalingRules, SelectPolicy, Settings,
    legacy_scale_up_limit, scale_up_limit,
};
use evenkeel_core::units::replicas_ceil;

const READY: Reason = ("ReadyForNewScale", "recommended size matches current size");
const UP_STABILIZED: Reason = (
    "ScaleUpStabilized",
    "recent recommendations were lower than current one, applying the lowest recent recommendation",
);
const DOWN_STABILIZED: Reason = (
    "ScaleDownStabilized",
    "recent recommendations were higher than current one, applying the highest recent recommendation",
);
const WITHIN: Reason = (
    "DesiredWithinRange",
    "the desired count is within the acceptable range",
);
const TOO_MANY: Reason = (
    "TooManyReplicas",
    "the desired replica count is more than the maximum replica count",
);
const TOO_FEW: Reason = (
    "TooFewReplicas",
    "the desired replica count is less than the minimum replica count",
);
const UP_LIMIT: Reason = (
    "ScaleUpLimit",
    "the desired replica count is increasing faster than the maximum scale rate",
);
const DOWN_LIMIT: Reason = (
    "ScaleDownLimit",
    "the desired replica count is decreasing faster than the maximum scale rate",
);

/// What an HPA keeps to.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits {
    /// The fewest replicas.
    pub min: i32,
    /// The most replicas.
    pub max: i32,
    /// `spec.behavior` where it is given.
    pub behavior: Option<Behavior>,
    /// How long a recommendation holds up scaling down where the HPA does not say.
    pub downscale_window: SignedDuration,
}

/// What an HPA remembers.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// What was recommended when, before stabilisation.
    pub recommendations: Vec<(Timestamp, i32)>,
    /// What was changed when.
    pub events: ScaleEvents,
}

/// What is to be, and why it is not what was wished.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Normalized {
    /// Replicas.
    pub replicas: i32,
    /// Of the condition AbleToScale.
    pub able: Reason,
    /// Of the condition ScalingLimited, with whether it is.
    pub limited: (bool, Reason),
}

impl Limits {
    /// What becomes of the wish for `desired` replicas where there are `current`.
    pub fn normalize(
        &self,
        current: i32,
        desired: i32,
        history: &mut History,
        now: Timestamp,
    ) -> Normalized {
        let (stabilized, reason) = match &self.behavior {
            None => (self.highest(desired, history, now), DOWN_STABILIZED),
            Some(behavior) => self.stabilized(behavior, (current, desired), history, now),
        };
        let (replicas, why) = match &self.behavior {
            None => self.bounded(current, stabilized),
            Some(behavior) => self.rated(behavior, (current, stabilized), &history.events, now),
        };
        Normalized {
            replicas,
            able: if stabilized == desired { READY } else { reason },
            limited: (why != WITHIN, why),
        }
    }

    /// Without `behavior`: the highest recommendation of the window.
    fn highest(&self, desired: i32, history: &mut History, now: Timestamp) -> i32 {
        let cutoff = now - self.downscale_window;
        let mut old = None;
        let mut highest = desired;
        for (index, (at, replicas)) in history.recommendations.iter().enumerate() {
            if *at < cutoff {
                old = Some(index);
            } else {
                highest = highest.max(*replicas);
            }
        }
        history.remember(desired, old, now);
        highest
    }

    /// The lowest recommendation of the upward window, and the highest of the downward one.
    fn stabilized(
        &self,
        behavior: &Behavior,
        (current, desired): (i32, i32),
        history: &mut History,
        now: Timestamp,
    ) -> (i32, Reason) {
        let window = |rules: &ScalingRules| {
            let seconds = rules.stabilization_window_seconds;
            seconds.map_or(self.downscale_window, |seconds| {
                SignedDuration::from_secs(seconds.into())
            })
        };
        let (up_cutoff, down_cutoff) = (
            now - window(&behavior.scale_up),
            now - window(&behavior.scale_down),
        );
        let (mut least, mut most, mut old) = (desired, desired, None);
        for (index, &(at, replicas)) in history.recommendations.iter().enumerate() {
            if at > up_cutoff {
                least = least.min(replicas);
            }
            if at > down_cutoff {
                most = most.max(replicas);
            }
            if at < up_cutoff && at < down_cutoff {
                old = Some(index);
            }
        }
        history.remember(desired, old, now);
        let reason = if desired >= current {
            UP_STABILIZED
        } else {
            DOWN_STABILIZED
        };
        (current.max(least).min(most), reason)
    }

    /// Without `behavior`: the bounds, and twice the count or four.
    fn bounded(&self, current: i32, desired: i32) -> (i32, Reason) {
        let limit = legacy_scale_up_limit(current, &Settings::default());
        let (most, why) = if self.max > limit {
            (limit, UP_LIMIT)
        } else {
            (self.max, TOO_MANY)
        };
        if desired < self.min {
            (self.min, TOO_FEW)
        } else if desired > most {
            (most, why)
        } else {
            (desired, WITHIN)
        }
    }

    /// The bounds and the policies of the direction.
    fn rated(
        &self,
        behavior: &Behavior,
        (current, desired): (i32, i32),
        events: &ScaleEvents,
        now: Timestamp,
    ) -> (i32, Reason) {
        if desired > current {
            let (limit, _) = scale_up_limit(&behavior.scale_up, current, events, now);
            let limit = limit.max(current);
            let (most, why) = if self.max > limit {
                (limit, UP_LIMIT)
            } else {
                (self.max, TOO_MANY)
            };
            if desired > most {
                return (most, why);
            }
        } else if desired < current {
            let limit = down_limit(&behavior.scale_down, current, events, now).min(current);
            let (least, why) = if self.min < limit {
                (limit, DOWN_LIMIT)
            } else {
                (self.min, TOO_FEW)
            };
            if desired < least {
                return (least, why);
            }
        }
        (desired, WITHIN)
    }
}

impl History {
    /// Takes a recommendation, in the place of one that is too old for any window.
    fn remember(&mut self, desired: i32, old: Option<usize>, now: Timestamp) {
        match old {
            Some(index) => self.recommendations[index] = (now, desired),
            None => self.recommendations.push((now, desired)),
        }
    }
}

/// The fewest replicas that the rules allow to follow on `current`.
fn down_limit(rules: &ScalingRules, current: i32, events: &ScaleEvents, now: Timestamp) -> i32 {
    let limits = rules.policies.iter().map(|policy| {
        let added = ScaleEvents::change_within(&events.up, policy.period_seconds, now);
        let removed = ScaleEvents::change_within(&events.down, policy.period_seconds, now);
        least_from(
            *policy,
            current.saturating_sub(added).saturating_add(removed),
        )
    });
    let chosen = match rules.select_policy {
        SelectPolicy::Disabled => None,
        SelectPolicy::Min => limits.max(),
        SelectPolicy::Max => limits.min(),
    };
    chosen.unwrap_or(current)
}

/// The fewest replicas after those at the start of a period; shares are cut off.
fn least_from(policy: ScalingPolicy, start: i32) -> i32 {
    match policy.policy_type {
        PolicyType::Pods => start.saturating_sub(policy.value),
        PolicyType::Percent => {
            let left = f64::from(start) * (1.0 - f64::from(policy.value) / 100.0);
            replicas_ceil(left.trunc())
        }
    }
}
