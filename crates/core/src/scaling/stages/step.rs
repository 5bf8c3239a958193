//! One step of a change, or the reason why there is none.

use jiff::{SignedDuration, Timestamp};

use super::behavior::{Direction, Pace, StagedBehavior};
use super::change::{Change, Progress};
use super::heading::Course;
use super::staged::{Command, Happening, Phase, Reached, Staged, Staging};
use crate::scaling::limit::LimitedBy;
use crate::scaling::replica_counts::ReplicaCounts;

/// Goes on with the change `before`, or begins one where the counts are not what is wanted.
#[must_use]
pub fn step(behavior: &StagedBehavior, before: Option<&Change>, staging: &Staging) -> Staged {
    let course = Course::of(behavior, before, staging);
    let Course {
        counts, limited_by, ..
    } = course;
    let Some(change) = course.under_way() else {
        return Staged {
            counts,
            change: course.change,
            phase: Phase::Settled,
            happened: None,
            limited_by,
            next: None,
            reason: format!("{counts}"),
        };
    };
    let step = Step {
        behavior,
        pace: behavior.pace(change.direction()),
        reached: staging.reached,
        limited_by,
        now: staging.now,
    };
    match staging.command {
        Command::RollBack => step.back(change),
        Command::Pause => step.held(change, Phase::Paused),
        Command::Wait if change.stepped.is_some() => step.held(change, Phase::Waiting),
        Command::Wait | Command::Proceed => step.forward(change, false),
        Command::Resume => step.forward(change, true),
    }
}

/// What a step goes by.
struct Step<'a> {
    behavior: &'a StagedBehavior,
    pace: Pace,
    reached: Option<Reached>,
    /// The switch that keeps the target from what is wanted.
    limited_by: Option<LimitedBy>,
    now: Timestamp,
}

impl Step<'_> {
    /// The change at its begin again; one that has nothing left but Pods that wait keeps these.
    fn back(&self, change: Change) -> Staged {
        if change.whole() == 0 {
            return self.held(change, Phase::Paused);
        }
        let is_there = change.stepped.is_none() || change.done() == 0;
        Staged {
            happened: (!is_there).then_some(Happening::RolledBack),
            ..self.held(change.rolled_back(), Phase::RolledBack)
        }
    }

    /// The change as it is.
    fn held(&self, change: Change, phase: Phase) -> Staged {
        Staged {
            limited_by: Some(LimitedBy::StabilityCheck),
            ..self.staged(change, phase)
        }
    }

    /// The next step where it is due, or at once where somebody has said so, and the end of the change once it
    /// has been observed.
    fn forward(&self, change: Change, at_once: bool) -> Staged {
        if change.progress == Progress::Pending {
            return self.pending(change);
        }
        let until = after(change.stepped, self.pace.interval);
        let is_due = at_once || until.is_none_or(|until| until <= self.now);
        let steps = !change.is_through() && is_due;
        let change = if steps {
            change.stepped(self.pace.size, self.now)
        } else {
            change
        };
        let staged = Staged {
            happened: steps.then_some(Happening::Stepped),
            ..self.staged(change, Phase::Stepping)
        };
        if change.is_through() {
            return self.through(change, staged);
        }
        let next = after(change.stepped, self.pace.interval);
        Staged {
            limited_by: next.map(|until| LimitedBy::ChangeInterval { until }),
            next,
            ..staged
        }
    }

    /// A change whose last step has not come about: it is waited for, and what is refused of it after its interval is let go.
    fn pending(&self, change: Change) -> Staged {
        let is_late = after(change.stepped, self.pace.interval).is_none_or(|at| at <= self.now);
        let refused = self.reached.and_then(|reached| reached.refused);
        let online = self.reached.and_then(|reached| reached.online);
        if let (true, Some(_), Some(online)) = (is_late, refused, online) {
            if online < change.most_online() {
                let change = change.cut_back(online, self.now);
                return self.through(change, self.staged(change, Phase::Observing));
            }
            // Where nothing can be cut off, there is nothing to observe: the Pods go as limits let them.
            if !self.behavior.down.disabled {
                let change = Change {
                    stepped: Some(self.now),
                    ..change
                };
                let before = change.counts(self.behavior.park());
                return Staged {
                    limited_by: Some(LimitedBy::StepPending { refused }),
                    ..self.ended(change, before)
                };
            }
        }
        Staged {
            limited_by: Some(LimitedBy::StepPending { refused }),
            ..self.staged(change, Phase::Stepping)
        }
    }

    /// A change all of whose steps are made.
    fn through(&self, change: Change, staged: Staged) -> Staged {
        let is_down = change.direction() == Direction::Down;
        let deletes = is_down && staged.counts.parked() > 0;
        let ends = after(change.stepped, self.pace.observation);
        if deletes && self.behavior.down.disabled {
            let field = "behavior.scaleDown.disabled";
            return Staged {
                phase: Phase::Observing,
                limited_by: Some(LimitedBy::ScalingDisabled { field }),
                ..staged
            };
        }
        // What was cut off in this step is cut off before it is deleted.
        let is_new = deletes && staged.happened.is_some();
        if let Some(until) = ends.filter(|ends| is_new || self.now < *ends) {
            return Staged {
                phase: Phase::Observing,
                limited_by: Some(LimitedBy::Observation { until }),
                next: Some(until),
                ..staged
            };
        }
        self.ended(change, staged.counts)
    }

    /// A change that is done: Pods that waited are deleted, and there is nothing left of these to go back to.
    fn ended(&self, change: Change, before: ReplicaCounts) -> Staged {
        let is_down = change.direction() == Direction::Down;
        let counts = if is_down {
            ReplicaCounts::all_online(change.online)
        } else {
            before
        };
        let finished = change.finished(is_down && before.parked() > 0);
        Staged {
            counts,
            change: Some(finished).filter(|change| !change.is_over(self.behavior, self.now)),
            phase: Phase::Settled,
            happened: Some(Happening::Finished),
            limited_by: self.limited_by,
            next: None,
            reason: format!("{counts}"),
        }
    }

    fn staged(&self, change: Change, phase: Phase) -> Staged {
        let counts = change.counts(self.behavior.park());
        let reason = if change.whole() == 0 {
            format!("{counts}; those that take no traffic are surplus")
        } else {
            let Change {
                begun, to, percent, ..
            } = change;
            format!("{counts}; {percent} % of {} -> {to} online", begun.online)
        };
        Staged {
            counts,
            change: Some(change),
            phase,
            happened: None,
            limited_by: self.limited_by,
            next: None,
            reason,
        }
    }
}

/// The moment so long after another.
fn after(moment: Option<Timestamp>, time: SignedDuration) -> Option<Timestamp> {
    moment.map(|moment| moment.checked_add(time).unwrap_or(Timestamp::MAX))
}
