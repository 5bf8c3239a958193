//! Whether limits hold a scale-in up, and for how long.
//!
//! A limit that never lets a Pod be out of traffic is one that the workload is to do without: its Pods go as
//! without a profile. One that has nothing left at the moment is waited for, since a controller that lags, a node
//! that is drained and a Pod that starts anew use it up for seconds or minutes; who waits for longer gets one
//! Pod after another.

use jiff::SignedDuration;

use super::profile_input::{ProfileInput, ProfileRules};

/// The least time for which a limit is waited for.
const WAITED: SignedDuration = SignedDuration::from_mins(1);

/// What limits let be taken out of traffic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DrainBlockage {
    /// Some Pod, or none is needed.
    No,
    /// None at present.
    Now,
    /// None, whatever becomes of the Pods.
    Always,
}

impl DrainBlockage {
    /// The Pods that may go in traffic, since they cannot be taken out of it.
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
