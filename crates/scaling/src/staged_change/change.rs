//! A change that is under way: where it began, where it goes, and how far it has come.

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_units::words;
use jiff::Timestamp;

use super::behavior::{Direction, ScaleDownTarget, StagedBehavior, StepSize};

words! {
    /// How far the last step of a change has come.
    #[derive(Default)]
    pub enum Progress {
        /// It has come about, as far as is known.
        #[default]
        Made = "Made",
        /// It had not come about when it was last looked at.
        Pending = "Pending",
        /// More of it could not be had: the change ends there.
        Limited = "Limited",
        /// It was the last one, and the change is done. It is kept until its interval is over, so that what follows
        /// in its direction goes on with it.
        Finished = "Finished",
    }
}

/// A change of the count that is under way, or was until a moment ago.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StagedChange {
    /// The replicas at its begin.
    pub begun: ReplicaCounts,
    /// The replicas that are to be online in the end.
    pub to: i32,
    /// Those that are to be online by now.
    pub online: i32,
    /// How far it has come: 0 to 100.
    pub percent: i32,
    /// When the last step was made, or, where that took longer, when it had come about. Before the first step it is that of a
    /// change in the same direction shortly before, if there was one; `None` after a roll-back.
    pub stepped: Option<Timestamp>,
    /// The same of the last change in the other direction.
    pub opposite: Option<Timestamp>,
    pub progress: Progress,
}

impl StagedChange {
    /// A change from `begun` that has not made a step.
    pub(super) const fn begin(begun: ReplicaCounts, to: i32) -> Self {
        Self {
            begun,
            to,
            online: begun.online,
            percent: 0,
            stepped: None,
            opposite: None,
            progress: Progress::Made,
        }
    }

    /// The same change after `before`: a change that follows another one in its direction, or on a turn and back, makes no step
    /// before its time.
    pub(super) fn after(self, before: &Self, behavior: &StagedBehavior, now: Timestamp) -> Self {
        let direction = self.direction();
        let (same, opposite) = if before.direction() == direction {
            (before.stepped, before.opposite)
        } else {
            (before.opposite, before.stepped)
        };
        let is_recent = behavior.is_recent(direction, same, now);
        Self {
            stepped: self.stepped.or(same.filter(|_| is_recent)),
            opposite,
            ..self
        }
    }

    /// The end of a change that is not recorded: Pods that wait, and are to go once they have been
    /// observed from `now` on.
    pub(super) const fn of_parked(begun: ReplicaCounts, now: Timestamp) -> Self {
        Self {
            percent: 100,
            stepped: Some(now),
            ..Self::begin(begun, begun.online)
        }
    }

    /// The direction of the change. One that has only Pods left that wait goes down.
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
    pub fn counts(&self, park: ScaleDownTarget) -> ReplicaCounts {
        let done = self.done();
        let begun = self.begun;
        let parked = match (self.direction(), park) {
            (Direction::Up, _) => {
                let cutoff = done.min(begun.cutoff);
                let standby = (done - cutoff).min(begun.standby);
                (begun.cutoff - cutoff, begun.standby - standby)
            }
            (Direction::Down, ScaleDownTarget::Cutoff) => {
                (begun.cutoff.saturating_add(done), begun.standby)
            }
            (Direction::Down, ScaleDownTarget::Standby) => {
                (begun.cutoff, begun.standby.saturating_add(done))
            }
            (Direction::Down, ScaleDownTarget::Deleted) => (begun.cutoff, begun.standby),
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
        let progress = match self.progress {
            Progress::Finished => Progress::Made,
            other => other,
        };
        let moved = Self {
            to,
            progress,
            ..self
        };
        Self {
            percent: moved.percent_done(),
            ..moved
        }
    }

    /// The change once it was looked whether its last step has come about. One that took longer counts from then on.
    pub(super) fn looked_at(self, is_there: bool, now: Timestamp) -> Self {
        match (self.progress, is_there) {
            (Progress::Made | Progress::Pending, false) if self.stepped.is_some() => Self {
                progress: Progress::Pending,
                ..self
            },
            (Progress::Pending, _) => Self {
                progress: Progress::Made,
                stepped: self.stepped.map(|_| now),
                ..self
            },
            _ => self,
        }
    }

    /// The Pods that were online before anything of it came about.
    pub(super) fn most_online(&self) -> i32 {
        if self.whole() == 0 {
            self.begun.total()
        } else {
            self.begun.online
        }
    }

    /// The change that ends at what has come about of its last step.
    pub(super) fn cut_back(self, online: i32, now: Timestamp) -> Self {
        let change = Self {
            begun: if self.whole() == 0 {
                ReplicaCounts::all_online(self.most_online())
            } else {
                self.begun
            },
            online,
            stepped: Some(now),
            progress: Progress::Limited,
            ..self
        };
        Self {
            percent: change.percent_done(),
            ..change
        }
    }

    /// The change once it is done. Where Pods that waited are deleted by that, there is nothing left to go back to.
    pub(super) fn finished(self, deletes: bool) -> Self {
        let all_online = ReplicaCounts::all_online(self.online);
        Self {
            begun: if deletes { all_online } else { self.begun },
            to: self.online,
            percent: 100,
            progress: Progress::Finished,
            ..self
        }
    }

    /// True for a change that is done, and kept no longer.
    pub(super) fn is_over(&self, behavior: &StagedBehavior, now: Timestamp) -> bool {
        let direction = self.direction();
        let is_recent = behavior.is_recent(direction, self.stepped, now)
            || behavior.is_recent(direction.opposite(), self.opposite, now);
        self.progress == Progress::Finished && !is_recent
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
            progress: Progress::Made,
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
        Self {
            opposite: self.opposite,
            ..Self::begin(self.begun, self.to)
        }
    }

    /// True where all steps have been made that can be.
    pub(super) const fn is_through(&self) -> bool {
        self.online == self.to || matches!(self.progress, Progress::Limited)
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
