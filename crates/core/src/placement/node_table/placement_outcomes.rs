//! How the choices of nodes end that kube-scheduler makes for Pods that were placed here.

use jiff::Timestamp;

/// The end of one choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChoiceEnd {
    /// kube-scheduler sent a notice, and the Pod was bound.
    Told,
    /// The Pod was bound without a notice.
    Untold,
    /// kube-scheduler sent a notice, but the Pod was not bound: kube-scheduler asked again, or the
    /// time of [`Settings::provisional`](super::Settings::provisional) passed.
    Unbound,
}

impl ChoiceEnd {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Told, Self::Untold, Self::Unbound];
}

/// A count of the choices that have ended, since the table was made.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChoiceTally {
    times: [u64; ChoiceEnd::ALL.len()],
    last: [Option<Timestamp>; ChoiceEnd::ALL.len()],
    newest: Option<ChoiceEnd>,
    in_a_row: u64,
}

impl ChoiceTally {
    /// How many choices ended so.
    #[must_use]
    pub const fn times(&self, end: ChoiceEnd) -> u64 {
        self.times[end as usize]
    }

    /// When the last one did.
    #[must_use]
    pub const fn last(&self, end: ChoiceEnd) -> Option<Timestamp> {
        self.last[end as usize]
    }

    /// How many of the newest choices ended so, one after the other; 0 where the last one ended otherwise.
    #[must_use]
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
