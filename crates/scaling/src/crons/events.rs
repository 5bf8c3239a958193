//! The Events of a CronHPA: runs that change something, windows, missed runs, and the begin of a problem
//! that keeps its crons from being followed. Each reason has a minimum pause between Events, because a
//! schedule may run as often as its user likes.

use evenkeel_api::cron_hpa::status::CronHpaStatus;
use evenkeel_cron::{CronEffect, CronEvent};
use evenkeel_objects::plan::event::{EventContent, EventSeverity};
use evenkeel_objects::plan::status_writer::Status as _;

use super::cron_tick::CronOutcome;
use super::status::READY;

/// The Events of a tick from the status `before` to this one.
pub(super) fn events(
    before: &CronHpaStatus,
    status: &CronHpaStatus,
    followed: &CronOutcome<'_>,
) -> Vec<EventContent<'static>> {
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
    let ready = |status: &CronHpaStatus| {
        let ready = status.condition(READY)?;
        Some((ready.status, ready.reason.clone()))
    };
    // The crons are not followed for another reason than before.
    if let Some(problem) = followed.problem.as_ref()
        && ready(before) != ready(status)
    {
        all.push((
            EventSeverity::Warning,
            problem.reason(),
            problem.to_string(),
        ));
    }
    let events = all.into_iter();
    events
        .map(|(severity, reason, note)| EventContent::of_scaling(severity, reason, note))
        .collect()
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
