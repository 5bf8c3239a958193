//! The time from a Pod's creation to its first readiness: until a node had it, and from then on.
//! `Ready` reports only the present readiness. It counts as the first if no container was restarted
//! and the Pod became ready within ten minutes of its last container's start: a probe that recovers
//! on a long-running Pod says nothing about starts.

use crate::start_time::StartTime;
use jiff::SignedDuration;

use super::Pod;

/// The longest a Pod may warm up after its containers have started.
const WARM_UP: SignedDuration = SignedDuration::from_mins(10);

/// From creation to first readiness; `None` if not ready or no longer known. A Pod without a time
/// of binding has not waited for a node.
pub fn start_time(pod: &Pod) -> Option<StartTime> {
    let condition = pod.status.condition("Ready")?;
    let ready = condition.last_transition_time?;
    let warm_up = ready.duration_since(pod.started_at()?);
    let created = pod.metadata.creation_timestamp?;
    let took = ready.duration_since(created);
    let waited = pod.bound_at().map(|bound| bound.duration_since(created));
    let waited = waited
        .unwrap_or_default()
        .max(SignedDuration::ZERO)
        .min(took);
    let first = condition.status == "True" && !pod.status.has_restarted() && warm_up <= WARM_UP;
    (first && !took.is_negative()).then(|| StartTime {
        waited,
        started: took - waited,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_a_first_readiness_counts() {
        let first = ("True", 65, 10, 0);
        for (case, (status, ready, started, restarts), expected) in [
            ("ready at once", ("True", 11, 10, 0), Some(11)),
            ("after a warm-up", first, Some(65)),
            ("after the longest warm-up", ("True", 610, 10, 0), Some(610)),
            (
                "long after its start: it had been ready before",
                ("True", 611, 10, 0),
                None,
            ),
            ("a container was started again", ("True", 65, 10, 1), None),
            ("not ready", ("False", 65, 10, 0), None),
            (
                "made after it was ready: the clocks disagree",
                ("True", -1, -2, 0),
                None,
            ),
            ("rounded to before its start", ("True", 9, 10, 0), Some(9)),
        ] {
            let time = |second: i64| jiff::Timestamp::from_second(1_000_000 + second).unwrap();
            let pod: Pod = serde_json::from_value(json!({
                "metadata": {"creationTimestamp": time(0)},
                "spec": {"containers": [{}]},
                "status": {
                    "conditions": [{"type": "Ready", "status": status,
                        "lastTransitionTime": time(ready)}],
                    "containerStatuses": [{"restartCount": restarts,
                        "state": {"running": {"startedAt": time(started)}}}],
                },
            }))
            .unwrap();
            let took = start_time(&pod).map(|start| (start.waited + start.started).as_secs());
            assert_eq!(took, expected, "{case}");
        }
        assert_eq!(start_time(&Pod::default()), None);
    }

    #[test]
    fn the_wait_for_a_node_is_told_apart() {
        let time = |second: i64| jiff::Timestamp::from_second(1_000_000 + second).unwrap();
        for (bound, waited, started) in [(Some(90), 90, 20), (Some(0), 0, 110), (None, 0, 110)] {
            let mut conditions = vec![json!({"type": "Ready", "status": "True",
                "lastTransitionTime": time(110)})];
            conditions.extend(bound.map(|bound| {
                json!({"type": "PodScheduled", "status": "True", "lastTransitionTime": time(bound)})
            }));
            let pod: Pod = serde_json::from_value(json!({
                "metadata": {"creationTimestamp": time(0)},
                "spec": {"containers": [{}]},
                "status": {"conditions": conditions, "containerStatuses": [
                    {"state": {"running": {"startedAt": time(100)}}}]},
            }))
            .unwrap();
            let seconds = SignedDuration::from_secs;
            let expected = StartTime {
                waited: seconds(waited),
                started: seconds(started),
            };
            assert_eq!(start_time(&pod), Some(expected), "{bound:?}");
        }
    }
}
