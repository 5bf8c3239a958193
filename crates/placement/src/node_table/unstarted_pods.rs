//! Bound Pods that have not started, in order of binding. They count for a limited time: a Pod with
//! an image that does not exist would count for ever.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Default)]
pub(super) struct UnstartedPods(BTreeSet<(Timestamp, Box<str>)>);

impl UnstartedPods {
    pub(super) fn insert(&mut self, bound: Timestamp, uid: &str) {
        self.0.insert((bound, uid.into()));
    }

    pub(super) fn remove(&mut self, bound: Timestamp, uid: &str) {
        self.0.remove(&(bound, uid.into()));
    }

    /// A Pod bound longer than `limit` before `now`, or as long after it: its clock has been set
    /// back since.
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

pub(super) fn is_due(bound: Timestamp, now: Timestamp, limit: SignedDuration) -> bool {
    now.duration_since(bound) >= limit
}
