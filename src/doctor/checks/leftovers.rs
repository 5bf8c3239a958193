//! Objects that another or an earlier installation left behind.

use super::evidence::{Evidence, Found};
use super::webhook;
use crate::doctor::Finding;

const LEFTOVERS: &str = "leftovers";

pub(super) fn check(evidence: &Evidence<'_>) -> Found {
    let all = evidence
        .seen
        .webhooks
        .look(LEFTOVERS, "the mutating webhooks")?;
    let strangers = all.into_iter().flatten().filter_map(|configuration| {
        let name = configuration.metadata.name.as_deref()?;
        let ours = webhook::ours(configuration).is_some();
        (ours && name != webhook::CONFIGURATION).then_some(name)
    });
    let mut found: Vec<Finding> = strangers
        .map(|name| {
            Finding::warning(
                LEFTOVERS,
                format!(
                    "the webhook {} is also registered by {name}",
                    webhook::WEBHOOK
                ),
                format!("kubectl delete mutatingwebhookconfiguration {name}"),
            )
        })
        .collect();
    if found.is_empty() {
        found.push(Finding::ok(
            LEFTOVERS,
            "nothing is left of another installation",
        ));
    }
    Ok(found)
}
