//! The time that a Pod takes from its creation until it is ready for the first time.
//!
//! The condition `Ready` tells only since when a Pod has been ready this time. It is taken for the
//! first time where no container has been started again and the Pod became ready within ten
//! minutes of its last container's start: a probe that fails and recovers on a Pod which has long
//! run says nothing of how long a start takes.

use jiff::SignedDuration;

use super::Pod;

/// The longest a Pod may warm up after its containers have started.
const WARM_UP: SignedDuration = SignedDuration::from_mins(10);

/// From creation to the first readiness; `None` while it is not ready, or where that cannot be
/// told any more.
#[must_use]
pub fn start_to_ready(pod: &Pod) -> Option<SignedDuration> {
    let condition = pod.status.condition("Ready")?;
    let ready = condition.last_transition_time?;
    let warm_up = ready.duration_since(pod.started_at()?);
    let statuses = &pod.status.container_statuses;
    let restarted = statuses.iter().any(|container| container.restart_count > 0);
    let took = ready.duration_since(pod.metadata.creation_timestamp?);
    let first = condition.status == "True" && !restarted && warm_up <= WARM_UP;
    (first && !took.is_negative()).then_some(took)
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
            let expected = expected.map(SignedDuration::from_secs);
            assert_eq!(start_to_ready(&pod), expected, "{case}");
        }
        assert_eq!(start_to_ready(&Pod::default()), None);
    }
}
