//! Wanted Pods that are not on a node yet, and the lags of those that are. A wait begins when the
//! scenario or an HPA wants a Pod. Each Pod that a node takes ends the oldest wait. If no node took
//! a Pod at first, it waited for room, which is no lag.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use evenkeel_objects::pod_name::PodName;
use jiff::SignedDuration;

use crate::engine::lag::Lags;

/// By namespace and name of the workload.
#[derive(Debug)]
pub(super) struct WantedPods {
    since: BTreeMap<(String, String), VecDeque<SignedDuration>>,
    refused: BTreeSet<PodName>,
    lags: Lags,
}

impl WantedPods {
    pub(super) const fn new(lags: Lags) -> Self {
        Self {
            since: BTreeMap::new(),
            refused: BTreeSet::new(),
            lags,
        }
    }

    pub(super) const fn lags(&self) -> &Lags {
        &self.lags
    }

    /// `number` Pods of a workload are missing at `at`.
    pub(super) fn miss(&mut self, namespace: &str, name: &str, number: usize, at: SignedDuration) {
        let key = (namespace.to_owned(), name.to_owned());
        self.since.entry(key).or_default().resize(number, at);
    }

    pub(super) fn refused(&mut self, pod: &PodName) {
        self.refused.insert(pod.clone());
    }

    /// Forgets all other Pods.
    pub(super) fn retain(&mut self, keep: impl Fn(&PodName) -> bool) {
        self.refused.retain(|pod| keep(pod));
    }

    pub(super) fn taken_on(&mut self, pod: &PodName, workload: &str, at: SignedDuration) {
        let key = (pod.namespace().to_owned(), workload.to_owned());
        let since = self.since.get_mut(&key).and_then(VecDeque::pop_front);
        let refused = self.refused.remove(pod);
        if let Some(since) = since.filter(|_| !refused) {
            let lag = at.saturating_sub(since).max(SignedDuration::ZERO);
            self.lags.record(pod.namespace(), workload, lag);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pod_settles_the_oldest_wait_and_waits_can_be_taken_back() {
        let second = SignedDuration::from_secs;
        let pod = PodName::new("shop", "web-a");
        let mut wanted = WantedPods::new(Lags::default());
        wanted.miss("shop", "web", 2, second(10));
        wanted.miss("shop", "web", 2, second(11));
        wanted.miss("shop", "web", 4, second(20));
        wanted.taken_on(&pod, "web", second(13));
        // It waited for room.
        wanted.refused(&pod);
        wanted.taken_on(&pod, "web", second(90));
        wanted.miss("shop", "web", 1, second(95));
        wanted.taken_on(&pod, "web", second(25));
        wanted.taken_on(&pod, "web", second(99));
        let summary = wanted.lags().summary();
        assert_eq!(summary.pods, 2);
        assert!((summary.longest_seconds - 5.0).abs() < 1e-9, "{summary:?}");
        assert!((summary.mean_seconds - 4.0).abs() < 1e-9, "{summary:?}");
    }
}
