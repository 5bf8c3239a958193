//! The writes of an IHPA at one tick: its status, the count, and Events.

use evenkeel_api::ihpa::status::{GrayStatus, IhpaStatus};
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::event::EventContent;
use evenkeel_objects::plan::status_writer::Status as _;
use evenkeel_objects::plan::write::Write;
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::Timestamp;

use super::replica_profile;
use super::stale_metadata::{left_behind, told_beside};
use crate::ihpa::conditions::conditions;
use crate::ihpa::events::{of_count, of_portraits, of_stages};
use crate::ihpa::status::{IhpaStatusInput, status, subject};
use crate::recommend::merged_portraits::MergedPortraits;
use crate::specs::ihpa::CheckedIhpa;
use crate::status::TargetStatus;
use crate::status::conditions::Circumstances;
use crate::status::events::EventPlan;
use crate::status::memory::PlanMemory;
use crate::targets::bounds::FloorChange;
use crate::targets::owner::Owner;
use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;
use crate::tracker::TickReport;

/// The writes that bring an IHPA and its workload in line with the decision of a tick. The status goes first: what is under
/// way stands in it.
pub(crate) fn plan(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
    memory: &mut PlanMemory,
    context: &PlanContext<'_>,
) -> Vec<Write> {
    let Some(ihpa) = observed.ihpa.as_deref() else {
        return Vec::new();
    };
    let now = context.now;
    let owner = Owner::of_ihpa(ihpa);
    let on = subject(ihpa);
    let known = memory.ihpa.take_before(&on, now);
    let ticked = IhpaTick::new(observed, resolved, report, known.unwrap_or_default());
    let told = ticked.told(memory, now);
    let next = ticked.status(ihpa, &told, now);
    let events = ticked.events(EventPlan::new(owner, memory, now), &told);
    let beside = if told.condition(TargetProblem::DIRECT_CONFLICT).is_some() {
        told_beside(observed, owner, &told, context)
    } else {
        left_behind(observed, owner, now).into_iter().collect()
    };
    memory.written.note(Some(told), false, now);
    let mut writes = memory.ihpa.plan(&on, next, &events, context);
    writes.extend(replica_profile::writes(observed, resolved, report));
    writes.extend(beside);
    writes
}

/// One tick of an IHPA, with the status of the tick before.
struct IhpaTick<'a> {
    observed: &'a TargetObjects,
    resolved: &'a ResolvedTarget,
    report: Option<&'a TickReport>,
    portrayed: Option<&'a MergedPortraits>,
    known: IhpaStatus,
}

impl<'a> IhpaTick<'a> {
    fn new(
        observed: &'a TargetObjects,
        resolved: &'a ResolvedTarget,
        report: Option<&'a TickReport>,
        known: IhpaStatus,
    ) -> Self {
        Self {
            observed,
            resolved,
            report,
            portrayed: report.and_then(|report| report.portrayed.as_deref()),
            known,
        }
    }

    /// The decision in the form in which every target has it.
    fn told(&self, memory: &PlanMemory, now: Timestamp) -> TargetStatus {
        let previous = &self.known.conditions;
        let circumstances = Circumstances {
            now,
            previous,
            contester: memory.contest.writer(),
            begins: memory.begins(now),
        };
        let mut told = TargetStatus::of(self.resolved, self.report, &circumstances);
        let general = std::mem::take(&mut told.conditions);
        told.conditions = conditions(general, self.resolved, self.report, previous, now);
        told
    }

    fn status(&self, ihpa: &CheckedIhpa, told: &TargetStatus, now: Timestamp) -> IhpaStatus {
        let workload = self.observed.workload.as_ref();
        status(
            self.portrayed,
            IhpaStatusInput {
                before: &self.known,
                generation: ihpa.object.metadata.generation,
                current: workload.map(|workload| workload.replicas),
                mode: self.resolved.mode,
                conditions: told.conditions.clone(),
                now,
            },
        )
    }

    fn events(&self, mut events: EventPlan<'_>, told: &TargetStatus) -> Vec<EventContent<'static>> {
        let (resolved, report) = (self.resolved, self.report);
        events.least(self.change(), &self.note());
        events.recommendation(resolved, report);
        events.hpa(resolved, report);
        let previous = TargetStatus {
            conditions: self.known.conditions.clone(),
            ..told.clone()
        };
        events.conditions(Some(&previous), told);
        let acts = resolved.mode == ScalingMode::Direct;
        let staged = self.portrayed.filter(|_| acts);
        let was_under_way = self
            .known
            .gray
            .as_ref()
            .is_some_and(GrayStatus::is_under_way);
        let staged = staged.map(|one| of_stages(one, was_under_way));
        let portraits = of_portraits(&self.known.conditions, &told.conditions);
        let mut events = events.events;
        events.extend(staged.into_iter().flatten().chain(portraits));
        events
    }

    /// The change of the count that is about to be written.
    fn change(&self) -> Option<FloorChange> {
        let target = self.resolved.target.as_ref()?;
        let report = self.report.filter(|_| self.resolved.is_direct())?;
        let (from, to) = (target.current, report.decision.replicas);
        (from != to).then_some(FloorChange { from, to })
    }

    fn note(&self) -> String {
        let decision = self.report.map(|report| report.decision.reason.as_str());
        let counts = self.portrayed.map(|one| one.staged.counts);
        of_count(decision.unwrap_or_default(), counts.unwrap_or_default())
    }
}
