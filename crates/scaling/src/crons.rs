//! CronHPAs: the target of each, and the status, Events and replicas that follow from a tick. A CronHPA
//! contributes a minimum to the bounds of an HPA or of a target in mode direct. If nothing else scales
//! the workload, it sets the count.
//!
//! The plan of the target writes the bounds with all other contributions ([`crate::targets::bounds`]), so that one
//! component owns them. The status holds the memory of a CronHPA, so that a new leader makes up for missed
//! runs and repeats none.

pub(crate) mod assign;
mod cron_tick;
mod events;
mod problem;
mod status;

use evenkeel_api::cron_hpa::status::CronHpaStatus;
use evenkeel_cron::{CronEffect, CronEvent};
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::status_writer::{StatusSubject, StatusWriter};
use evenkeel_objects::plan::write::Write;
use evenkeel_objects::scaling_mode::ScalingMode;

use self::cron_tick::{CronOutcome, followed};
use crate::merge::recommendation::Recommendation;
use crate::specs::cron_hpa::CheckedCronHpa;
use crate::targets::owner::Owner;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::scaling_target::ScalingTarget;
use crate::targets::schedules::VersionedSchedule;
use crate::targets::target_objects::TargetObjects;

pub(crate) use assign::{CronTarget, assign};
pub(crate) use cron_tick::CronScaleTarget;
pub(crate) use problem::CronProblem;

/// The target of a CronHPA; `all` are the CronHPAs of that target.
///
/// # Errors
/// A target for which the user wants no scaling, or with unknown bounds. A target that mode direct is to
/// scale and cannot. A target with a count that more than one CronHPA would set.
pub(crate) fn scaled(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    cron: &CheckedCronHpa,
    all: &[&CheckedCronHpa],
) -> Result<CronScaleTarget, CronProblem> {
    let target = || observed.target.to_string();
    if observed.ihpa.is_some() {
        return Err(CronProblem::ByPortraits(target()));
    }
    if resolved.is_declined {
        return Err(CronProblem::Declined(target()));
    }
    let owner = Owner::of(observed);
    let of_workload = owner.as_ref().is_some_and(|owner| owner.kind.has_scale());
    if of_workload && resolved.mode == ScalingMode::Direct {
        let direct = resolved.target.as_ref();
        return direct
            .map(|target| scaled_directly(target, all))
            .ok_or_else(|| CronProblem::DirectRefused(target()));
    }
    let (Some(owner), Some(bounds)) = (owner, &resolved.bounds) else {
        return Err(if of_workload {
            CronProblem::NotDirect(target())
        } else {
            CronProblem::NoBounds(target())
        });
    };
    let mut saying = CronEffect::Bounds;
    if owner.has_count() {
        if all.iter().filter(|cron| cron.is_active()).count() > 1 {
            return Err(CronProblem::SeveralCronHpas(target()));
        }
        saying = CronEffect::Count;
    }
    let workload = observed.workload.as_ref();
    let autoscaler = observed.autoscaler.as_ref();
    let recorded = bounds.contribution(&cron.contributor());
    Ok(CronScaleTarget {
        user: bounds.user(),
        saying,
        effective: bounds.found().min,
        recorded: recorded.and_then(Recommendation::min),
        least: owner.least(),
        current: workload
            .map(|workload| workload.replicas)
            .or(autoscaler.and_then(|autoscaler| autoscaler.status.current_replicas)),
        is_contested: bounds.is_contested(),
    })
}

/// A target in mode direct. Its bounds stand in its annotations and are not written.
fn scaled_directly(target: &ScalingTarget, all: &[&CheckedCronHpa]) -> CronScaleTarget {
    let user = target.bounds();
    let active = |cron: &&CheckedCronHpa| {
        let active = cron.object.status.as_ref()?.active.as_ref()?;
        Some(active.min_replicas)
    };
    let asked = all.iter().filter_map(active).max();
    CronScaleTarget {
        user,
        saying: CronEffect::Bounds,
        effective: user.min.max(asked),
        recorded: None,
        least: target.least(),
        current: Some(target.current),
        is_contested: false,
    }
}

/// The memory of one CronHPA between two ticks.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct CronMemory {
    written: StatusWriter<CronHpaStatus>,
    schedule: VersionedSchedule,
}

/// The outcome of one tick of a CronHPA.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct CronPlan {
    /// Its contribution to the bounds.
    pub contribution: Option<Recommendation>,
    /// Its status and Events.
    pub writes: Vec<Write>,
    /// Its events of this tick, for metrics.
    pub happened: Vec<CronEvent>,
    /// True where its crons are followed.
    pub is_ready: bool,
}

/// One tick of a CronHPA, which scales that, or is refused.
pub(crate) fn plan_cron(
    cron: &CheckedCronHpa,
    scaled: Result<CronScaleTarget, CronProblem>,
    memory: &mut CronMemory,
    context: &PlanContext<'_>,
) -> CronPlan {
    let CronMemory { written, schedule } = memory;
    let now = context.now;
    let object = &cron.object;
    let on = StatusSubject {
        kind: Kind::CronHpa,
        metadata: &object.metadata,
        held: object.status.as_ref(),
    };
    let before = written.take_before(&on, now).unwrap_or_default();
    let uid = object.metadata.uid.as_deref().unwrap_or_default();
    let schedule = schedule.of(Some(format!("{uid} {}", object.generation)));
    let followed = followed(cron, scaled, &before, schedule, now);
    let next = status::next_runs(&followed, &before, schedule, now);
    let status = status::status(cron, &before, &followed, next, now);
    let mut events = events::events(&before, &status, &followed);
    events.retain(|event| written.allows_event(event.reason, now));
    let writes = written.plan(&on, status, &events, context);
    let CronOutcome {
        contribution,
        ticked,
        problem,
        ..
    } = followed;
    CronPlan {
        contribution,
        writes,
        happened: ticked.map(|ticked| ticked.happened).unwrap_or_default(),
        is_ready: problem.is_none(),
    }
}

/// The replicas that a CronHPA asked for when its status was last written.
pub(crate) fn asked_last(
    cron: &CheckedCronHpa,
    scaled: &CronScaleTarget,
) -> Option<Recommendation> {
    let active = cron.object.status.as_ref()?.active.as_ref()?;
    Some(Recommendation::of_cron(
        cron.contributor(),
        active.min_replicas,
        scaled.user,
        active.until,
    ))
}

#[cfg(test)]
mod tests;
