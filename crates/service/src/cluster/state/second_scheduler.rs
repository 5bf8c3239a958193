//! The part of the state that tells whether the second scheduler is alive.

use evenkeel_objects::lease::LeaseRecord;
use evenkeel_placement::scheduler_lease::SchedulerLease;
use jiff::Timestamp;

use super::ClusterState;

/// A second scheduler, to which Pods are given while it is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SecondScheduler {
    pub name: String,
    pub is_alive: bool,
}

impl ClusterState {
    /// Pods may be given to this scheduler; its Lease is watched.
    pub(crate) fn expect_second_scheduler(&self, name: &str) {
        self.change(|inner| inner.second_scheduler = Some(name.to_owned()));
    }

    /// Takes the Lease of the second scheduler as it now is.
    pub fn apply_scheduler_lease(&self, record: &LeaseRecord, now: Timestamp) {
        self.change(|inner| {
            let before = inner.scheduler_lease.as_ref();
            inner.scheduler_lease = Some(SchedulerLease::seen(before, record, now));
        });
    }

    /// Forgets the Lease of the second scheduler, which was deleted.
    pub(crate) fn remove_scheduler_lease(&self) {
        self.change(|inner| inner.scheduler_lease = None);
    }

    /// The second scheduler, where Pods are given to one.
    pub fn second_scheduler(&self, now: Timestamp) -> Option<SecondScheduler> {
        let inner = self.lock();
        let lease = inner.scheduler_lease.as_ref();
        Some(SecondScheduler {
            name: inner.second_scheduler.clone()?,
            is_alive: lease.is_some_and(|lease| lease.is_fresh(now)),
        })
    }
}
