//! Pods that wait without traffic, to be deleted or online again.

use evenkeel_api::replica_counts::ReplicaCounts;
use jiff::SignedDuration;

use super::{Cohort, STEP, ScaledPods};

impl ScaledPods {
    /// Pods that take traffic, or will once they are ready.
    pub(in crate::target_replay) fn online(&self) -> i32 {
        self.replicas() - self.waiting()
    }

    /// Sets the counts: waiting Pods go online before new ones are made, and are the first to be
    /// deleted. On standby they take no traffic either, and keep their resources here.
    pub(in crate::target_replay) fn bring_to(&mut self, counts: ReplicaCounts, at: SignedDuration) {
        self.admit(counts.online - self.online(), at);
        let surplus = self.online() - counts.online;
        self.cut_off(surplus.min(counts.parked() - self.waiting()), at);
        self.end_waiting(self.waiting() - counts.parked(), at);
        self.scale_to(counts.total(), at);
    }

    fn waiting(&self) -> i32 {
        let waiting = self.pods.iter().filter(|cohort| cohort.waits());
        waiting.map(|cohort| cohort.count).sum()
    }

    /// Up to `most` waiting Pods take traffic, as soon as their condition is seen.
    fn admit(&mut self, most: i32, at: SignedDuration) {
        let ready = at.saturating_add(STEP);
        self.change(most, Cohort::waits, |cohort| Cohort {
            is_cutoff: false,
            // A Pod that was not ready when it was cut off is not ready sooner.
            ready: cohort.ready.max(ready),
            ..cohort
        });
    }

    /// Up to `most` Pods lose traffic, the newest first.
    fn cut_off(&mut self, most: i32, at: SignedDuration) {
        let is_online = |cohort: &Cohort| cohort.end.is_none() && !cohort.is_cutoff;
        self.change(most, is_online, |cohort| Cohort {
            is_cutoff: true,
            unready: at,
            ..cohort
        });
    }

    fn end_waiting(&mut self, most: i32, at: SignedDuration) {
        let mut left = most;
        for index in (0..self.pods.len()).rev() {
            if self.pods[index].waits() {
                left -= self.end(index, left, at);
            }
        }
        self.pods.retain(|cohort| cohort.count > 0);
    }

    /// Changes up to so many of the `meant` Pods, the newest first.
    fn change(
        &mut self,
        most: i32,
        meant: impl Fn(&Cohort) -> bool,
        changed: impl Fn(Cohort) -> Cohort,
    ) {
        let mut left = most;
        for index in (0..self.pods.len()).rev() {
            if meant(&self.pods[index]) {
                left -= self.part(index, left, &changed);
            }
        }
        self.pods.retain(|cohort| cohort.count > 0);
    }
}

impl Cohort {
    /// Without traffic and not deleted.
    const fn waits(&self) -> bool {
        self.is_cutoff && self.end.is_none()
    }
}
