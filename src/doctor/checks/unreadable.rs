//! Objects that Evenkeel cannot read.

use super::evidence::{Evidence, Found};
use crate::doctor::Finding;

pub(super) const UNREADABLE: &str = "unreadable-objects";

#[allow(clippy::unnecessary_wraps)] // all checks have one form
pub(super) fn check(evidence: &Evidence<'_>) -> Found {
    let found = evidence.seen.unreadable.iter().map(|unreadable| {
        Finding::warning(
            UNREADABLE,
            unreadable,
            "correct or delete the named object: Evenkeel leaves it out",
        )
    });
    let found: Vec<Finding> = found.collect();
    if found.is_empty() {
        let what = "every object that was listed can be read";
        return Ok(vec![Finding::ok(UNREADABLE, what)]);
    }
    Ok(found)
}
