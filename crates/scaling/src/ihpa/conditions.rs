//! The conditions of an IHPA: those that every target has, and its own.

use evenkeel_api::ihpa::status::IhpaStatus;
use evenkeel_objects::condition::{Condition, ConditionStatus, settle};
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_objects::truncate::excerpt;
use jiff::Timestamp;

use crate::limits::LimitedBy;
use crate::merge::recommendation::{Ask, Recommendation, Unavailable};
use crate::recommend::merged_portraits::MergedPortraits;
use crate::staged_change::ChangePhase;
use crate::targets::resolve::ResolvedTarget;
use crate::tracker::TickReport;

/// The condition that the replicas of the workload follow the portraits.
pub(crate) const SCALING_ACTIVE: &str = IhpaStatus::SCALING_ACTIVE;
/// The condition that something keeps the replicas from what the portraits ask for.
pub(crate) const SCALING_LIMITED: &str = "ScalingLimited";
/// The condition that a staged change is under way.
pub(crate) const GRAY_PROGRESSING: &str = "GrayProgressing";
/// The condition that every provider has something to say, or knows when it will.
pub(crate) const PORTRAITS_AVAILABLE: &str = "PortraitsAvailable";
/// The condition that the stability checks let changes go on.
pub(crate) const STABLE: &str = "Stable";

/// The conditions of the HPA's algorithm that an IHPA replaces by its own.
const OF_HPA: [&str; 3] = ["AbleToScale", SCALING_ACTIVE, SCALING_LIMITED];

/// The reason of [`SCALING_ACTIVE`] while the user keeps the workload at 0 replicas.
pub(crate) const SCALED_TO_ZERO: &str = "ScaledToZero";

/// The longest message that tells of providers, in characters.
const LONGEST: usize = 1000;

/// The conditions of a target in general, with those of an IHPA in place of those of an HPA.
pub(crate) fn conditions(
    general: Vec<Condition>,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
    before: &[Condition],
    now: Timestamp,
) -> Vec<Condition> {
    let portrayed = report.and_then(|report| report.portrayed.as_deref());
    let mut own = vec![active(resolved, report)];
    if let Some(portrayed) = portrayed {
        own.push(limited(report, portrayed));
        own.push(available(portrayed));
        if resolved.mode == ScalingMode::Direct {
            own.push(progressing(portrayed));
            own.extend(stable(portrayed));
        }
    }
    settle(&mut own, before, None, now);
    let general = general
        .into_iter()
        .filter(|condition| !OF_HPA.contains(&&*condition.kind));
    own.extend(general);
    own
}

fn active(resolved: &ResolvedTarget, report: Option<&TickReport>) -> Condition {
    let condition = |holds, reason: &str, message: String| {
        Condition::new(SCALING_ACTIVE, holds, reason, message)
    };
    let Some((target, report)) = resolved.target.as_ref().zip(report) else {
        return match resolved.problems.first() {
            Some(problem) => condition(false, problem.kind(), problem.to_string()),
            None => condition(false, "NotDecided", "nothing was decided".to_owned()),
        };
    };
    let reason = report.decision.reason.clone();
    if resolved.mode != ScalingMode::Direct {
        return condition(false, "Preview", reason);
    }
    let portraits = target.portraits.as_ref();
    if portraits.is_some_and(|portraits| portraits.rests_at_zero) {
        return condition(false, SCALED_TO_ZERO, reason);
    }
    let portrayed = report.portrayed.as_ref();
    let asked = portrayed.is_some_and(|one| one.merged.asked.is_some());
    if asked {
        condition(true, "PortraitHolds", reason)
    } else {
        condition(false, "NoPortrait", reason)
    }
}

fn limited(report: Option<&TickReport>, portrayed: &MergedPortraits) -> Condition {
    let limit = report.and_then(|report| report.decision.limited_by);
    if let Some(limit) = limit.filter(|limit| !matches!(limit, LimitedBy::MissingData)) {
        Condition::new(SCALING_LIMITED, true, limit.reason(), limit.to_string())
    } else {
        let message = format!(
            "{} replicas are requested, and the workload follows",
            portrayed.target.replicas
        );
        Condition::new(SCALING_LIMITED, false, "DesiredWithinRange", message)
    }
}

fn available(portrayed: &MergedPortraits) -> Condition {
    let unheard = &portrayed.merged.unheard;
    if unheard.is_empty() {
        let message = "every portrait has a value, or none at this time".to_owned();
        return Condition::new(PORTRAITS_AVAILABLE, true, "Provided", message);
    }
    let words = unheard.iter().map(|one| {
        let Recommendation { by, ask, until, .. } = one;
        match (ask, until) {
            (Ask::Unavailable(Unavailable::Expired), Some(at)) => {
                format!("{by} expired at {at:.0}")
            }
            (Ask::Unavailable(Unavailable::Failed { message, .. }), _) => {
                format!("{by}: {message}")
            }
            _ => by.to_string(),
        }
    });
    let message = words.collect::<Vec<_>>().join("; ");
    let failed = unheard
        .iter()
        .any(|one| matches!(one.ask, Ask::Unavailable(Unavailable::Failed { .. })));
    let reason = if failed {
        "PortraitFailed"
    } else {
        "PortraitExpired"
    };
    Condition::new(
        PORTRAITS_AVAILABLE,
        false,
        reason,
        excerpt(&message, LONGEST),
    )
}

fn progressing(portrayed: &MergedPortraits) -> Condition {
    let staged = &portrayed.staged;
    let is_under_way = staged.phase != ChangePhase::Settled;
    Condition::new(
        GRAY_PROGRESSING,
        is_under_way,
        staged.phase.as_str(),
        staged.reason.clone(),
    )
}

/// It does not hold where a check holds a change, and is not known while one does not know.
fn stable(portrayed: &MergedPortraits) -> Option<Condition> {
    let decided = &portrayed.decided;
    if let Some(hold) = decided.holds.first() {
        let message = excerpt(&decided.reason, LONGEST);
        return Some(Condition::new(STABLE, false, hold.action.as_str(), message));
    }
    let has_checks = !portrayed.checked.is_empty();
    has_checks.then(|| {
        if decided.reason.is_empty() {
            let message = "every stability check passes".to_owned();
            return Condition::new(STABLE, true, "Checked", message);
        }
        let message = excerpt(&decided.reason, LONGEST);
        Condition::new(STABLE, ConditionStatus::Unknown, "ChecksUnknown", message)
    })
}

/// True where a condition of this type holds now and did not before, or the other way round, as `holds` says.
pub(crate) fn turned(
    before: &[Condition],
    now: &[Condition],
    kind: &str,
    holds: ConditionStatus,
) -> bool {
    let of = |conditions: &[Condition]| {
        let mut conditions = conditions.iter();
        conditions
            .find(|one| one.kind == kind)
            .map(|one| one.status)
    };
    of(now) == Some(holds) && of(before) != Some(holds)
}
