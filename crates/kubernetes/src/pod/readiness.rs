//! The time that a Pod takes from its creation until it is ready for the first time: until a node
//! had it, and from then on.
//!
//! The condition `Ready` tells only since when a Pod has been ready this time. It is taken for the
//! first time where no container has been started again and the Pod became ready within ten
//! minutes of its last container's start: a probe that fails and recovers on a Pod which has long
//! run says nothing of how long a start takes.

use evenkeel_core::scaling::horizon::StartTime;
use jiff::SignedDuration;

use super::Pod;

/// The longest a Pod may warm up after its containers have started.
const WARM_UP: SignedDuration = SignedDuration::from_mins(10);

/// From creation to the first readiness; `None` while it is not ready, or where that cannot be
/// told any more. A Pod of which it is not told when a node had it has not waited for one.
#[must_use]
pub fn start_time(pod: &Pod) -> Option<StartTime> {
    let condition = pod.status.condition("Ready")?;
    let ready = condition.last_transition_time?;
    let warm_up = ready.duration_since(pod.started_at()?);
    let statuses = &pod.status.container_statuses;
    let restarted = statuses.iter().any(|container| container.restart_count > 0);
    let created = pod.metadata.creation_timestamp?;
    let took = ready.duration_since(created);
    let waited = pod.bound_at().map(|bound| bound.duration_since(created));
    let waited = waited
        .unwrap_or_default()
        .max(SignedDuration::ZERO)
        .min(took);
    let first = condition.status == "True" && !restarted && warm_up <= WARM_UP;
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
