//! A change of all keys that goes on: its next step, and what has to be done before it.

use evenkeel_certificates::key_rotation::{
    KeyRotation, KeyRotationError, KeyRotationRequest, REQUEST, ROTATION,
};
use jiff::SignedDuration;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::about;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;

pub(super) const ROTATION_GOES_ON: &str = "key-rotation";

/// The old authorities leave within seconds of the end; this much later something is in the way.
const LATE: SignedDuration = SignedDuration::from_mins(15);

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    if !evidence.makes_certificates() {
        let what = "certificates are given in files: rotate keys where they are issued";
        return Ok(vec![DoctorFinding::ok(ROTATION_GOES_ON, what)]);
    }
    let seen = &evidence.seen.key_annotations;
    let Some(annotations) = seen.look(ROTATION_GOES_ON, "the rotation of keys")? else {
        // That the signer has made nothing yet is said with the certificate.
        let what = "there is no Secret of the signer, so no rotation of keys is in progress";
        return Ok(vec![DoctorFinding::ok(ROTATION_GOES_ON, what)]);
    };
    let mut found = Vec::new();
    if let Some(text) = annotations.get(REQUEST) {
        found.push(match text.parse::<KeyRotationRequest>() {
            Ok(_) => DoctorFinding::info(
                ROTATION_GOES_ON,
                "the signer has not started the requested rotation of keys yet",
                "see signer",
            ),
            Err(error) => unreadable(evidence, &error),
        });
    }
    if let Some(text) = annotations.get(ROTATION) {
        found.push(match text.parse() {
            Ok(rotation) => going_on(evidence, rotation),
            Err(error) => unreadable(evidence, &error),
        });
    }
    if found.is_empty() {
        found.push(DoctorFinding::ok(
            ROTATION_GOES_ON,
            "no rotation of keys is in progress",
        ));
    }
    Ok(found)
}

fn unreadable(evidence: &Evidence<'_>, error: &KeyRotationError) -> DoctorFinding {
    let secret = evidence.signing_secret();
    DoctorFinding::error(
        ROTATION_GOES_ON,
        "the signer cannot read the annotation that requests a rotation, so keys stay as they are",
        evidence.kubectl(&format!("annotate secret {secret} {}-", error.key)),
    )
    .seen_by(error.to_string())
}

fn going_on(evidence: &Evidence<'_>, rotation: KeyRotation) -> DoctorFinding {
    let KeyRotation { began, signs, ends } = rotation;
    let now = evidence.seen.now;
    let since = format!("a rotation of keys has been in progress since {began}");
    if now < signs {
        return DoctorFinding::info(
            ROTATION_GOES_ON,
            format!("{since}; at {signs} a new authority issues the serving certificate"),
            "before that, print a new file for each kube-scheduler: (umask 077; evenkeel certs \
             scheduler-config > evenkeel-scheduler.yaml); a kube-scheduler with its old file works \
             without Evenkeel from then on",
        );
    }
    let late = now.duration_since(ends);
    if late > LATE {
        return DoctorFinding::warning(
            ROTATION_GOES_ON,
            format!(
                "{since}; the old authorities should have been removed {} ago and are still trusted",
                about(late)
            ),
            format!(
                "see signer; then {}",
                evidence.kubectl("logs deployment/evenkeel-signer")
            ),
        );
    }
    DoctorFinding::info(
        ROTATION_GOES_ON,
        format!("{since}; at {ends} the old authorities are removed"),
        "nothing to do if every kube-scheduler has its new file: see extender-called",
    )
}
