//! The Events of a CronHPA: each run and window, and the begin of what keeps its crons from being
//! followed.

use evenkeel_core::scaling::cron::{Happening, Saying};

use super::followed::Followed;
use super::status::READY;
use crate::condition::{Condition, ConditionStatus};
use crate::cron_hpa::{CheckedCronHpa, CronHpaStatus};
use crate::kinds::Kind;
use crate::plan::event::{Event, Regarding, Severity};
use crate::plan::scaling::context::Context;
use crate::plan::write::{Purpose, Write};

pub(super) fn events(
    cron: &CheckedCronHpa,
    before: &CronHpaStatus,
    status: &CronHpaStatus,
    followed: &Followed<'_>,
    context: &Context<'_>,
) -> Vec<Write> {
    let regarding = Regarding::of(Kind::CronHpa, &cron.object.metadata);
    let event = |severity, reason, note: &str| {
        let event = Event {
            purpose: Purpose::ScalingEvent,
            severity,
            reason,
            action: "Scale",
            note,
        };
        event.at(&regarding, context.reporter, context.now)
    };
    let happened = followed.ticked.iter().flat_map(|ticked| &ticked.happened);
    let mut writes: Vec<Write> = happened
        .map(|happening| {
            let (severity, reason, note) = told(happening, followed.saying);
            event(severity, reason, &note)
        })
        .collect();
    if let Some(problem) = followed.problem.as_ref()
        && begins(before, status)
    {
        writes.push(event(
            Severity::Warning,
            problem.reason(),
            &problem.to_string(),
        ));
    }
    writes
}

fn told(happening: &Happening, saying: Saying) -> (Severity, &'static str, String) {
    let (field, bounds) = match saying {
        Saying::Bounds => ("minReplicas", "bounds are"),
        Saying::Count => ("replicas", "count is"),
    };
    match happening {
        Happening::Ran {
            rule,
            at,
            target,
            current,
            min,
        } => {
            let outcome = match min {
                Some(min) => format!("{field} is {min} until the next run"),
                None => format!("the {bounds} the user's"),
            };
            let note =
                format!("{rule}: {target} replicas at {at}, where there were {current}; {outcome}");
            (Severity::Normal, "CronRan", note)
        }
        Happening::Missed { rule, at } => {
            let note = format!(
                "{rule}: the run of {at} was missed, and is older than startingDeadlineSeconds allows \
                 to make up for"
            );
            (Severity::Warning, "CronMissed", note)
        }
        Happening::Opened {
            rule,
            replicas,
            until,
        } => {
            let note = format!("{rule}: {field} is {replicas} or more until {until}");
            (Severity::Normal, "WindowOpened", note)
        }
        Happening::Closed { rule } => (
            Severity::Normal,
            "WindowClosed",
            format!("{rule}: its window has closed, and what it changed is put back"),
        ),
    }
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
