//! The writes of one target at one tick: bounds and status in one request, and Events.

mod direct_mode;
pub(crate) mod fairness;
mod ihpa;
mod replica_profile;
pub mod scale_in;
mod stale_metadata;
#[cfg(test)]
pub(crate) mod tests;

use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::status_writer::StatusSubject;
use evenkeel_objects::plan::write::{Purpose, Write};
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::Timestamp;

use self::stale_metadata::{left_behind, told_beside, write};
use super::status::TargetStatus;
use crate::bounds_record::contest_inquiry::ContestInquiry;
use crate::status::conditions::Circumstances;
use crate::status::events;
use crate::status::events::EventPlan;
use crate::status::memory::PlanMemory;
use crate::targets::bounds::{BoundsUpdate, FloorChange, ObservedBounds};
use crate::targets::owner::Owner;
use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;
use crate::tracker::TickReport;

/// The writes that bring a target's object in line with the decision of a tick, and the Events that
/// tell of it. `report` is that of this tick; without one a target stays as it is.
///
/// The plan of what the writes leave behind, at the same time, is empty.
pub fn plan(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
    memory: &mut PlanMemory,
    context: &PlanContext<'_>,
) -> Vec<Write> {
    memory.begin(context.now);
    let Some(owner) = Owner::of(observed) else {
        return Vec::new();
    };
    if let Some(wake) = direct_mode::awaken(observed).filter(|_| !resolved.is_direct()) {
        return vec![wake];
    }
    if resolved.target.is_some() && report.is_none() {
        return Vec::new();
    }
    if observed.ihpa.is_some() {
        return ihpa::plan(observed, resolved, report, memory, context);
    }
    let plan = TargetPlan::new(owner, resolved, report, context.now);
    plan.remember_record(memory);
    let held = TargetStatus::held_by(owner.metadata);
    let on = StatusSubject {
        kind: owner.kind,
        metadata: owner.metadata,
        held: held.as_ref(),
    };
    let previous = memory.written.take_before(&on, context.now);
    let status = plan.status(previous.as_ref(), memory);

    let mut events = EventPlan::new(owner, memory, context.now);
    let change = plan.update.as_ref().and_then(BoundsUpdate::floor_change);
    events.least(change, &plan.floor_note());
    events.recommendation(resolved, report);
    events.hpa(resolved, report);
    if let Some(status) = &status {
        events.conditions(previous.as_ref(), status);
    }
    let events = events.events;

    let due = plan.status_due(status.as_ref(), held.as_ref(), memory);
    let is_written = matches!(due, StatusDue::Write(_));
    let object = plan.write(&observed.namespace, due);
    let beside = match &status {
        Some(status) if has_direct_conflict(resolved) => {
            told_beside(observed, owner, status, context)
        }
        _ => left_behind(observed, owner, context.now)
            .into_iter()
            .collect(),
    };
    memory.written.note(status, is_written, context.now);
    direct_mode::write(observed, resolved, report)
        .into_iter()
        .chain(object)
        .chain(beside)
        .chain(context.writes_of(&events, &owner.regarding(&observed.namespace)))
        .collect()
}

/// The lowering of the least replicas, or of a count, that [`plan`] writes; `None` where there is none.
pub(crate) fn lowered(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
    now: Timestamp,
) -> Option<FloorChange> {
    let plan = TargetPlan::new(Owner::of(observed)?, resolved, report, now);
    let change = plan.update.as_ref().and_then(BoundsUpdate::floor_change);
    change.filter(|change| change.to < change.from)
}

/// True where the workload itself is concerned too: both sides of the conflict are told.
fn has_direct_conflict(resolved: &ResolvedTarget) -> bool {
    let mut problems = resolved.problems.iter();
    problems.any(|problem| matches!(problem, TargetProblem::DirectConflict(_)))
}

/// Remembers the record of a target for which another replica plans. So a new leader knows a record that
/// another writer removes meanwhile, until the bounds are the user's again.
pub fn follow(resolved: &ResolvedTarget, memory: &mut PlanMemory, now: Timestamp) {
    memory.begin(now);
    memory.written.forget_planned();
    memory.ihpa.forget_planned();
    let Some(bounds) = &resolved.bounds else {
        return;
    };
    let written = bounds.written();
    if (written.is_some() || bounds.are_users()) && memory.record.as_ref() != written {
        memory.record = written.cloned();
    }
}

/// The bounds and the status that an object is to have.
struct TargetPlan<'a> {
    owner: Owner<'a>,
    resolved: &'a ResolvedTarget,
    report: Option<&'a TickReport>,
    update: Option<BoundsUpdate>,
    /// True where nothing is to be left behind.
    restores: bool,
    now: Timestamp,
}

/// The change of a status that is due.
#[derive(Debug, Clone, Copy)]
enum StatusDue<'a> {
    /// The status stays as it is.
    None,
    /// The status is written.
    Write(&'a TargetStatus),
    /// The status is removed.
    Remove,
}

impl<'a> TargetPlan<'a> {
    fn new(
        owner: Owner<'a>,
        resolved: &'a ResolvedTarget,
        report: Option<&'a TickReport>,
        now: Timestamp,
    ) -> Self {
        let wanted = resolved.mode == ScalingMode::Floor && resolved.target.is_some();
        let update = |bounds: &ObservedBounds| match report.filter(|_| wanted) {
            Some(report) => Some(bounds.contribute(report.contribution.as_ref(), now)),
            None if resolved.is_declined => bounds.restore(),
            None if resolved.is_direct() && owner.has_count() => bounds.release(),
            None if resolved.keeps_floor => Some(bounds.keep(now)),
            None => Some(bounds.withdraw(now)),
        };
        Self {
            owner,
            resolved,
            report,
            update: resolved.bounds.as_ref().and_then(update),
            restores: false,
            now,
        }
    }

    /// Remembers the record that the object has, unless it is about to go. One that has gone from
    /// the object stays remembered until the object is as it follows from it: a write may be lost.
    fn remember_record(&self, memory: &mut PlanMemory) {
        let bounds = self.resolved.bounds.as_ref();
        let written = bounds.and_then(ObservedBounds::written);
        let update = self.update.as_ref();
        let goes = update.is_some_and(BoundsUpdate::removes_record);
        let changes = update.is_some_and(BoundsUpdate::changes);
        if written.is_some() || goes || !changes {
            memory.record = written.filter(|_| !goes).cloned();
        }
        let contested = self
            .report
            .is_some_and(|report| report.decision.is_contested());
        if !self.resolved.is_contested() && !contested {
            memory.contest = ContestInquiry::None;
        }
    }

    /// The status of this tick; `None` where scaling is off.
    fn status(&self, previous: Option<&TargetStatus>, memory: &PlanMemory) -> Option<TargetStatus> {
        let circumstances = Circumstances {
            now: self.now,
            previous: previous.map_or(&[], |previous| &previous.conditions),
            contester: memory.contest.writer(),
            begins: memory.begins(self.now),
        };
        (self.resolved.mode != ScalingMode::Off)
            .then(|| TargetStatus::of(self.resolved, self.report, &circumstances))
    }

    /// The note of an Event on a change of the floor.
    fn floor_note(&self) -> String {
        let bounds = self.resolved.bounds.as_ref();
        if let Some(note) = bounds.and_then(ObservedBounds::cron_note) {
            return note;
        }
        let wanted = self.resolved.mode == ScalingMode::Floor && !self.resolved.is_contested();
        match self.report.filter(|_| wanted) {
            Some(report) => report.decision.reason.clone(),
            None => events::put_back(self.resolved, self.now),
        }
    }

    /// The change of the status that is due; `held` is the status that the object has.
    fn status_due<'s>(
        &self,
        status: Option<&'s TargetStatus>,
        held: Option<&TargetStatus>,
        memory: &mut PlanMemory,
    ) -> StatusDue<'s> {
        let Some(status) = status else {
            return self.removal();
        };
        memory.written.spare_figures(self.now);
        let bounds_change = self.update.as_ref().is_some_and(BoundsUpdate::changes);
        let with_bounds = bounds_change && held != Some(status);
        if with_bounds || memory.written.is_due(held, status, self.now) {
            StatusDue::Write(status)
        } else {
            StatusDue::None
        }
    }

    /// The removal of a status that the object has.
    fn removal(&self) -> StatusDue<'static> {
        if TargetStatus::is_on(self.owner.metadata) {
            StatusDue::Remove
        } else {
            StatusDue::None
        }
    }

    /// The one write that brings the object in line, if it is not.
    fn write(&self, namespace: &str, status: StatusDue<'_>) -> Option<Write> {
        let update = self.update.as_ref().filter(|update| update.changes());
        let metadata = self.owner.metadata;
        let mut patch = ConditionalPatch::of(metadata);
        if let Some(update) = update {
            update.put(&self.owner, &mut patch);
        }
        match status {
            StatusDue::None => {}
            StatusDue::Write(status) => TargetStatus::put(Some(status), metadata, &mut patch),
            StatusDue::Remove => TargetStatus::put(None, metadata, &mut patch),
        }
        let purpose = match update {
            _ if self.restores => Purpose::Restore,
            Some(update) if update.is_urgent() => Purpose::ScalingBounds,
            Some(_) | None => Purpose::ScalingStatus,
        };
        let gap = update.map_or(0, BoundsUpdate::gap);
        write(self.owner, namespace, purpose, patch).map(|write| Write { gap, ..write })
    }
}

/// The writes that leave nothing behind on the objects of a target: the user's own bounds, no record
/// and no status. None where nothing is left already. A record that is damaged stays with the bounds.
pub fn restore(observed: &TargetObjects, resolved: &ResolvedTarget) -> Vec<Write> {
    let Some(owner) = Owner::of(observed) else {
        return Vec::new();
    };
    if let Some(wake) = direct_mode::awaken(observed) {
        return vec![Write {
            purpose: Purpose::Restore,
            ..wake
        }];
    }
    let plan = TargetPlan {
        owner,
        resolved,
        report: None,
        update: resolved.bounds.as_ref().and_then(ObservedBounds::restore),
        restores: true,
        now: Timestamp::UNIX_EPOCH,
    };
    let left = left_behind(observed, owner, Timestamp::UNIX_EPOCH).map(|write| Write {
        purpose: Purpose::Restore,
        ..write
    });
    let object = plan.write(&observed.namespace, plan.removal());
    object.into_iter().chain(left).collect()
}
