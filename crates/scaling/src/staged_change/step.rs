//! One step of a change, or the reason why there is none.

use evenkeel_api::replica_counts::ReplicaCounts;
use jiff::{SignedDuration, Timestamp};

use super::behavior::{Direction, StagedBehavior, StepPace};
use super::change::{Progress, StagedChange};
use super::change_direction::ChangePlan;
use super::step_result::{
    ChangePhase, ReplicaProgress, StagedChangeEvent, Staging, StepCommand, StepResult,
};
use crate::limits::LimitedBy;

/// Goes on with the change `before`, or begins one where the counts are not what is wanted.
pub fn step(
    behavior: &StagedBehavior,
    before: Option<&StagedChange>,
    staging: &Staging,
) -> StepResult {
    let course = ChangePlan::of(behavior, before, staging);
    let ChangePlan {
        counts, limited_by, ..
    } = course;
    let Some(change) = course.under_way() else {
        return StepResult {
            counts,
            change: course.change,
            phase: ChangePhase::Settled,
            happened: None,
            limited_by,
            next: None,
            reason: format!("{counts}"),
        };
    };
    let step = StagedStepContext {
        behavior,
        pace: behavior.pace(change.direction()),
        reached: staging.reached,
        limited_by,
        now: staging.now,
    };
    match staging.command {
        StepCommand::RollBack => step.back(change),
        StepCommand::Pause => step.held(change, ChangePhase::Paused),
        StepCommand::Wait if change.stepped.is_some() => step.held(change, ChangePhase::Waiting),
        StepCommand::Wait | StepCommand::Proceed => step.forward(change, false),
        StepCommand::Resume => step.forward(change, true),
    }
}

/// The input of a step.
struct StagedStepContext<'a> {
    behavior: &'a StagedBehavior,
    pace: StepPace,
    reached: Option<ReplicaProgress>,
    /// The switch that keeps the target from what is wanted.
    limited_by: Option<LimitedBy>,
    now: Timestamp,
}

impl StagedStepContext<'_> {
    /// The change at its begin again; one that has nothing left but Pods that wait keeps these.
    fn back(&self, change: StagedChange) -> StepResult {
        if change.whole() == 0 {
            return self.held(change, ChangePhase::Paused);
        }
        let is_there = change.stepped.is_none() || change.done() == 0;
        StepResult {
            happened: (!is_there).then_some(StagedChangeEvent::RolledBack),
            ..self.held(change.rolled_back(), ChangePhase::RolledBack)
        }
    }

    /// The change as it is.
    fn held(&self, change: StagedChange, phase: ChangePhase) -> StepResult {
        StepResult {
            limited_by: Some(LimitedBy::StabilityCheck),
            ..self.staged(change, phase)
        }
    }

    /// The next step if it is due, or at once on a user's request, and the end of the change once
    /// it has been observed.
    fn forward(&self, change: StagedChange, at_once: bool) -> StepResult {
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
        let staged = StepResult {
            happened: steps.then_some(StagedChangeEvent::Stepped),
            ..self.staged(change, ChangePhase::Stepping)
        };
        if change.is_through() {
            return self.through(change, staged);
        }
        let next = after(change.stepped, self.pace.interval);
        StepResult {
            limited_by: next.map(|until| LimitedBy::ChangeInterval { until }),
            next,
            ..staged
        }
    }

    /// A change that waits for its last step; after its interval, the part of it that is refused is dropped.
    fn pending(&self, change: StagedChange) -> StepResult {
        let is_late = after(change.stepped, self.pace.interval).is_none_or(|at| at <= self.now);
        let refused = self.reached.and_then(|reached| reached.refused);
        let online = self.reached.and_then(|reached| reached.online);
        if let (true, Some(_), Some(online)) = (is_late, refused, online) {
            if online < change.most_online() {
                let change = change.cut_back(online, self.now);
                return self.through(change, self.staged(change, ChangePhase::Observing));
            }
            // Where nothing can be cut off, there is nothing to observe: the Pods go as limits let them.
            if !self.behavior.down.disabled {
                let change = StagedChange {
                    stepped: Some(self.now),
                    ..change
                };
                let before = change.counts(self.behavior.park());
                return StepResult {
                    limited_by: Some(LimitedBy::StepPending { refused }),
                    ..self.ended(change, before)
                };
            }
        }
        StepResult {
            limited_by: Some(LimitedBy::StepPending { refused }),
            ..self.staged(change, ChangePhase::Stepping)
        }
    }

    /// A change with all its steps made.
    fn through(&self, change: StagedChange, staged: StepResult) -> StepResult {
        let is_down = change.direction() == Direction::Down;
        let deletes = is_down && staged.counts.parked() > 0;
        let ends = after(change.stepped, self.pace.observation);
        if deletes && self.behavior.down.disabled {
            let field = "behavior.scaleDown.disabled";
            return StepResult {
                phase: ChangePhase::Observing,
                limited_by: Some(LimitedBy::ScalingDisabled { field }),
                ..staged
            };
        }
        // Pods that this step cuts off are cut off first, and deleted later.
        let is_new = deletes && staged.happened.is_some();
        if let Some(until) = ends.filter(|ends| is_new || self.now < *ends) {
            return StepResult {
                phase: ChangePhase::Observing,
                limited_by: Some(LimitedBy::Observation { until }),
                next: Some(until),
                ..staged
            };
        }
        self.ended(change, staged.counts)
    }

    /// A change that is done: Pods that waited are deleted, and there is nothing left of these to go back to.
    fn ended(&self, change: StagedChange, before: ReplicaCounts) -> StepResult {
        let is_down = change.direction() == Direction::Down;
        let counts = if is_down {
            ReplicaCounts::all_online(change.online)
        } else {
            before
        };
        let finished = change.finished(is_down && before.parked() > 0);
        StepResult {
            counts,
            change: Some(finished).filter(|change| !change.is_over(self.behavior, self.now)),
            phase: ChangePhase::Settled,
            happened: Some(StagedChangeEvent::Finished),
            limited_by: self.limited_by,
            next: None,
            reason: format!("{counts}"),
        }
    }

    fn staged(&self, change: StagedChange, phase: ChangePhase) -> StepResult {
        let counts = change.counts(self.behavior.park());
        let reason = if change.whole() == 0 {
            format!("{counts}; those that take no traffic are surplus")
        } else {
            let StagedChange {
                begun, to, percent, ..
            } = change;
            format!("{counts}; {percent} % of {} -> {to} online", begun.online)
        };
        StepResult {
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
