//! How long Pods take from their creation until they are ready for the first time.
//!
//! The condition `Ready` tells only since when a Pod has been ready this time. It is taken for the
//! first time where no container has been started again and the Pod became ready within ten
//! minutes of its last container's start: a probe that fails and recovers on a Pod which has long
//! run says nothing of how long a start takes.

use std::collections::VecDeque;

use jiff::SignedDuration;

use evenkeel_kubernetes::pod::Pod;

/// The longest a Pod may warm up after its containers have started.
const WARM_UP: SignedDuration = SignedDuration::from_mins(10);

/// How many times are kept of each workload.
const KEPT: usize = 50;

/// From creation to the first readiness; `None` while it is not ready, or where that cannot be
/// told any more.
pub(super) fn start_to_ready(pod: &Pod) -> Option<SignedDuration> {
    let condition = pod.status.condition("Ready")?;
    let ready = condition.last_transition_time?;
    let warm_up = ready.duration_since(pod.started_at()?);
    let statuses = &pod.status.container_statuses;
    let restarted = statuses.iter().any(|container| container.restart_count > 0);
    let took = ready.duration_since(pod.metadata.creation_timestamp?);
    let first = condition.status == "True" && !restarted && warm_up <= WARM_UP;
    (first && !took.is_negative()).then_some(took)
}

/// The times of one workload, the newest last, in milliseconds.
#[derive(Debug, Default)]
pub(super) struct Times(VecDeque<u32>);

impl Times {
    /// Takes one more; a time of weeks is none.
    pub(super) fn push(&mut self, took: SignedDuration) {
        let Ok(milliseconds) = u32::try_from(took.as_millis()) else {
            return;
        };
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(milliseconds);
    }

    /// Takes those of the same Pods under another owner.
    pub(super) fn append(&mut self, other: &Self) {
        other.values().for_each(|took| self.push(took));
    }

    /// The times.
    pub(super) fn values(&self) -> impl Iterator<Item = SignedDuration> {
        self.0
            .iter()
            .map(|&milliseconds| SignedDuration::from_millis(i64::from(milliseconds)))
    }
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

    #[test]
    fn the_newest_are_kept() {
        let mut times = Times::default();
        times.push(SignedDuration::MAX);
        (0..60).for_each(|second| times.push(SignedDuration::from_secs(second)));
        let kept: Vec<_> = times.values().collect();
        assert_eq!(
            kept,
            (10..60).map(SignedDuration::from_secs).collect::<Vec<_>>()
        );
        let mut other = Times::default();
        other.push(SignedDuration::ZERO);
        other.append(&times);
        assert!(other.values().eq(times.values()));
    }
}
