//! The status of an IHPA after a tick.

use evenkeel_api::ihpa::status::{
    CheckerStatus, IhpaStatus, PortraitStatus, PortraitValue, StabilityStatus,
};
use evenkeel_objects::condition::Condition;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::plan::status_writer::StatusSubject;
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::Timestamp;

use crate::merge::SelectedRecommendation;
use crate::merge::recommendation::{Ask, Recommendation, Unavailable};
use crate::recommend::merged_portraits::MergedPortraits;
use crate::specs::ihpa::CheckedIhpa;
use crate::stability::{CheckResult, PausedChange};

/// The longest message of one provider or check, in characters.
const LONGEST: usize = 300;

/// The inputs of a status beside the decision.
pub(crate) struct IhpaStatusInput<'a> {
    pub(crate) before: &'a IhpaStatus,
    pub(crate) generation: Option<i64>,
    /// The replicas that the workload has.
    pub(crate) current: Option<i32>,
    pub(crate) mode: ScalingMode,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) now: Timestamp,
}

/// The status that tells of what the portraits came to; without them nothing was decided, and what is under way stays.
pub(crate) fn status(
    portrayed: Option<&MergedPortraits>,
    surroundings: IhpaStatusInput<'_>,
) -> IhpaStatus {
    let IhpaStatusInput {
        before,
        generation,
        current,
        mode,
        conditions,
        now,
    } = surroundings;
    let of_generation = |condition| Condition {
        observed_generation: generation,
        ..condition
    };
    let conditions = conditions.into_iter().map(of_generation).collect();
    let common = IhpaStatus {
        observed_generation: generation,
        current_replicas: current,
        conditions,
        ..before.clone()
    };
    let Some(portrayed) = portrayed else {
        return common;
    };
    let asked = portrayed.merged.asked.as_ref().map(value);
    let is_new = |asked: &PortraitValue| {
        let held = before.current_portrait_value.as_ref();
        held.is_none_or(|held| (&held.provider, held.replicas) != (&asked.provider, asked.replicas))
    };
    let previous = match &asked {
        Some(asked) if is_new(asked) => before.current_portrait_value.clone(),
        _ => before.previous_portrait_value.clone(),
    };
    let acts = mode == ScalingMode::Direct;
    let staged = &portrayed.staged;
    let change = staged.change.as_ref().filter(|_| acts);
    let desired = acts.then(|| staged.counts.into());
    let has_scaled = before.desired == desired && before.current_replicas != current;
    IhpaStatus {
        desired,
        previous_portrait_value: previous,
        current_portrait_value: asked,
        portraits: portrayed
            .provided
            .iter()
            .map(|provided| portrait(provided, before, now))
            .collect(),
        gray: change.map(|change| change.to_status(staged.phase.as_str(), staged.next)),
        stability: stability(portrayed, before, now).filter(|_| acts),
        last_scale_time: if has_scaled && desired.is_some() {
            Some(now)
        } else {
            before.last_scale_time
        },
        ..common
    }
}

fn value(asked: &SelectedRecommendation) -> PortraitValue {
    PortraitValue {
        provider: asked.by.to_string(),
        replicas: asked.replicas,
        expire_time: asked.until,
    }
}

fn portrait(recommended: &Recommendation, before: &IhpaStatus, now: Timestamp) -> PortraitStatus {
    let Recommendation {
        by,
        priority,
        ask,
        until,
    } = recommended;
    let (provider, word) = (by.to_string(), ask.word());
    let mut portraits = before.portraits.iter();
    let same = portraits.find(|one| one.provider == provider && one.outcome == word);
    let told = PortraitStatus {
        priority: *priority,
        outcome: word.to_owned(),
        expire_time: *until,
        since: same.and_then(|same| same.since).or(Some(now)),
        provider,
        ..PortraitStatus::default()
    };
    match ask {
        Ask::Exactly(replicas) => PortraitStatus {
            replicas: Some(*replicas),
            ..told
        },
        Ask::Unavailable(Unavailable::Failed {
            reason,
            message,
            since,
        }) => PortraitStatus {
            reason: Some((*reason).to_owned()),
            message: Some(evenkeel_objects::truncate::excerpt(message, LONGEST)),
            since: Some(*since),
            ..told
        },
        Ask::AtLeast { .. } | Ask::Unavailable(Unavailable::Absent | Unavailable::Expired) => told,
    }
}

/// The results of the checks; `None` while nothing is checked or held.
fn stability(
    portrayed: &MergedPortraits,
    before: &IhpaStatus,
    now: Timestamp,
) -> Option<StabilityStatus> {
    let holds: Vec<_> = (portrayed.decided.holds.iter())
        .map(PausedChange::to_status)
        .collect();
    if portrayed.checked.is_empty() && holds.is_empty() {
        return None;
    }
    let known = before.stability.as_ref();
    let checkers = portrayed.checked.iter().map(|checked| {
        let CheckResult { checker, verdict } = checked;
        let mut told = known.into_iter().flat_map(|known| &known.checkers);
        let same = told.find(|one| one.name == checker.name && one.verdict == verdict.word());
        CheckerStatus {
            name: checker.name.clone(),
            verdict: verdict.word().to_owned(),
            message: evenkeel_objects::truncate::excerpt(verdict.message(), LONGEST),
            since: same.and_then(|same| same.since).or(Some(now)),
        }
    });
    Some(StabilityStatus {
        holds,
        checkers: checkers.collect(),
    })
}

/// An IHPA with its status.
pub(crate) fn subject(ihpa: &CheckedIhpa) -> StatusSubject<'_, IhpaStatus> {
    StatusSubject {
        kind: Kind::Ihpa,
        metadata: &ihpa.object.metadata,
        held: ihpa.object.status.as_ref(),
    }
}
