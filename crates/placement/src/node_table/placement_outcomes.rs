//! How kube-scheduler's choices end for Pods that were placed here.

use jiff::Timestamp;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceEnd {
    /// kube-scheduler sent a notice, and the Pod was bound.
    Told,
    /// The Pod was bound without a notice.
    Untold,
    /// kube-scheduler sent a notice, but the Pod was not bound: kube-scheduler asked again, or
    /// [`Settings::provisional`](super::Settings::provisional) passed.
    Unbound,
}

impl ChoiceEnd {
    pub const ALL: [Self; 3] = [Self::Told, Self::Untold, Self::Unbound];
}

/// Since the table was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChoiceTally {
    times: [u64; ChoiceEnd::ALL.len()],
    last: [Option<Timestamp>; ChoiceEnd::ALL.len()],
    newest: Option<ChoiceEnd>,
    in_a_row: u64,
}

impl ChoiceTally {
    pub const fn times(&self, end: ChoiceEnd) -> u64 {
        self.times[end as usize]
    }

    pub const fn last(&self, end: ChoiceEnd) -> Option<Timestamp> {
        self.last[end as usize]
    }

    /// The newest choices that ended so, one after the other; 0 if the last one ended otherwise.
    pub fn in_a_row(&self, end: ChoiceEnd) -> u64 {
        if self.newest == Some(end) {
            self.in_a_row
        } else {
            0
        }
    }

    pub(super) fn count(&mut self, end: ChoiceEnd, now: Timestamp) {
        self.in_a_row = self.in_a_row(end).saturating_add(1);
        self.newest = Some(end);
        let times = &mut self.times[end as usize];
        *times = times.saturating_add(1);
        self.last[end as usize] = Some(now);
    }
}
