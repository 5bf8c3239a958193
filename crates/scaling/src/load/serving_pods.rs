//! The Pods of a target that carry load, and how many have lately ceased to.
//!
//! The load that a Pod leaves to the others shows in their rates a window later. Until then the sum
//! over the others is too low, and the Pod itself may be gone, so it is remembered here.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use evenkeel_metrics::pod::PodFacts;
use jiff::{SignedDuration, Timestamp};

/// The time for which it is remembered that Pods ceased to carry load: longer than any rate window
/// and the age of a measurement.
const REMEMBERED: SignedDuration = SignedDuration::from_mins(30);

/// The Pods of one target over time.
#[derive(Debug, Default)]
pub struct ServingPods {
    seen: Vec<Arc<PodFacts>>,
    /// When Pods were found to have ceased, and how many; the newest last.
    ceased: VecDeque<(Timestamp, usize)>,
}

impl ServingPods {
    /// Takes the Pods that the target has at `now`.
    pub fn see(&mut self, pods: &[Arc<PodFacts>], now: Timestamp) {
        let remembered = |at: Timestamp| at <= now && now.duration_since(at) <= REMEMBERED;
        self.ceased.retain(|&(at, _)| remembered(at));
        let same = |(before, after): (&Arc<PodFacts>, &Arc<PodFacts>)| Arc::ptr_eq(before, after);
        let unchanged = self.seen.len() == pods.len();
        if unchanged && self.seen.iter().zip(pods).all(same) {
            return;
        }
        let carrying: HashMap<&str, Timestamp> = pods
            .iter()
            .filter_map(|pod| Some((&*pod.name, pod.carries_since()?)))
            .collect();
        // One that is ready again since another time has ceased in between, or is another Pod.
        let ceased = self.seen.iter().filter(|pod| {
            let since = pod.carries_since();
            since.is_some_and(|since| carrying.get(&*pod.name) != Some(&since))
        });
        let ceased = ceased.count();
        if ceased > 0 {
            self.ceased.push_back((now, ceased));
        }
        self.seen = pods.to_vec();
    }

    /// The number of Pods that have ceased to carry load since `time`.
    pub(crate) fn ceased_since(&self, time: Timestamp) -> usize {
        let since = self.ceased.iter().rev();
        let since = since.take_while(|(at, _)| *at > time);
        since.map(|(_, ceased)| ceased).sum()
    }
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::pod::{PodPhase, ReadyCondition};
    use evenkeel_objects::condition::ConditionStatus;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(10_000 + second).unwrap()
    }

    fn pod(name: &str, ready: bool, since: i64, deleted: bool) -> Arc<PodFacts> {
        Arc::new(PodFacts {
            name: name.to_owned(),
            phase: PodPhase::Running,
            deleted,
            start_time: None,
            ready: Some(ReadyCondition {
                status: ConditionStatus::from(ready),
                last_transition_time: at(since),
            }),
            spec: Arc::default(),
        })
    }

    #[test]
    fn whoever_carried_load_and_does_no_longer_is_remembered_for_a_while() {
        let mut carriers = ServingPods::default();
        let (a, b, c) = (
            pod("a", true, 0, false),
            pod("b", true, 0, false),
            pod("c", false, 0, false),
        );
        carriers.see(&[Arc::clone(&a), Arc::clone(&b), c], at(0));
        assert_eq!(carriers.ceased_since(at(-100)), 0);
        // One that never carried load leaves none to the others; a new one takes some over.
        let starts = pod("d", true, 10, false);
        carriers.see(&[Arc::clone(&a), b, Arc::clone(&starts)], at(15));
        assert_eq!(carriers.ceased_since(at(-100)), 0);
        // One is being deleted, one is another of the same name.
        let restarted = pod("d", true, 20, false);
        let all = [a, pod("b", true, 0, true), Arc::clone(&restarted)];
        carriers.see(&all, at(30));
        carriers.see(&all, at(45));
        // One is gone.
        carriers.see(&[restarted], at(60));
        for (since, ceased) in [(-100, 3), (29, 3), (30, 1), (59, 1), (60, 0)] {
            assert_eq!(carriers.ceased_since(at(since)), ceased, "{since}");
        }
        carriers.see(&[], at(60 + 30 * 60));
        assert_eq!(
            carriers.ceased_since(at(-100)),
            2,
            "the last, and the one before"
        );
        // A clock that was set back knows of nothing that is yet to come.
        carriers.see(&[], at(100));
        assert_eq!(carriers.ceased_since(at(-100)), 1);
    }
}
