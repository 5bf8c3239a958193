//! The Events of a CronHPA: runs that change something, windows, missed runs, and the begin of a problem
//! that keeps its crons from being followed. Each reason has a minimum pause between Events, because a
//! schedule may run as often as its user likes.

use evenkeel_core::scaling::cron::{CronEffect, CronEvent};

use super::cron_tick::CronOutcome;
use super::status::READY;
use crate::condition::{Condition, ConditionStatus};
use crate::cron_hpa::{CheckedCronHpa, CronHpaStatus};
use crate::kinds::Kind;
use crate::plan::event::{EventContent, EventSeverity, RegardingObject};
use crate::plan::scaling::context::ScalingContext;
use crate::plan::scaling::event_pauses::EventPauses;
use crate::plan::write::{Purpose, Write};

/// The changes of a tick.
pub(super) struct Changes<'a> {
    pub(super) before: &'a CronHpaStatus,
    pub(super) status: &'a CronHpaStatus,
    pub(super) followed: &'a CronOutcome<'a>,
}

pub(super) fn events(
    cron: &CheckedCronHpa,
    changes: &Changes<'_>,
    pauses: &mut EventPauses,
    context: &ScalingContext<'_>,
) -> Vec<Write> {
    let Changes {
        before,
        status,
        followed,
    } = *changes;
    let happened = followed.ticked.iter().flat_map(|ticked| &ticked.happened);
    let mut all: Vec<(EventSeverity, &'static str, String)> = Vec::new();
    // All happenings with one reason share one Event.
    for (severity, reason, note) in happened.filter_map(|one| told(one, followed.saying)) {
        match all.iter_mut().find(|(_, other, _)| *other == reason) {
            Some((_, _, notes)) => {
                notes.push_str("; ");
                notes.push_str(&note);
            }
            None => all.push((severity, reason, note)),
        }
    }
    if let Some(problem) = followed.problem.as_ref()
        && begins(before, status)
    {
        all.push((
            EventSeverity::Warning,
            problem.reason(),
            problem.to_string(),
        ));
    }
    let regarding = RegardingObject::of(Kind::CronHpa, &cron.object.metadata);
    all.retain(|(_, reason, _)| pauses.allow(reason, context.now));
    let events = all.iter().map(|(severity, reason, note)| {
        let event = EventContent {
            purpose: Purpose::ScalingEvent,
            severity: *severity,
            reason,
            action: "Scale",
            note: note.as_str().into(),
        };
        event.at(&regarding, context.reporter, context.now)
    });
    events.collect()
}

/// The Event of what happened; a run that changes nothing has none.
fn told(
    happening: &CronEvent,
    saying: CronEffect,
) -> Option<(EventSeverity, &'static str, String)> {
    let (field, bounds) = match saying {
        CronEffect::Bounds => ("minReplicas", "bounds are"),
        CronEffect::Count => ("replicas", "count is"),
    };
    Some(match happening {
        CronEvent::Ran { changes: false, .. } => return None,
        CronEvent::Ran {
            rule,
            at,
            target,
            current,
            min,
            changes: true,
        } => {
            let outcome = match min {
                Some(min) => format!("{field} is {min} until the next run"),
                None => format!("the {bounds} the user's"),
            };
            let note =
                format!("{rule}: {target} replicas at {at}, where there were {current}; {outcome}");
            (EventSeverity::Normal, "CronRan", note)
        }
        CronEvent::Missed { rule, at } => {
            let note = format!(
                "{rule}: the run of {at} was missed and is not made up for, because it is older \
                 than startingDeadlineSeconds"
            );
            (EventSeverity::Warning, "CronMissed", note)
        }
        CronEvent::Opened {
            rule,
            replicas,
            until,
        } => {
            let note = format!("{rule}: {field} is {replicas} or more until {until}");
            (EventSeverity::Normal, "WindowOpened", note)
        }
        CronEvent::Closed { rule } => (
            EventSeverity::Normal,
            "WindowClosed",
            format!("{rule}: its window has closed, and what it changed is put back"),
        ),
    })
}

/// True where the crons are not followed for another reason than before.
fn begins(before: &CronHpaStatus, status: &CronHpaStatus) -> bool {
    let of = |status: &CronHpaStatus| -> Option<(ConditionStatus, String)> {
        let is_ready = |condition: &&Condition| condition.kind == READY;
        let ready = status.conditions.iter().find(is_ready)?;
        Some((ready.status, ready.reason.clone()))
    };
    of(before) != of(status)
}
