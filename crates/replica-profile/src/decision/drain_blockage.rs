//! The limits that hold a scale-in up, and the time for which they do.
//!
//! If a limit never lets a Pod be out of traffic, Pods go as without a profile. If a limit has
//! nothing left at the moment, the scale-in waits: a lagging controller, a drained node or a
//! restarting Pod uses it up for seconds or minutes. After a longer wait, Pods go one after
//! another.

use evenkeel_api::replica_profile::profile_rules::ProfileRules;
use jiff::SignedDuration;

use super::profile_input::ProfileInput;

/// The least time for which a limit is waited for.
const WAITED: SignedDuration = SignedDuration::from_mins(1);

/// The blockage of a drain: if limits let a Pod be taken out of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrainBlockage {
    /// A Pod may be taken out, or none needs to be.
    No,
    /// No Pod at present.
    Now,
    /// No Pod, whatever becomes of the Pods.
    Always,
}

impl DrainBlockage {
    /// The number of Pods that may be deleted while they take traffic, because they cannot be drained.
    pub(super) fn undrained(self, rules: &ProfileRules, seen: &ProfileInput<'_>) -> usize {
        let waited = seen.waits_since.map(|since| seen.now.duration_since(since));
        match self {
            Self::No => 0,
            Self::Now => waited
                .is_some_and(|waited| waited >= WAITED.max(rules.drain))
                .into(),
            Self::Always => usize::MAX,
        }
    }
}
