//! The status of a CronHPA after a tick.

use evenkeel_api::cron_hpa::status::{ActiveCron, CronHpaStatus, LastRun, NextRun};
use evenkeel_cron::{CronEffect, CronEvent, CronOccasion, CronSpec, ScheduleCache, local_time};
use evenkeel_objects::condition::{Condition, settle};
use jiff::Timestamp;

use super::cron_tick::CronOutcome;
use crate::specs::cron_hpa::CheckedCronHpa;

/// The condition that the crons are followed.
pub(super) const READY: &str = CronHpaStatus::READY;
/// The condition that something is asked for at present.
const ACTIVE: &str = "Active";

/// The number of runs to come that are shown.
const SHOWN: usize = 5;

pub(super) fn status(
    cron: &CheckedCronHpa,
    before: &CronHpaStatus,
    followed: &CronOutcome<'_>,
    next_runs: Vec<NextRun>,
    now: Timestamp,
) -> CronHpaStatus {
    let state = followed.state(before);
    let mut status = CronHpaStatus {
        observed_generation: Some(cron.object.generation),
        active: active(followed),
        held: None,
        last_run: last_run(followed).or_else(|| before.last_run.clone()),
        next_runs,
        crons: Vec::new(),
        conditions: vec![ready(cron, followed), asks(followed)],
    };
    status.hold(&state);
    let generation = status.observed_generation;
    settle(&mut status.conditions, &before.conditions, generation, now);
    status
}

fn active(followed: &CronOutcome<'_>) -> Option<ActiveCron> {
    let contribution = followed.contribution.as_ref()?;
    Some(ActiveCron {
        min_replicas: contribution.min()?,
        until: contribution.until,
    })
}

fn last_run(followed: &CronOutcome<'_>) -> Option<LastRun> {
    let happened = &followed.ticked.as_ref()?.happened;
    happened.iter().rev().find_map(|happening| match happening {
        CronEvent::Ran {
            rule,
            at,
            target,
            current,
            min: _,
            changes: _,
        } => Some(LastRun {
            cron: rule.clone(),
            scheduled_time: *at,
            target: *target,
            replicas: *current,
        }),
        CronEvent::Missed { .. } | CronEvent::Opened { .. } | CronEvent::Closed { .. } => None,
    })
}

/// The runs to come, of rules that are accepted, whether they are followed or not.
pub(super) fn next_runs(
    followed: &CronOutcome<'_>,
    before: &CronHpaStatus,
    agenda: &mut ScheduleCache,
    now: Timestamp,
) -> Vec<NextRun> {
    let Some(spec) = followed.spec else {
        return Vec::new();
    };
    let next = agenda.next(spec, &followed.state(before), now, SHOWN);
    let shown = next.into_iter().map(|one| NextRun {
        cron: one.rule.name.clone(),
        time: one.at.timestamp(),
        local_time: local_time(&one.at),
        replicas: one.rule.replicas,
        end: match one.occasion {
            CronOccasion::Run => None,
            CronOccasion::Window { end } => Some(end.timestamp()),
        },
    });
    shown.collect()
}

fn ready(cron: &CheckedCronHpa, followed: &CronOutcome<'_>) -> Condition {
    if let Some(problem) = &followed.problem {
        return Condition::new(READY, false, problem.reason(), problem.to_string());
    }
    let suspended = followed.spec.is_some_and(CronSpec::is_suspended);
    let (reason, message) = if suspended {
        ("Suspended", "all crons are suspended".to_owned())
    } else {
        let target = &cron.object.spec.scale_target_ref;
        ("Followed", format!("the crons are followed for {target}"))
    };
    Condition::new(READY, true, reason, message)
}

fn asks(followed: &CronOutcome<'_>) -> Condition {
    let (holds, reason, message) = match active(followed) {
        Some(ActiveCron {
            min_replicas,
            until,
        }) => {
            let until = until.map_or_else(
                || "until the next run".to_owned(),
                |until| format!("until {until}"),
            );
            let message = match followed.saying {
                CronEffect::Bounds => {
                    format!("at least {min_replicas} replicas are asked for, {until}")
                }
                CronEffect::Count => format!("{min_replicas} replicas are asked for, {until}"),
            };
            (true, "ReplicasAsked", message)
        }
        None => (false, "NothingAsked", "nothing is asked for".to_owned()),
    };
    Condition::new(ACTIVE, holds, reason, message)
}
