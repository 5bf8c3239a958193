//! One tick of the rules of a CronHPA on what it scales.

use evenkeel_api::cron_hpa::status::CronHpaStatus;
use evenkeel_cron::{
    CronEffect, CronObservation, CronSpec, CronState, CronTickResult, ScheduleCache, tick,
};
use evenkeel_objects::bounds::ObjectBounds;
use jiff::Timestamp;

use super::problem::CronProblem;
use crate::merge::recommendation::Recommendation;
use crate::specs::cron_hpa::CheckedCronHpa;

/// The target of a CronHPA, as one tick finds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct CronScaleTarget {
    /// The user's own bounds, or his own count.
    pub user: ObjectBounds,
    /// The effect of the replicas of its crons on it.
    pub saying: CronEffect,
    /// The minimum that the object has, from whatever contributor.
    pub effective: Option<i32>,
    /// The least that the record of the bounds says this CronHPA asks for.
    pub recorded: Option<i32>,
    /// The smallest least that the object takes.
    pub least: i32,
    /// The replicas of the workload, where they are known.
    pub current: Option<i32>,
    /// True where bounds or count are left to another writer.
    pub is_contested: bool,
}

/// The result of a tick.
pub(super) struct CronOutcome<'a> {
    /// The rules, where they are accepted.
    pub(super) spec: Option<&'a CronSpec>,
    /// The effect of the replicas of its crons on the target.
    pub(super) saying: CronEffect,
    /// The tick of the rules; `None` where they are not followed.
    pub(super) ticked: Option<CronTickResult>,
    pub(super) contribution: Option<Recommendation>,
    pub(super) problem: Option<CronProblem>,
}

impl CronOutcome<'_> {
    /// The state of the rules after the tick, or as it was `before`.
    pub(super) fn state(&self, before: &CronHpaStatus) -> CronState {
        let ticked = self.ticked.as_ref().map(|ticked| ticked.state.clone());
        ticked.unwrap_or_else(|| before.state())
    }
}

/// One tick of the rules of a CronHPA, which scales that, or is refused.
pub(super) fn followed<'a>(
    cron: &'a CheckedCronHpa,
    scaled: Result<CronScaleTarget, CronProblem>,
    before: &CronHpaStatus,
    agenda: &mut ScheduleCache,
    now: Timestamp,
) -> CronOutcome<'a> {
    let spec = cron.rules().ok();
    let refused = |problem| CronOutcome {
        spec,
        saying: CronEffect::Bounds,
        ticked: None,
        contribution: None,
        problem: Some(problem),
    };
    let (rules, scaled) = match (cron.rules(), scaled) {
        (Err(error), _) => return refused(CronProblem::Invalid(error.clone())),
        (_, Err(problem)) => return refused(problem),
        (Ok(rules), Ok(scaled)) => (rules, scaled),
    };
    let CronScaleTarget {
        user,
        saying,
        effective,
        recorded,
        least,
        current,
        is_contested,
    } = scaled;
    let metadata = &cron.object.metadata;
    let observation = CronObservation {
        now,
        created: metadata.creation_timestamp.unwrap_or(now),
        current,
        user,
        saying,
        effective,
        recorded,
    };
    let ticked = tick(rules, &before.state(), &observation, agenda);
    let who = cron.contributor();
    let contribution = ticked.wanted.map(|wanted| {
        let min = wanted.min.max(least);
        let replaces = Recommendation::of_cron(who, min, user, wanted.until);
        if wanted.raises {
            replaces.raising_only()
        } else {
            replaces
        }
    });
    CronOutcome {
        spec,
        saying,
        ticked: Some(ticked),
        contribution,
        problem: is_contested.then_some(CronProblem::Contested),
    }
}
