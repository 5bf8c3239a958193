//! Pods that Evenkeel holds back: how many, since when, and what lets them go.

use jiff::Timestamp;

use super::{Finding, Found, Sight, about, count};
use crate::server::paths;
use evenkeel_kubernetes::annotations::RELAX_AFTER;
use evenkeel_kubernetes::extender::REFUSAL;
use evenkeel_kubernetes::pod::Pod;

/// As long as the shipped alert rule waits.
const LONG: jiff::SignedDuration = jiff::SignedDuration::from_mins(10);

const REFUSED: &str = "refused-pods";

pub(super) fn check(sight: &Sight<'_>) -> Found {
    let unbound = sight
        .seen
        .unbound
        .look(REFUSED, "the Pods that wait for a node")?;
    let refused: Vec<(&Pod, Timestamp)> = unbound
        .into_iter()
        .flatten()
        .filter_map(|pod| Some((pod, refused_since(pod)?)))
        .collect();
    let Some((oldest, since)) = refused.iter().min_by_key(|(_, since)| *since) else {
        return Ok(vec![Finding::ok(REFUSED, "no Pod waits for headroom")]);
    };
    let now = sight.seen.server_time.unwrap_or(sight.seen.now);
    let waited = now.duration_since(*since);
    let (namespace, name) = (oldest.namespace(), oldest.name());
    let what = format!(
        "waiting for headroom: {}, the longest {namespace}/{name} for {}",
        count(refused.len(), "Pod"),
        about(waited)
    );
    let fix = format!(
        "{} and `curl 'localhost:8081{}?namespace={namespace}&pod={name}'` tell why; add nodes, \
         raise scheduling.headroom, or kubectl annotate namespace {namespace} {RELAX_AFTER}=5m",
        sight.kubectl("port-forward deploy/evenkeel 8081"),
        paths::EXPLAIN
    );
    Ok(vec![if waited > LONG {
        Finding::warning(REFUSED, what, fix)
    } else {
        Finding::info(REFUSED, what, fix)
    }])
}

/// Since when the Pod waits, if for Evenkeel.
fn refused_since(pod: &Pod) -> Option<Timestamp> {
    let condition = pod.status.condition("PodScheduled")?;
    let ours = condition.status == "False" && condition.message.contains(REFUSAL);
    ours.then_some(condition.last_transition_time?)
}
