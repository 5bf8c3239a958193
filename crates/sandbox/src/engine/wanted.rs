//! Which Pods are wanted and not on a node yet, and how long those that came took.
//!
//! What the scenario or an HPA wants is due from then on; each Pod that a node takes on settles
//! the oldest of what is due. Pods that no node took waited for room, which is no lag.

use std::collections::{BTreeMap, VecDeque};

use jiff::SignedDuration;

use super::lag::Lags;

/// Namespace and name of a workload.
type Name = (String, String);

/// What is wanted, and the lags so far.
#[derive(Debug)]
pub(super) struct Wanted {
    due: BTreeMap<Name, VecDeque<SignedDuration>>,
    lags: Lags,
}

impl Wanted {
    pub(super) const fn new(lags: Lags) -> Self {
        Self {
            due: BTreeMap::new(),
            lags,
        }
    }

    pub(super) const fn lags(&self) -> &Lags {
        &self.lags
    }

    /// So many Pods of a workload are missing at `at`.
    pub(super) fn missing(&mut self, workload: (&str, &str), number: usize, at: SignedDuration) {
        let due = self.due.entry(owned(workload)).or_default();
        due.resize(number, at);
    }

    /// A node has taken on a Pod of a workload; `refused` says that it was without room before.
    pub(super) fn taken(&mut self, workload: (&str, &str), refused: bool, at: SignedDuration) {
        let due = self.due.get_mut(&owned(workload));
        let since = due.and_then(VecDeque::pop_front);
        if let Some(since) = since.filter(|_| !refused) {
            let lag = at.saturating_sub(since).max(SignedDuration::ZERO);
            self.lags.record(workload.0, workload.1, lag);
        }
    }
}

fn owned((namespace, name): (&str, &str)) -> Name {
    (namespace.to_owned(), name.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_pod_settles_the_oldest_wish_and_wishes_can_be_taken_back() {
        let (second, web) = (SignedDuration::from_secs, ("shop", "web"));
        let mut wanted = Wanted::new(Lags::default());
        wanted.missing(web, 2, second(10));
        wanted.missing(web, 2, second(11));
        wanted.missing(web, 4, second(20));
        wanted.taken(web, false, second(13));
        // It had to wait for room.
        wanted.taken(web, true, second(90));
        wanted.missing(web, 1, second(95));
        wanted.taken(web, false, second(25));
        wanted.taken(web, false, second(99));
        let summary = wanted.lags().summary();
        assert_eq!(summary.pods, 2);
        assert!((summary.longest_seconds - 5.0).abs() < 1e-9, "{summary:?}");
        assert!((summary.mean_seconds - 4.0).abs() < 1e-9, "{summary:?}");
    }
}
