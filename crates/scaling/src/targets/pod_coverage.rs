//! How many of the Pods of a custom resource are known, of those that its controller says there are.
//!
//! Pods are found by their controllers, and a custom resource may have Pods that are reached in another
//! way. A count that is made of some of the Pods takes the others away.

use jiff::{SignedDuration, Timestamp};

use super::problem::TargetProblem;
use super::target_objects::TargetObjects;

/// The time for which Pods may be behind the status of their workload: both come by watches of their own.
const LAG: SignedDuration = SignedDuration::from_secs(60);

/// The Pods that are known, of those that there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KnownPods {
    /// All, but for a few.
    Enough,
    /// Fewer than three of four.
    TooFew,
    None,
}

impl KnownPods {
    pub(crate) fn of(observed: &TargetObjects) -> Self {
        let workload = observed.workload.as_deref();
        let custom = workload.and_then(|workload| Some((workload.replicas, workload.custom?)));
        let Some((replicas, scale)) = custom else {
            return Self::Enough;
        };
        let known = observed.pods.members.len();
        let there = usize::try_from(scale.pods).unwrap_or(0);
        if there == 0 || replicas <= 0 {
            Self::Enough
        } else if known == 0 {
            Self::None
        } else if known.saturating_mul(4) < there.saturating_mul(3) {
            Self::TooFew
        } else {
            Self::Enough
        }
    }
}

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
