//! Bound Pods that have not started, in the order in which they were bound.
//!
//! They count for a while, because a start takes time. Then they no longer count: a Pod with an
//! image that does not exist would count for ever.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

/// Bound Pods that have not started, by the time of their binding.
#[derive(Debug, Default)]
pub(super) struct UnstartedPods(BTreeSet<(Timestamp, Box<str>)>);

impl UnstartedPods {
    pub(super) fn insert(&mut self, bound: Timestamp, uid: &str) {
        self.0.insert((bound, uid.into()));
    }

    pub(super) fn remove(&mut self, bound: Timestamp, uid: &str) {
        self.0.remove(&(bound, uid.into()));
    }

    /// Takes out a Pod that was bound longer than `limit` before `now`. One bound as long after it
    /// was told by a clock that has been set back since: that ends the wait as well.
    pub(super) fn take_due(&mut self, now: Timestamp, limit: SignedDuration) -> Option<Box<str>> {
        let (first, last) = (self.0.first()?.0, self.0.last()?.0);
        let due = if is_due(first, now, limit) {
            self.0.pop_first()
        } else if is_due(now, last, limit) {
            self.0.pop_last()
        } else {
            None
        };
        due.map(|(_, uid)| uid)
    }
}

/// True where a Pod bound at `bound` has had its time to start.
pub(super) fn is_due(bound: Timestamp, now: Timestamp, limit: SignedDuration) -> bool {
    now.duration_since(bound) >= limit
}
