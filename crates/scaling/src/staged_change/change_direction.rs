//! The change that a step goes on with: the one that is under way, one that begins, or none.

use std::cmp::Ordering;

use evenkeel_api::replica_counts::ReplicaCounts;
use jiff::Timestamp;

use super::behavior::{Direction, StagedBehavior};
use super::change::{Progress, StagedChange};
use super::step_result::{ReplicaProgress, Staging};
use crate::limits::LimitedBy;

/// Where a target is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChangeDirection {
    pub direction: Direction,
    /// When the last step of the change was made, or of one shortly before in its direction; `None` before the first.
    pub stepped: Option<Timestamp>,
    /// True where there is a step left that nothing but the checks and the interval keep from being made.
    pub can_step: bool,
}

/// The direction of a target, for the stability checks; `None` if it is where it is to be.
/// `staging` does not need to have the command of the checks yet.
pub fn heading(
    behavior: &StagedBehavior,
    before: Option<&StagedChange>,
    staging: &Staging,
) -> Option<ChangeDirection> {
    let change = ChangePlan::of(behavior, before, staging).under_way()?;
    Some(ChangeDirection {
        direction: change.direction(),
        stepped: change.stepped,
        can_step: !change.is_through() && change.progress != Progress::Pending,
    })
}

/// The change to go on with, before its next step.
pub(super) struct ChangePlan {
    /// The counts from which it goes on.
    pub(super) counts: ReplicaCounts,
    /// The change to go on with, or that is finished and still kept.
    pub(super) change: Option<StagedChange>,
    /// The switch that keeps the target from what is wanted.
    pub(super) limited_by: Option<LimitedBy>,
}

impl ChangePlan {
    pub(super) fn of(
        behavior: &StagedBehavior,
        before: Option<&StagedChange>,
        staging: &Staging,
    ) -> Self {
        let park = behavior.park();
        let now = staging.now;
        let before = before.filter(|change| explains(behavior, change, staging.current));
        let before = before.filter(|change| !change.is_over(behavior, now));
        let counts = before.map_or(staging.current, |change| change.counts(park));
        let online = counts.online;
        let (wanted, limited_by) = allowed(behavior, online, staging.wanted);
        let goes_on = |change: &&StagedChange| {
            let is_finished = change.progress == Progress::Finished;
            let direction = change.direction();
            match (direction, wanted.cmp(&online)) {
                // Waiting Pods are surplus once nothing else is under way and the counts are written.
                (_, Ordering::Equal) => {
                    !is_finished || counts.parked() == 0 || staging.current.online != online
                }
                // A move after a finished change is a change of its own, and no sooner for that.
                (Direction::Up, Ordering::Greater) | (Direction::Down, Ordering::Less) => {
                    !is_finished
                }
                (Direction::Up, Ordering::Less) | (Direction::Down, Ordering::Greater) => false,
            }
        };
        let begins = || match (wanted == online, counts.parked() > 0) {
            (false, _) => Some(StagedChange::begin(counts, wanted)),
            (true, true) => Some(StagedChange::of_parked(counts, now)),
            (true, false) => None,
        };
        let gone_on = before.filter(goes_on).and_then(|change| {
            let is_parked = change.whole() == 0;
            let moved = change.toward(wanted);
            (is_parked || moved.whole() > 0).then_some(moved)
        });
        let after = |change: StagedChange| match before {
            Some(before) => change.after(before, behavior, now),
            None => change,
        };
        // Where it was before the change that is given up, the next one is no sooner for that.
        let rests = || {
            let rests = after(StagedChange::begin(counts, online)).finished(false);
            before
                .map(|_| rests)
                .filter(|change| !change.is_over(behavior, now))
        };
        let change = gone_on.or_else(|| begins().map(after)).or_else(rests);
        Self {
            counts,
            change: change.map(|change| change.looked_at(is_there(&change, staging), now)),
            limited_by,
        }
    }

    /// The change to go on with, where there is one.
    pub(super) fn under_way(&self) -> Option<StagedChange> {
        let change = self.change;
        change.filter(|change| change.progress != Progress::Finished)
    }
}

/// True where the counts that are there are on the way of a change, as after a write that was lost: between
/// its begin and what its next step comes to, or, once it was rolled back, anything that it may have come to
/// before; where it was cut back, too. Anything else was written by others, and a change begins from there.
fn explains(behavior: &StagedBehavior, change: &StagedChange, current: ReplicaCounts) -> bool {
    let begun = change.begun.online;
    let furthest = match change.stepped {
        Some(at) if change.progress != Progress::Limited => {
            change
                .stepped(behavior.pace(change.direction()).size, at)
                .online
        }
        _ => change.to,
    };
    (begun.min(furthest)..=begun.max(furthest)).contains(&current.online)
}

/// True where what a change has come to is written, and, on the way down, no more Pods take traffic. On the way up it is for
/// checks to say.
fn is_there(change: &StagedChange, staging: &Staging) -> bool {
    let is_written = staging.current.online == change.online;
    let is_down = change.direction() == Direction::Down;
    let reached = staging.reached.filter(|_| is_down);
    let is_reached =
        |reached: ReplicaProgress| reached.online.is_some_and(|online| online <= change.online);
    is_written && reached.is_none_or(is_reached)
}

/// The wanted count, as far as the switches of both directions allow.
fn allowed(behavior: &StagedBehavior, online: i32, wanted: i32) -> (i32, Option<LimitedBy>) {
    let disabled = |field| (online, Some(LimitedBy::ScalingDisabled { field }));
    match wanted.cmp(&online) {
        Ordering::Greater if behavior.up.disabled => disabled("behavior.scaleUp.disabled"),
        Ordering::Less if behavior.down.disabled => disabled("behavior.scaleDown.disabled"),
        _ => (wanted, None),
    }
}
