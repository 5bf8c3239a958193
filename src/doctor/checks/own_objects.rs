//! CronHPAs, IHPAs, HorizontalPortraits and ReplicaProfiles: followed or not, by their conditions.

use evenkeel_objects::annotated_object::{AnnotatedObject, ReportedCondition};
use evenkeel_objects::kinds::Kind;
use jiff::SignedDuration;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::named;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::ObjectsOfKind;

pub(super) const OBJECTS: &str = "own-objects";

/// The age at which an object must have a status: the leader looks several times a minute.
const STATUS_DUE: SignedDuration = SignedDuration::from_mins(2);

/// Conditions that say, where they are False, that an object is not followed.
const NEEDED: [&str; 6] = [
    "Ready",
    "ScalingActive",
    "PortraitsAvailable",
    "PortraitGenerated",
    "Applied",
    "Ensured",
];

/// Reasons for which such a condition is False as its user wants it.
const WANTED: [&str; 4] = ["Preview", "ScaledToZero", "ScalingOff", "Progressing"];

#[allow(clippy::unnecessary_wraps)] // all checks have one form
pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let seen = &evidence.seen.objects;
    if !seen.iter().any(ObjectsOfKind::is_own) {
        return Ok(Vec::new());
    }
    let opted_in = evidence.opted_in();
    let mut troubles = Vec::new();
    let mut silent = Vec::new();
    for (of, object) in evidence.objects() {
        if !of.is_own() || !opted_in.contains(&object.namespace()) {
            continue;
        }
        let name = format!("{} {}/{}", of.kind, object.namespace(), object.name());
        let has_status = Kind::HorizontalPortrait.as_str() != of.kind;
        if object.conditions().is_empty() && has_status && is_due(evidence, object) {
            silent.push(name);
        } else if let Some(trouble) = object.conditions().iter().find(|one| is_trouble(one)) {
            let ReportedCondition {
                kind,
                reason,
                message,
                ..
            } = trouble;
            let fix = format!(
                "kubectl -n {} describe {} {}",
                object.namespace(),
                of.resource(),
                object.name()
            );
            let what = format!("{name} is not followed: {kind} is False, {reason}");
            troubles.push(DoctorFinding::warning(OBJECTS, what, fix).seen_by(message));
        }
    }
    if !silent.is_empty() {
        troubles.push(
            DoctorFinding::warning(
                OBJECTS,
                "objects have no status: the leader has not processed them",
                "see leader, kill-switch and rights",
            )
            .seen_by(named(&silent)),
        );
    }
    if troubles.is_empty() {
        let what = "every CronHPA, IHPA, HorizontalPortrait and ReplicaProfile is followed";
        troubles.push(DoctorFinding::ok(OBJECTS, what));
    }
    Ok(troubles)
}

fn is_trouble(condition: &ReportedCondition) -> bool {
    condition.status == "False"
        && NEEDED.contains(&condition.kind.as_str())
        && !WANTED.contains(&condition.reason.as_str())
}

fn is_due(evidence: &Evidence<'_>, object: &AnnotatedObject) -> bool {
    let now = evidence.seen.server_time.unwrap_or(evidence.seen.now);
    let created = object.created();
    created.is_none_or(|created| now.duration_since(created) > STATUS_DUE)
}
