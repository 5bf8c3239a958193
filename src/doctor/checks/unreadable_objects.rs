//! Objects that Evenkeel cannot read.

use super::evidence::{CheckFindings, Evidence};
use crate::doctor::DoctorFinding;

pub(super) const UNREADABLE: &str = "unreadable-objects";

#[allow(clippy::unnecessary_wraps)] // all checks have one form
pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let found = evidence.seen.unreadable.iter().map(|unreadable| {
        DoctorFinding::warning(
            UNREADABLE,
            unreadable,
            "correct or delete the named object: Evenkeel leaves it out",
        )
    });
    let found: Vec<DoctorFinding> = found.collect();
    if found.is_empty() {
        let what = "every object that was listed can be read";
        return Ok(vec![DoctorFinding::ok(UNREADABLE, what)]);
    }
    Ok(found)
}
