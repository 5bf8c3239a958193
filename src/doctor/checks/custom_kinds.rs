//! The custom resources that the configuration wants scaled: each must be served with the
//! subresource `scale`.

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::count;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::KindState;
use crate::doctor::observation::Look as _;

pub(super) const CUSTOM_KINDS: &str = "custom-kinds";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let subject = "the custom resources that are to be scaled";
    let kinds = evidence.seen.custom_kinds.look(CUSTOM_KINDS, subject)?;
    let kinds = kinds.map_or(&[][..], Vec::as_slice);
    let mut found = Vec::new();
    for seen in kinds {
        let kind = &seen.kind;
        found.push(match &seen.state {
            KindState::Served => continue,
            KindState::Absent => DoctorFinding::info(
                CUSTOM_KINDS,
                format!("scaling.kinds names {kind}, which the cluster does not serve"),
                "install its CustomResourceDefinition, or remove it from scaling.kinds; Evenkeel \
                 looks for it every 5 minutes",
            ),
            KindState::Unscalable(why) => DoctorFinding::error(
                CUSTOM_KINDS,
                format!("scaling.kinds names {kind}, which cannot be scaled: {why}"),
                "remove it from scaling.kinds, or add the subresource scale to its definition",
            ),
            KindState::Unknown(error) => DoctorFinding::warning(
                CUSTOM_KINDS,
                format!("whether {kind} can be scaled could not be read"),
                "run doctor as a user who may get customresourcedefinitions.apiextensions.k8s.io",
            )
            .seen_by(error),
        });
    }
    if found.is_empty() {
        let what = match kinds.len() {
            0 => "scaling.kinds names no custom resources".to_owned(),
            all => format!("{} of custom resources can be scaled", count(all, "kind")),
        };
        found.push(DoctorFinding::ok(CUSTOM_KINDS, what));
    }
    Ok(found)
}
