//! Targets of scaling that two hands pull at: refused ones, and those that are left to another writer.

use std::collections::BTreeSet;

use super::evidence::{Evidence, Found};
use super::wording::named;
use crate::doctor::Finding;
use evenkeel_kubernetes::plan::scaling::conditions::CONFLICTS;

const CHECK: &str = "scaling-conflicts";

pub(super) fn check(evidence: &Evidence<'_>) -> Found {
    let pages = evidence.pages(CHECK, "which targets are contested")?;
    let conditions = pages
        .iter()
        .flat_map(|(_, page)| page.labelled("evenkeel_scaling_target_condition"));
    let told: BTreeSet<String> = conditions
        .filter(|(_, holds)| *holds > 0.0)
        .filter_map(|(label, _)| {
            let condition = label("condition").filter(|condition| CONFLICTS.contains(condition))?;
            let (namespace, kind) = (label("namespace")?, label("kind")?);
            Some(format!(
                "{condition} of {kind} {namespace}/{}",
                label("name")?
            ))
        })
        .collect();
    let told: Vec<String> = told.into_iter().collect();
    Ok(vec![if told.is_empty() {
        Finding::ok(CHECK, "nothing else scales what Evenkeel scales")
    } else {
        Finding::warning(
            CHECK,
            format!("another hand scales as well: {}", named(&told)),
            "kubectl describe the object: its Events and the annotation \
             evenkeel.dev/scaling-status name the other; keep one of the two",
        )
    }])
}
