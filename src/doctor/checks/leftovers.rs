//! Objects that another or an earlier installation left behind.

use super::evidence::{CheckFindings, Evidence};
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;
use evenkeel_service::cluster::registration;
use evenkeel_service::cluster::registration::{CONFIGURATION, WEBHOOK};

pub(super) const LEFTOVERS: &str = "leftovers";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let all = evidence
        .seen
        .webhooks
        .look(LEFTOVERS, "the mutating webhooks")?;
    let strangers = all.into_iter().flatten().filter_map(|configuration| {
        let name = configuration.metadata.name.as_deref()?;
        let ours = registration::ours(configuration).is_some();
        (ours && name != CONFIGURATION).then_some(name)
    });
    let mut found: Vec<DoctorFinding> = strangers
        .map(|name| {
            DoctorFinding::warning(
                LEFTOVERS,
                format!("the webhook {WEBHOOK} is also registered by {name}"),
                format!("kubectl delete mutatingwebhookconfiguration {name}"),
            )
        })
        .collect();
    if found.is_empty() {
        found.push(DoctorFinding::ok(
            LEFTOVERS,
            "nothing is left of another installation",
        ));
    }
    Ok(found)
}
