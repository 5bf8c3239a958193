//! How many of the Pods of a custom resource are known, of those that its controller says there are.
//!
//! Pods are found by their controllers, and a custom resource may have Pods that are reached in another
//! way. A count that is made of some of the Pods takes the others away.

use jiff::{SignedDuration, Timestamp};

use crate::targets::problem::TargetProblem;
use crate::targets::target_objects::{KnownPods, TargetObjects};

/// The time for which Pods may be behind the status of their workload: both come by watches of their own.
const LAG: SignedDuration = SignedDuration::from_secs(60);

/// The time since which too few of the Pods of a target have been known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct PodCoverage {
    since: Option<Timestamp>,
}

impl PodCoverage {
    /// Looks at the Pods of a target as they are at `now`; gives the problem where they have been missing
    /// for longer than watches are apart.
    pub(crate) fn see(
        &mut self,
        observed: &TargetObjects,
        now: Timestamp,
    ) -> Option<TargetProblem> {
        if KnownPods::of(observed) == KnownPods::Enough {
            self.since = None;
            return None;
        }
        // After the clock was set back it begins anew.
        let since = self.since.filter(|&since| since <= now).unwrap_or(now);
        self.since = Some(since);
        let outlasts = now.duration_since(since) > LAG;
        outlasts.then(|| TargetProblem::PodsUnknown(Box::new(observed.target.clone())))
    }

    /// True where too few were known at the last look, so that nothing follows from what they use.
    pub(crate) const fn are_missing(&self) -> bool {
        self.since.is_some()
    }
}
