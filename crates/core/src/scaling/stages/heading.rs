//! The change that a step goes on with: the one that is under way, one that begins, or none.

use std::cmp::Ordering;

use jiff::Timestamp;

use super::behavior::{Direction, StagedBehavior};
use super::change::Change;
use super::staged::Staging;
use crate::scaling::limit::LimitedBy;
use crate::scaling::replica_counts::ReplicaCounts;

/// Where a target is going.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Heading {
    pub direction: Direction,
    /// When the last step of the change was made; `None` before the first.
    pub stepped: Option<Timestamp>,
}

/// Where a target is going, for the stability checks, whose command `staging` does not need to have yet; `None` where it is
/// where it is to be.
#[must_use]
pub fn heading(
    behavior: &StagedBehavior,
    before: Option<&Change>,
    staging: &Staging,
) -> Option<Heading> {
    let change = Course::of(behavior, before, staging).change?;
    Some(Heading {
        direction: change.direction(),
        stepped: change.stepped,
    })
}

/// The change to go on with, before its next step.
pub(super) struct Course {
    /// The counts from which it goes on.
    pub(super) counts: ReplicaCounts,
    pub(super) change: Option<Change>,
    /// The switch that keeps the target from what is wanted.
    pub(super) limited_by: Option<LimitedBy>,
}

impl Course {
    pub(super) fn of(
        behavior: &StagedBehavior,
        before: Option<&Change>,
        staging: &Staging,
    ) -> Self {
        let park = behavior.park();
        let before = before.filter(|change| explains(behavior, change, staging.current));
        let counts = before.map_or(staging.current, |change| change.counts(park));
        let online = counts.online;
        let (wanted, limited_by) = allowed(behavior, online, staging.wanted);
        let goes_on = |change: &&Change| match (change.direction(), wanted.cmp(&online)) {
            (_, Ordering::Equal)
            | (Direction::Up, Ordering::Greater)
            | (Direction::Down, Ordering::Less) => true,
            (Direction::Up, Ordering::Less) | (Direction::Down, Ordering::Greater) => false,
        };
        let begins = || match (wanted == online, counts.parked() > 0) {
            (false, _) => Some(Change::begin(counts, wanted)),
            (true, true) => Some(Change::of_parked(counts, staging.now)),
            (true, false) => None,
        };
        let gone_on = before.filter(goes_on).and_then(|change| {
            let is_parked = change.whole() == 0;
            let moved = change.toward(wanted);
            (is_parked || moved.whole() > 0).then_some(moved)
        });
        let change = gone_on.or_else(begins);
        Self {
            counts,
            change,
            limited_by,
        }
    }
}

/// True where the counts that are there are on the way of a change, as after a write that was lost: between
/// its begin and what its next step comes to, or, once it was rolled back, anything that it may have come to
/// before. Anything else was written by others, and a change begins from there.
fn explains(behavior: &StagedBehavior, change: &Change, current: ReplicaCounts) -> bool {
    let begun = change.begun.online;
    let furthest = match change.stepped {
        Some(at) => {
            change
                .stepped(behavior.pace(change.direction()).size, at)
                .online
        }
        None => change.to,
    };
    (begun.min(furthest)..=begun.max(furthest)).contains(&current.online)
}

/// What is wanted, as far as the switches of both directions allow.
fn allowed(behavior: &StagedBehavior, online: i32, wanted: i32) -> (i32, Option<LimitedBy>) {
    let disabled = |field| (online, Some(LimitedBy::ScalingDisabled { field }));
    match wanted.cmp(&online) {
        Ordering::Greater if behavior.up.disabled => disabled("behavior.scaleUp.disabled"),
        Ordering::Less if behavior.down.disabled => disabled("behavior.scaleDown.disabled"),
        _ => (wanted, None),
    }
}
