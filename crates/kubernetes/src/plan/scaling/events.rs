//! What a user is told of a target in Events: the floor as it moves, what is recommended, and each
//! change of a condition that matters, once.

use jiff::Timestamp;

use super::memory::Memory;
use super::owner::Owner;
use super::status::{
    Condition, FLOOR_CONTESTED, FORECAST_TRUSTED, METRICS_AVAILABLE, RECORD_DAMAGED, Status, Truth,
    is_distrust,
};
use super::targets::Resolved;
use super::{Context, Observed};
use crate::plan::event::{Event, Severity};
use crate::plan::{Purpose, Write};
use evenkeel_core::scaling::Mode;
use evenkeel_core::scaling::tracker::Report;

/// The conditions whose begin is warned of, by their type.
const WARNED: [&str; 9] = [
    FLOOR_CONTESTED,
    RECORD_DAMAGED,
    "TargetConflict",
    "BoundsMissing",
    "InvalidBounds",
    "NoAutoscaler",
    "NoResourceMetric",
    "NoRequests",
    "NoWorkload",
];

/// Collects the Events of one plan.
pub(super) struct Telling<'a> {
    observed: &'a Observed,
    owner: Owner<'a>,
    context: &'a Context<'a>,
    memory: &'a mut Memory,
    writes: Vec<Write>,
}

impl<'a> Telling<'a> {
    pub(super) const fn new(
        observed: &'a Observed,
        owner: Owner<'a>,
        context: &'a Context<'a>,
        memory: &'a mut Memory,
    ) -> Self {
        Self {
            observed,
            owner,
            context,
            memory,
            writes: Vec::new(),
        }
    }

    pub(super) fn writes(self) -> Vec<Write> {
        self.writes
    }

    /// A change of the floor that is about to be written, until it has been.
    pub(super) fn floor(&mut self, change: Option<(i32, i32)>, note: &str) {
        let told = std::mem::replace(&mut self.memory.floor, change);
        let Some((from, to)) = change.filter(|_| change != told) else {
            return;
        };
        let reason = if to > from {
            "FloorRaised"
        } else {
            "FloorLowered"
        };
        self.tell(Severity::Normal, reason, note);
    }

    /// More replicas than there are, where they are recommended only.
    pub(super) fn recommendation(&mut self, resolved: &Resolved, report: Option<&Report>) {
        let target = resolved
            .target
            .as_ref()
            .filter(|_| resolved.mode == Mode::Recommend);
        let Some((target, report)) = target.zip(report) else {
            self.memory.recommended = None;
            return;
        };
        let replicas = report.decision.replicas;
        let more = replicas > target.current;
        if more && self.memory.recommended != Some(replicas) && self.may("ReplicasRecommended") {
            self.memory.recommended = Some(replicas);
            self.tell(
                Severity::Normal,
                "ReplicasRecommended",
                &report.decision.reason,
            );
        }
    }

    /// The changes from the status of the tick before.
    pub(super) fn conditions(&mut self, previous: Option<&Status>, status: &Status) {
        for condition in &status.conditions {
            let before = previous.and_then(|previous| previous.condition(&condition.kind));
            if let Some((severity, reason)) = change(before, condition)
                && self.may(reason)
            {
                self.tell(severity, reason, &condition.message);
            }
        }
    }

    fn may(&mut self, reason: &'static str) -> bool {
        self.memory.tells(reason, self.context.now)
    }

    fn tell(&mut self, severity: Severity, reason: &'static str, note: &str) {
        let Context { reporter, now } = *self.context;
        let regarding = self.owner.regarding(&self.observed.namespace);
        let event = Event {
            purpose: Purpose::ScalingEvent,
            severity,
            reason,
            action: "Scale",
            note,
        };
        self.writes.push(event.at(&regarding, reporter, now));
    }
}

/// What a condition that has changed is told as; most begin without being told.
fn change(before: Option<&Condition>, now: &Condition) -> Option<(Severity, &'static str)> {
    let was = before.map(|before| before.status);
    match (now.kind.as_str(), now.status) {
        (FORECAST_TRUSTED, Truth::False) => {
            let lost = was == Some(Truth::True) && is_distrust(&now.reason);
            lost.then_some((Severity::Warning, "ForecastUntrusted"))
        }
        (FORECAST_TRUSTED, Truth::True) => {
            let back = before.is_some_and(|b| b.status == Truth::False && is_distrust(&b.reason));
            back.then_some((Severity::Normal, "ForecastTrusted"))
        }
        (METRICS_AVAILABLE, Truth::False) => {
            (was == Some(Truth::True)).then_some((Severity::Warning, "MetricsUnavailable"))
        }
        (METRICS_AVAILABLE, Truth::True) | (_, Truth::False) => None,
        (kind, Truth::True) => {
            let reason = WARNED.into_iter().find(|reason| *reason == kind)?;
            (was != Some(Truth::True)).then_some((Severity::Warning, reason))
        }
    }
}

/// Why the user's bounds are put back.
pub(super) fn put_back(resolved: &Resolved, now: Timestamp) -> String {
    let bounds = resolved.bounds.as_ref();
    if resolved.is_contested() {
        return "the user's bounds are put back: another writer undid the floor twice".to_owned();
    }
    let until = bounds.and_then(|bounds| bounds.floor(now));
    match (resolved.problems.first(), resolved.mode) {
        (Some(problem), _) => format!("the user's bounds are put back: {problem}"),
        (None, Mode::Off) => "the user's bounds are put back: scaling is off".to_owned(),
        (None, mode) if until.is_some() => {
            format!(
                "the user's bounds are put back: the mode is {}",
                mode.as_str()
            )
        }
        (None, _) => "the user's bounds are put back: the floor has lapsed".to_owned(),
    }
}
