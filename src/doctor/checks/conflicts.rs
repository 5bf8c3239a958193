//! Targets of scaling that two hands pull at (refused ones, and those that are left to another writer), and targets
//! that something keeps from being scaled as was asked for.

use std::collections::BTreeSet;

use super::evidence::{Evidence, Found};
use super::wording::named;
use crate::doctor::Finding;
use evenkeel_kubernetes::plan::scaling::conditions::{CONFLICTS, is_problem};

pub(super) const CONFLICT: &str = "scaling-conflicts";
pub(super) const PROBLEM: &str = "scaling-targets";

pub(super) fn conflicts(evidence: &Evidence<'_>) -> Found {
    let wanted = |condition: &str| CONFLICTS.contains(&condition);
    let told = holding(evidence, CONFLICT, "which targets are contested", wanted)?;
    Ok(vec![if told.is_empty() {
        Finding::ok(CONFLICT, "nothing else scales what Evenkeel scales")
    } else {
        Finding::warning(
            CONFLICT,
            format!("another hand scales as well: {}", named(&told)),
            "kubectl describe the object: its Events and the annotation \
             evenkeel.dev/scaling-status name the other; keep one of the two",
        )
    }])
}

pub(super) fn problems(evidence: &Evidence<'_>) -> Found {
    let told = holding(evidence, PROBLEM, "which targets can be scaled", is_problem)?;
    Ok(vec![if told.is_empty() {
        Finding::ok(PROBLEM, "every target can be scaled as was asked for")
    } else {
        Finding::warning(
            PROBLEM,
            format!("targets are not scaled as was asked for: {}", named(&told)),
            "kubectl describe the object: the conditions in its annotation \
             evenkeel.dev/scaling-status say what is missing",
        )
    }])
}

/// The conditions that hold of targets, with what they hold of.
fn holding(
    evidence: &Evidence<'_>,
    check: &'static str,
    what: &'static str,
    is_wanted: impl Fn(&str) -> bool,
) -> Result<Vec<String>, Finding> {
    let pages = evidence.pages(check, what)?;
    let conditions = pages
        .iter()
        .flat_map(|(_, page)| page.labelled("evenkeel_scaling_target_condition"));
    let told: BTreeSet<String> = conditions
        .filter(|(_, holds)| *holds > 0.0)
        .filter_map(|(label, _)| {
            let condition = label("condition").filter(|condition| is_wanted(condition))?;
            let (namespace, kind) = (label("namespace")?, label("kind")?);
            Some(format!(
                "{condition} of {kind} {namespace}/{}",
                label("name")?
            ))
        })
        .collect();
    Ok(told.into_iter().collect())
}
