//! A change that is under way: where it began, where it goes, and how far it has come.

use jiff::Timestamp;

use super::behavior::{Direction, Park, StepSize};
use crate::scaling::replica_counts::ReplicaCounts;

/// A change of the count that is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Change {
    /// The replicas at its begin.
    pub begun: ReplicaCounts,
    /// The replicas that are to be online in the end.
    pub to: i32,
    /// Those that are to be online by now.
    pub online: i32,
    /// How far it has come: 0 to 100.
    pub percent: i32,
    /// When the last step was made; `None` before the first, and after it was rolled back.
    pub stepped: Option<Timestamp>,
}

impl Change {
    /// A change from `begun` that has not made a step.
    pub(super) const fn begin(begun: ReplicaCounts, to: i32) -> Self {
        Self {
            begun,
            to,
            online: begun.online,
            percent: 0,
            stepped: None,
        }
    }

    /// The end of a change that nobody remembers: Pods that wait, and are to go once they have been
    /// observed from `now` on.
    pub(super) const fn of_parked(begun: ReplicaCounts, now: Timestamp) -> Self {
        Self {
            percent: 100,
            stepped: Some(now),
            ..Self::begin(begun, begun.online)
        }
    }

    /// The direction of the change. One that has only Pods left that wait goes down.
    #[must_use]
    pub const fn direction(&self) -> Direction {
        if self.to > self.begun.online {
            Direction::Up
        } else {
            Direction::Down
        }
    }

    /// The Pods that change in the whole.
    pub(super) const fn whole(&self) -> i32 {
        self.to.saturating_sub(self.begun.online).saturating_abs()
    }

    /// The Pods that have changed.
    pub(super) const fn done(&self) -> i32 {
        self.online
            .saturating_sub(self.begun.online)
            .saturating_abs()
    }

    /// The replicas in each state by now, where the way down parks as said.
    #[must_use]
    pub fn counts(&self, park: Park) -> ReplicaCounts {
        let done = self.done();
        let begun = self.begun;
        let parked = match (self.direction(), park) {
            (Direction::Up, _) => {
                let cutoff = done.min(begun.cutoff);
                let standby = (done - cutoff).min(begun.standby);
                (begun.cutoff - cutoff, begun.standby - standby)
            }
            (Direction::Down, Park::Cutoff) => (begun.cutoff.saturating_add(done), begun.standby),
            (Direction::Down, Park::Standby) => (begun.cutoff, begun.standby.saturating_add(done)),
            (Direction::Down, Park::Deleted) => (begun.cutoff, begun.standby),
        };
        let (cutoff, standby) = parked;
        ReplicaCounts {
            online: self.online,
            cutoff,
            standby,
        }
    }

    /// The same change to another count in its direction. What it has come to stays, and so does the time of its next step: a
    /// target that moves at every tick makes no more steps than one that stands.
    pub(super) fn toward(self, to: i32) -> Self {
        if to == self.to {
            return self;
        }
        let moved = Self { to, ..self };
        Self {
            percent: moved.percent_done(),
            ..moved
        }
    }

    /// The change after one more step at `now`.
    pub(super) fn stepped(self, size: StepSize, now: Timestamp) -> Self {
        let (whole, done) = (self.whole(), self.done());
        let (asked, percent) = match size {
            StepSize::Percent(step) => {
                let percent = self.percent.saturating_add(i32::from(step)).min(100);
                (share(whole, percent), Some(percent))
            }
            StepSize::Count(step) => (done.saturating_add(step), None),
        };
        let done = asked.max(done.saturating_add(1)).min(whole);
        let online = match self.direction() {
            Direction::Up => self.begun.online.saturating_add(done),
            Direction::Down => self.begun.online - done,
        };
        let stepped = Self {
            online,
            stepped: Some(now),
            ..self
        };
        let percent = percent.filter(|_| done < whole);
        Self {
            percent: percent.unwrap_or_else(|| stepped.percent_done()),
            ..stepped
        }
    }

    /// The change at its begin again.
    pub(super) const fn rolled_back(self) -> Self {
        Self::begin(self.begun, self.to)
    }

    /// True where all steps have been made.
    pub(super) const fn is_through(&self) -> bool {
        self.online == self.to
    }

    fn percent_done(&self) -> i32 {
        let (done, whole) = (i64::from(self.done()), i64::from(self.whole()));
        if whole == 0 {
            return 100;
        }
        i32::try_from(done * 100 / whole).unwrap_or(100).min(100)
    }
}

/// A percentage of a count, rounded down.
fn share(whole: i32, percent: i32) -> i32 {
    let share = i64::from(whole) * i64::from(percent) / 100;
    i32::try_from(share).unwrap_or(whole)
}
