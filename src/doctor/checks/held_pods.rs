//! Pods that Evenkeel holds back: their number, the longest wait, and the way to let them go.

use evenkeel_objects::annotations::RELAX_AFTER;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::extender::REFUSAL;
use jiff::Timestamp;

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::{about, count};
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;
use evenkeel_service::api;

/// As long as the shipped alert rule waits.
const LONG: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);

pub(super) const REFUSED: &str = "refused-pods";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let subject = "the Pods that wait for a node";
    evidence.seen.unbound.look(REFUSED, subject)?;
    let refused = refused(evidence);
    let Some((oldest, since)) = refused.first() else {
        return Ok(vec![DoctorFinding::ok(
            REFUSED,
            "no Pod waits for headroom",
        )]);
    };
    let now = evidence.seen.server_time.unwrap_or(evidence.seen.now);
    let waited = now.duration_since(*since);
    let (namespace, name) = (oldest.namespace(), oldest.name());
    let what = format!(
        "waiting for headroom: {}, the longest {namespace}/{name} for {}",
        count(refused.len(), "Pod"),
        about(waited)
    );
    let fix = format!(
        "{} and `curl 'localhost:8081{}?namespace={namespace}&pod={name}'` show why; add nodes, \
         raise scheduling.headroom, or kubectl annotate namespace {namespace} {RELAX_AFTER}=5m",
        evidence.kubectl("port-forward deploy/evenkeel 8081"),
        api::EXPLAIN
    );
    Ok(vec![if waited > LONG {
        DoctorFinding::warning(REFUSED, what, fix)
    } else {
        DoctorFinding::info(REFUSED, what, fix)
    }])
}

/// The Pods that wait for headroom, each with the time since which it does, the longest wait first.
pub(super) fn refused<'a>(evidence: &Evidence<'a>) -> Vec<(&'a Pod, Timestamp)> {
    let unbound = evidence.seen.unbound.there().into_iter().flatten();
    let mut refused: Vec<_> = unbound
        .filter_map(|pod| Some((pod, refused_since(pod)?)))
        .collect();
    refused.sort_by_key(|(_, since)| *since);
    refused
}

/// Time since which the Pod waits for Evenkeel; `None` where it does not.
fn refused_since(pod: &Pod) -> Option<Timestamp> {
    let condition = pod.status.condition("PodScheduled")?;
    let ours = condition.status == "False" && condition.message.contains(REFUSAL);
    ours.then_some(condition.last_transition_time?)
}
