//! The Events of a target: the floor as it moves, recommended replicas, and each change of a
//! condition that matters, once.

use evenkeel_hpa::EventType;
use evenkeel_objects::condition::{Condition, ConditionStatus};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::event::{EventContent, EventSeverity};
use evenkeel_objects::plan::status_writer::Status as _;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::Timestamp;

use super::TargetStatus;
use super::conditions::{
    FLOOR_CONTESTED, FORECAST_TRUSTED, METRICS_AVAILABLE, RECORD_DAMAGED, REPLICAS_CONTESTED,
    is_distrust,
};
use super::memory::PlanMemory;
use crate::targets::bounds::FloorChange;
use crate::targets::owner::Owner;
use crate::targets::problem::TargetProblem;
use crate::targets::resolve::ResolvedTarget;
use crate::tracker::TickReport;

/// The reason of the Warning that a condition of this type begins with; `None` where there is none.
fn warning(kind: &str) -> Option<&'static str> {
    let own = [FLOOR_CONTESTED, REPLICAS_CONTESTED, RECORD_DAMAGED];
    let mut warned = own
        .into_iter()
        .chain(TargetProblem::KINDS)
        .filter(|reason| *reason != TargetProblem::PAUSED);
    warned.find(|reason| *reason == kind)
}

const FLOOR_LOWERED: &str = "FloorLowered";
const REPLICAS_LOWERED: &str = "ReplicasLowered";
/// The HPA's own reason, for a count that is set here.
const RESCALED: &str = "SuccessfulRescale";

/// True for an Event that tells of a floor or a count which goes down; where the plan lowers one, for an
/// Event of the HPA's algorithm on a new count too.
pub(crate) fn tells_of_lowering(write: &Write) -> bool {
    let WriteOperation::Create(event) = &write.operation else {
        return false;
    };
    let reason = event["reason"].as_str();
    write.purpose == Purpose::ScalingEvent
        && [FLOOR_LOWERED, REPLICAS_LOWERED, RESCALED]
            .into_iter()
            .any(|lowered| reason == Some(lowered))
}

/// The Events of one plan, as they are collected.
pub(crate) struct EventPlan<'a> {
    owner: Owner<'a>,
    memory: &'a mut PlanMemory,
    now: Timestamp,
    pub(crate) events: Vec<EventContent<'static>>,
}

impl<'a> EventPlan<'a> {
    pub(crate) const fn new(owner: Owner<'a>, memory: &'a mut PlanMemory, now: Timestamp) -> Self {
        Self {
            owner,
            memory,
            now,
            events: Vec::new(),
        }
    }

    /// A change of the floor, or of a count, that is about to be written, once until it has been.
    pub(crate) fn least(&mut self, change: Option<FloorChange>, note: &str) {
        let before = std::mem::replace(&mut self.memory.floor, change);
        let Some(FloorChange { from, to }) = change.filter(|_| change != before) else {
            return;
        };
        let is_count = self.owner.has_count() || self.owner.kind == Kind::Ihpa;
        let reason = match (is_count, to > from) {
            (false, true) => "FloorRaised",
            (false, false) => FLOOR_LOWERED,
            (true, true) => "ReplicasRaised",
            (true, false) => REPLICAS_LOWERED,
        };
        self.add(EventSeverity::Normal, reason, note);
    }

    /// More replicas than there are, where they are recommended only.
    pub(crate) fn recommendation(
        &mut self,
        resolved: &ResolvedTarget,
        report: Option<&TickReport>,
    ) {
        let target = resolved
            .target
            .as_ref()
            .filter(|_| resolved.mode == ScalingMode::Recommend);
        let Some((target, report)) = target.zip(report) else {
            self.memory.recommended = None;
            return;
        };
        let replicas = report.decision.replicas;
        let more = replicas > target.current;
        if more && self.memory.recommended != Some(replicas) && self.allows("ReplicasRecommended") {
            self.memory.recommended = Some(replicas);
            self.add(
                EventSeverity::Normal,
                "ReplicasRecommended",
                &report.decision.reason,
            );
        }
    }

    /// The Events of the HPA's algorithm, where the count is set here: each change of it, and of what
    /// is wrong the same only now and then.
    pub(crate) fn hpa(&mut self, resolved: &ResolvedTarget, report: Option<&TickReport>) {
        let told = report.and_then(|report| report.hpa.as_ref());
        let told = told.filter(|_| resolved.mode == ScalingMode::Direct);
        // Of an IHPA each change is told of as that of all its portraits.
        let is_told = |reason: &str| self.owner.kind == Kind::Ihpa && reason == RESCALED;
        let told = told.into_iter().flat_map(|hpa| &hpa.events);
        let told: Vec<_> = told.filter(|event| !is_told(event.reason)).collect();
        for event in told {
            let severity = match event.event_type {
                EventType::Normal => EventSeverity::Normal,
                EventType::Warning => EventSeverity::Warning,
            };
            if severity == EventSeverity::Normal || self.allows(event.reason) {
                self.add(severity, event.reason, &event.message);
            }
        }
    }

    /// The changes from the status of the tick before.
    pub(crate) fn conditions(&mut self, previous: Option<&TargetStatus>, status: &TargetStatus) {
        for condition in &status.conditions {
            let before = previous.and_then(|previous| previous.condition(&condition.kind));
            if let Some((severity, reason)) = change(before, condition)
                && self.allows(reason)
            {
                self.add(severity, reason, &condition.message);
            }
        }
    }

    fn allows(&mut self, reason: &'static str) -> bool {
        self.memory.written.allows_event(reason, self.now)
    }

    fn add(&mut self, severity: EventSeverity, reason: &'static str, note: &str) {
        let event = EventContent::of_scaling(severity, reason, note.to_owned());
        self.events.push(event);
    }
}

/// The Event of a condition that has changed; most conditions begin without one.
fn change(before: Option<&Condition>, now: &Condition) -> Option<(EventSeverity, &'static str)> {
    let was = before.map(|before| before.status);
    match (now.kind.as_str(), now.status) {
        (FORECAST_TRUSTED, ConditionStatus::False) => {
            let lost = was == Some(ConditionStatus::True) && is_distrust(&now.reason);
            lost.then_some((EventSeverity::Warning, "ForecastUntrusted"))
        }
        (FORECAST_TRUSTED, ConditionStatus::True) => {
            let back = before
                .is_some_and(|b| b.status == ConditionStatus::False && is_distrust(&b.reason));
            back.then_some((EventSeverity::Normal, "ForecastTrusted"))
        }
        (METRICS_AVAILABLE, ConditionStatus::False) => (was == Some(ConditionStatus::True))
            .then_some((EventSeverity::Warning, "MetricsUnavailable")),
        (METRICS_AVAILABLE, ConditionStatus::True)
        | (_, ConditionStatus::False | ConditionStatus::Unknown) => None,
        (kind, ConditionStatus::True) => {
            let reason = warning(kind)?;
            (was != Some(ConditionStatus::True)).then_some((EventSeverity::Warning, reason))
        }
    }
}

/// The Event of a conflict that the object has not been told of.
pub(crate) fn first_told(
    held: Option<&TargetStatus>,
    status: &TargetStatus,
) -> Option<EventContent<'static>> {
    const CONFLICT: &str = TargetProblem::DIRECT_CONFLICT;
    let condition = status.condition(CONFLICT)?;
    let is_told = held.is_some_and(|held| held.condition(CONFLICT).is_some());
    let note = condition.message.clone();
    (!is_told).then(|| EventContent::of_scaling(EventSeverity::Warning, CONFLICT, note))
}

/// The reason why the user's bounds, or his count, are put back.
pub(crate) fn put_back(resolved: &ResolvedTarget, now: Timestamp) -> String {
    if resolved.is_contested() {
        return "the user's bounds are put back: another writer reverted the floor twice"
            .to_owned();
    }
    let bounds = resolved.bounds.as_ref();
    let floor = bounds.and_then(|bounds| bounds.floor(now));
    let is_count = bounds.is_some_and(|bounds| bounds.found().is_count());
    let what = if is_count { "replicas" } else { "bounds" };
    // An option without effect takes nothing away.
    let is_reason =
        |problem: &&TargetProblem| !matches!(problem, TargetProblem::OptionIgnored { .. });
    let problem = resolved.problems.iter().find(is_reason);
    let why = match (problem, resolved.mode) {
        (Some(problem), _) => problem.to_string(),
        (None, ScalingMode::Off) => "scaling is off".to_owned(),
        (None, mode) if floor.is_some() => format!("the mode is {}", mode.as_str()),
        (None, _) if is_count => "nothing asks for other replicas any more".to_owned(),
        (None, _) => "the floor has expired".to_owned(),
    };
    format!("the user's {what} are put back: {why}")
}
