//! The rules of a target's HPA, as a trial by the minute follows them.
//!
//! Changes within a minute happen in the HPA's four syncs. The stabilisation window of scaling out
//! is ignored: its default is 0. Without a `behavior` an HPA doubles at each sync, as with the
//! default one.

use evenkeel_hpa::{Behavior, PolicyType, ScalingPolicy, ScalingRules, SelectPolicy, Settings};

/// The policies of a direction that are followed; more than one for Pods and one for percents are rare.
const POLICIES: usize = 4;
/// The blocks of minutes in which the largest count is remembered.
pub(super) const BLOCKS: usize = 5;
/// The syncs of an HPA in a minute.
const SYNCS: i32 = 4;

/// How far an HPA may go in a minute, either way.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ScalingRateLimits {
    up: Steps,
    down: Steps,
}

/// How far a direction may go in a minute.
#[derive(Debug, Clone, PartialEq)]
struct Steps {
    select: SelectPolicy,
    policies: [Option<ScalingPolicy>; POLICIES],
    /// True where the limits are so wide that no count meets them.
    is_wide: bool,
}

/// The minutes of a block, of which the window of scaling in has [`BLOCKS`]; 0 without a window.
pub(super) fn block(behavior: Option<&Behavior>) -> usize {
    let default = Settings::DEFAULT.downscale_stabilization.as_secs();
    let window = behavior.and_then(|rules| rules.scale_down.stabilization_window_seconds);
    let window = window.map_or(default, i64::from).max(0);
    let minutes = usize::try_from(window).unwrap_or_default().div_ceil(60);
    minutes.div_ceil(BLOCKS)
}

impl ScalingRateLimits {
    /// The limits of a behavior; `None` where no count meets them, as without one.
    pub(super) fn new(behavior: Option<&Behavior>) -> Option<Self> {
        let behavior = behavior?;
        let limits = Self {
            up: Steps::new(&behavior.scale_up),
            down: Steps::new(&behavior.scale_down),
        };
        (!limits.up.is_wide || !limits.down.is_wide).then_some(limits)
    }

    /// The count that may follow on `last` where `wanted` is asked for; `before` tells the count of so many
    /// minutes ago.
    pub(super) fn limit(&self, last: u16, wanted: u16, before: impl Fn(usize) -> u16) -> u16 {
        let (steps, ends) = match wanted {
            _ if wanted > last => (&self.up, ScalingPolicy::most_from as fn(&_, i32) -> i32),
            _ if wanted < last => (&self.down, ScalingPolicy::least_from as fn(&_, i32) -> i32),
            _ => return last,
        };
        if steps.is_wide {
            return wanted;
        }
        let is_up = wanted > last;
        let last = i32::from(last);
        let limits = steps.policies.iter().flatten().map(|policy| {
            let period = policy.period_seconds.max(1);
            if period < 60 {
                let times = (60 / period).clamp(1, SYNCS);
                return (0..times).fold(last, |count, _| ends(policy, count));
            }
            let minutes = usize::try_from(period).unwrap_or_default().div_ceil(60);
            let start = i32::from(before(minutes));
            ends(
                policy,
                if is_up {
                    start.min(last)
                } else {
                    start.max(last)
                },
            )
        });
        let farthest = if is_up { i32::MAX } else { i32::MIN };
        let limit = match (steps.select, is_up) {
            (SelectPolicy::Disabled, _) => last,
            (SelectPolicy::Max, true) | (SelectPolicy::Min, false) => {
                limits.max().unwrap_or(if is_up { last } else { farthest })
            }
            (SelectPolicy::Min, true) | (SelectPolicy::Max, false) => {
                limits.min().unwrap_or(if is_up { farthest } else { last })
            }
        };
        let wanted = i32::from(wanted);
        let count = if is_up {
            wanted.min(limit.max(last))
        } else {
            wanted.max(limit.min(last))
        };
        u16::try_from(count).unwrap_or_default()
    }
}

impl Steps {
    fn new(rules: &ScalingRules) -> Self {
        let mut given = rules.policies.iter().copied();
        let policies: [Option<ScalingPolicy>; POLICIES] = std::array::from_fn(|_| given.next());
        // Sixteen times as many, or none, within a minute.
        let doubles = |policy: &ScalingPolicy| {
            policy.policy_type == PolicyType::Percent
                && policy.value >= 100
                && policy.period_seconds <= 15
        };
        Self {
            select: rules.select_policy,
            policies,
            is_wide: rules.select_policy == SelectPolicy::Max
                && policies.iter().flatten().any(doubles),
        }
    }
}
