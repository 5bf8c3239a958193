//! The Events of an IHPA: each step of a change, each word of its checks, and each provider that fails.

use evenkeel_api::replica_counts::ReplicaCounts;
use evenkeel_objects::condition::{Condition, ConditionStatus};
use evenkeel_objects::plan::event::{EventContent, EventSeverity};

use super::conditions::{PORTRAITS_AVAILABLE, turned};
use crate::recommend::merged_portraits::MergedPortraits;
use crate::stability::CheckTransition as Judgement;
use crate::staged_change::StagedChangeEvent;

/// The Events of a staged change and its checks; `was_under_way` is the state before.
pub(crate) fn of_stages(
    portrayed: &MergedPortraits,
    was_under_way: bool,
) -> Vec<EventContent<'static>> {
    let MergedPortraits {
        staged, decided, ..
    } = portrayed;
    let told =
        |severity, reason, note: &str| EventContent::of_scaling(severity, reason, note.to_owned());
    let judged = decided.happened.map(|happened| match happened {
        Judgement::Held => told(
            EventSeverity::Warning,
            "StabilityCheckFailed",
            &decided.reason,
        ),
        Judgement::Passed => told(
            EventSeverity::Normal,
            "StabilityCheckPassed",
            "every stability check has passed during the cool-down, so the change continues",
        ),
        Judgement::Resumed => told(
            EventSeverity::Normal,
            "ChangeResumed",
            "the change continues, as evenkeel.dev/resume asks",
        ),
    });
    let stepped = staged.happened.and_then(|happened| match happened {
        StagedChangeEvent::RolledBack => Some(told(
            EventSeverity::Warning,
            "ChangeRolledBack",
            &staged.reason,
        )),
        StagedChangeEvent::Finished if was_under_way => Some(told(
            EventSeverity::Normal,
            "ChangeFinished",
            &staged.reason,
        )),
        // The change of the count itself is told of.
        StagedChangeEvent::Finished | StagedChangeEvent::Stepped => None,
    });
    judged.into_iter().chain(stepped).collect()
}

/// The Event of providers that fail or are back, from the conditions.
pub(crate) fn of_portraits(
    before: &[Condition],
    now: &[Condition],
) -> Option<EventContent<'static>> {
    let message = || {
        let mut now = now.iter();
        let found = now.find(|one| one.kind == PORTRAITS_AVAILABLE);
        found.map_or_else(String::new, |one| one.message.clone())
    };
    if turned(before, now, PORTRAITS_AVAILABLE, ConditionStatus::False) {
        let event = EventContent::of_scaling(EventSeverity::Warning, "PortraitFailed", message());
        return Some(event);
    }
    let was_told = before.iter().any(|one| one.kind == PORTRAITS_AVAILABLE);
    let is_back = turned(before, now, PORTRAITS_AVAILABLE, ConditionStatus::True);
    (was_told && is_back)
        .then(|| EventContent::of_scaling(EventSeverity::Normal, "PortraitAvailable", message()))
}

/// The note of a change of the count.
pub(crate) fn of_count(reason: &str, counts: ReplicaCounts) -> String {
    if counts.parked() == 0 {
        reason.to_owned()
    } else {
        format!("{reason} ({counts})")
    }
}
