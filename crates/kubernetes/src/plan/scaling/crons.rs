//! CronHPAs: the target of each, and the status, Events and replicas that follow from a tick. A CronHPA
//! contributes a minimum to the bounds of an HPA or of a target in mode direct. If nothing else scales
//! the workload, it sets the count.
//!
//! The plan of the target writes the bounds with all other contributions ([`super::bounds`]), so that one
//! component owns them. The status holds the memory of a CronHPA, so that a new leader makes up for missed
//! runs and repeats none.

mod assign;
mod cron_tick;
mod events;
mod problem;
mod status;

use evenkeel_core::scaling::ScalingMode;
use evenkeel_core::scaling::contribution::ReplicaRecommendation;
use evenkeel_core::scaling::cron::{CronEffect, CronEvent, ScheduleCache};
use jiff::{SignedDuration, Timestamp};

use self::cron_tick::{CronOutcome, followed};
use super::context::ScalingContext;
use super::event_pauses::EventPauses;
use super::owner::Owner;
use super::target::ScalingTarget;
use super::target_objects::TargetObjects;
use super::targets::ResolvedTarget;
use crate::cron_hpa::{CheckedCronHpa, CronHpaStatus};
use crate::kinds::Kind;
use crate::plan::write::Write;

pub use assign::{CronTarget, assign};
pub use cron_tick::CronScaleTarget;
pub use problem::CronProblem;

/// The longest pause between two ticks over which the memory of the former counts.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(1);

/// The least time between two writes of a status that differ in moments only: that of a schedule which
/// runs every minute shows each run, and one that runs every second costs no more.
const TOLD: SignedDuration = SignedDuration::from_mins(1);

/// The target of a CronHPA; `all` are the CronHPAs of that target.
///
/// # Errors
/// A target for which the user wants no scaling, or with unknown bounds. A target that mode direct is to
/// scale and cannot. A target with a count that more than one CronHPA would set.
pub fn scaled(
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
        recorded: recorded.and_then(|recorded| recorded.min),
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
///
/// A status is written and comes back by a watch; until it does, what was decided stands here.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct CronMemory {
    uid: Option<String>,
    generation: i64,
    last: Option<Timestamp>,
    status: Option<CronHpaStatus>,
    /// When the status was last written.
    told: Option<Timestamp>,
    agenda: ScheduleCache,
    events: EventPauses,
}

/// The outcome of one tick of a CronHPA.
#[derive(Debug, Clone, PartialEq)]
pub struct CronPlan {
    /// Its contribution to the bounds.
    pub contribution: Option<ReplicaRecommendation>,
    /// Its status and Events.
    pub writes: Vec<Write>,
    /// Its events of this tick, for metrics.
    pub happened: Vec<CronEvent>,
    /// True where its crons are followed.
    pub is_ready: bool,
}

impl CronMemory {
    /// The status of the tick before, of the same object and a moment ago.
    fn recall(&mut self, cron: &CheckedCronHpa, now: Timestamp) -> Option<CronHpaStatus> {
        let uid = &cron.object.metadata.uid;
        let is_recent = |last: Timestamp| now.duration_since(last).abs() <= REMEMBERED;
        if self.uid != *uid || !self.last.is_some_and(is_recent) {
            *self = Self::default();
        }
        if self.generation != cron.object.generation {
            self.agenda = ScheduleCache::default();
        }
        self.uid.clone_from(uid);
        self.generation = cron.object.generation;
        self.last = Some(now);
        self.status.take()
    }

    /// True where a status is to be written in place of the one that the object has, which is then
    /// noted.
    fn tells(
        &mut self,
        held: Option<&CronHpaStatus>,
        status: &CronHpaStatus,
        now: Timestamp,
    ) -> bool {
        let in_moments_only = held.is_some_and(|held| held.differs_in_moments_only(status));
        let is_early = self
            .told
            .is_some_and(|told| now.duration_since(told) < TOLD);
        let tells = held != Some(status) && !(in_moments_only && is_early);
        if tells {
            self.told = Some(now);
        }
        tells
    }
}

/// One tick of a CronHPA, which scales that, or is refused.
#[must_use]
pub fn plan_cron(
    cron: &CheckedCronHpa,
    scaled: Result<CronScaleTarget, CronProblem>,
    memory: &mut CronMemory,
    context: &ScalingContext<'_>,
) -> CronPlan {
    let held = cron.object.status.clone();
    let before = memory.recall(cron, context.now).or_else(|| held.clone());
    let before = before.unwrap_or_default();
    let followed = followed(cron, scaled, &before, &mut memory.agenda, context.now);
    let next = status::next_runs(&followed, &before, &mut memory.agenda, context.now);
    let status = status::status(cron, &before, &followed, next, context.now);
    let changes = events::Changes {
        before: &before,
        status: &status,
        followed: &followed,
    };
    let events = events::events(cron, &changes, &mut memory.events, context);
    let tells = memory.tells(held.as_ref(), &status, context.now);
    let metadata = &cron.object.metadata;
    let write = tells
        .then(|| Write::status(Kind::CronHpa, metadata, held.as_ref(), &status))
        .flatten();
    memory.status = Some(status);
    let CronOutcome {
        contribution,
        ticked,
        problem,
        ..
    } = followed;
    CronPlan {
        contribution,
        writes: write.into_iter().chain(events).collect(),
        happened: ticked.map(|ticked| ticked.happened).unwrap_or_default(),
        is_ready: problem.is_none(),
    }
}

/// The replicas that a CronHPA asked for when its status was last written.
#[must_use]
pub fn asked_last(
    cron: &CheckedCronHpa,
    scaled: &CronScaleTarget,
) -> Option<ReplicaRecommendation> {
    let active = cron.object.status.as_ref()?.active.as_ref()?;
    let until = active.until.unwrap_or(Timestamp::MAX);
    Some(ReplicaRecommendation::of_cron(
        cron.contributor(),
        active.min_replicas,
        scaled.user,
        until,
    ))
}

#[cfg(test)]
mod tests;
