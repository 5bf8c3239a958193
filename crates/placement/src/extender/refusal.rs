//! The text of a refusal for lack of headroom, and how it is recognised in a Pod's status.

use evenkeel_objects::pod::{Pod, PodCondition};
use jiff::Timestamp;

/// The text of every refusal. kube-scheduler joins the texts of all nodes into the Pod's condition,
/// and a changed condition wakes the Pod at once. So the text is constant, without numbers, and
/// without `%`, which Events would take for a format.
pub const REFUSAL: &str = "evenkeel: no headroom";

/// The time since which a Pod waits after a refusal; `None` if it does not wait. `known` is the
/// time found before; `listed` is true once all Pods have been listed. The condition's time covers
/// any cause, so it counts only for Pods of the first list.
pub fn refused_since(
    pod: &Pod,
    known: Option<Timestamp>,
    listed: bool,
    now: Timestamp,
) -> Option<Timestamp> {
    let condition = refusal(pod)?;
    let transition = condition.last_transition_time.filter(|_| !listed);
    Some(known.or(transition).unwrap_or(now).min(now))
}

/// The condition of a Pod that waits because it was refused.
fn refusal(pod: &Pod) -> Option<&PodCondition> {
    let waits = pod.spec.node_name.is_none() && !pod.is_finished() && !pod.is_terminating();
    pod.status.condition("PodScheduled").filter(|condition| {
        waits && condition.status == "False" && condition.message.contains(REFUSAL)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn pod(node: Option<&str>, status: &str, message: &str) -> Pod {
        let pod = json!({
            "spec": {"nodeName": node},
            "status": {"conditions": [{"type": "PodScheduled", "status": status,
                "message": message, "lastTransitionTime": at(100)}]},
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn only_a_pod_that_waits_for_headroom_is_refused() {
        let message = format!("0/3 nodes are available: 3 {REFUSAL}.");
        for (pod, refused) in [
            (pod(None, "False", &message), true),
            (pod(Some("a"), "False", &message), false),
            (pod(None, "True", &message), false),
            (pod(None, "False", "3 Insufficient cpu."), false),
            (Pod::default(), false),
        ] {
            let since = refused_since(&pod, None, true, at(200));
            assert_eq!(since, refused.then(|| at(200)));
        }
    }

    #[test]
    fn the_time_found_first_stands_and_that_of_the_condition_only_at_the_first_list() {
        let pod = pod(None, "False", REFUSAL);
        for (known, listed, since) in [
            (None, false, 100),
            (None, true, 200),
            (Some(at(150)), false, 150),
            (Some(at(150)), true, 150),
            (Some(at(300)), true, 200),
        ] {
            let found = refused_since(&pod, known, listed, at(200));
            assert_eq!(found, Some(at(since)), "{known:?} {listed}");
        }
    }
}
