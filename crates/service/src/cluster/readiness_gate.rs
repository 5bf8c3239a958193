//! Decides if new Pods may get a readiness gate, which Evenkeel then has to open.
//!
//! A Pod with the gate is never ready without its condition, so a replica adds the gate only if it
//! has recently written a condition, or could have, without a failure since. No Pod of the
//! namespace may wait too long for its condition or have it refused, and the watch must show the
//! Pods that kube-scheduler asks about. Tenants can cause a wait or a refusal, so both count only
//! for their own namespace; a review counts for nothing, because any client may send one.
//!
//! If a gate is wrongly left out, a few Pods cannot be taken out of traffic. If it is wrongly
//! added, they wait for another replica.

use std::collections::{HashMap, HashSet};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use super::lock::locked;

/// The time for which a write that was made, or would have been, speaks for the next ones.
const GOOD_FOR: Duration = Duration::from_secs(30);
/// The time within which a Pod that kube-scheduler asks about is seen, or anything else of Pods.
const SEEN_WITHIN: Duration = Duration::from_secs(10);
/// The longest that a Pod waits for its condition.
const OPENED_WITHIN: Duration = Duration::from_secs(5);

#[derive(Debug, Default)]
pub(super) struct Gate(Mutex<ReadinessGateState>);

#[derive(Debug, Default)]
struct ReadinessGateState {
    /// The last write that was made, or would have been.
    good: Option<Instant>,
    /// When kube-scheduler first asked since about a Pod with a gate that had not been seen.
    missed: Option<Instant>,
    /// Since when the first Pod of a namespace has waited for its condition.
    awaited: HashMap<Box<str>, Instant>,
    /// The namespaces with a Pod for which the last write of the condition was refused.
    refused: HashSet<Box<str>>,
}

impl Gate {
    pub(super) fn good(&self, now: Instant) {
        locked(&self.0).good = Some(now);
    }

    pub(super) fn failed(&self) {
        locked(&self.0).good = None;
    }

    pub(super) fn seen(&self) {
        locked(&self.0).missed = None;
    }

    /// kube-scheduler asks about a Pod with a gate that the watch has not shown.
    pub(super) fn missed(&self, now: Instant) {
        locked(&self.0).missed.get_or_insert(now);
    }

    /// Sets the namespaces with waiting Pods, each with the start of the first wait; `refused` are
    /// those with a Pod whose last write was refused.
    pub(super) fn waiting(&self, awaited: HashMap<Box<str>, Instant>, refused: HashSet<Box<str>>) {
        let mut known = locked(&self.0);
        known.awaited = awaited;
        known.refused = refused;
    }

    /// True where new Pods may be given a gate at all.
    pub(super) fn is_open(&self, now: Instant) -> bool {
        locked(&self.0).is_open(now)
    }

    pub(super) fn is_open_for(&self, namespace: &str, now: Instant) -> bool {
        let known = locked(&self.0);
        let since = known.awaited.get(namespace).copied();
        known.is_open(now)
            && within(since, OPENED_WITHIN, now)
            && !known.refused.contains(namespace)
    }
}

impl ReadinessGateState {
    fn is_open(&self, now: Instant) -> bool {
        let is_good = self.good.is_some() && within(self.good, GOOD_FOR, now);
        is_good && within(self.missed, SEEN_WITHIN, now)
    }
}

fn within(since: Option<Instant>, most: Duration, now: Instant) -> bool {
    since.is_none_or(|since| now.duration_since(since) <= most)
}

#[cfg(test)]
mod tests {
    use evenkeel_clock as clock;

    use super::*;

    #[test]
    fn it_opens_with_a_write_that_was_made_and_shuts_when_one_fails_or_none_is_made() {
        let (gate, now) = (Gate::default(), clock::instant());
        let after = |seconds| now + Duration::from_secs(seconds);
        assert!(!gate.is_open(now), "nobody has tried");
        gate.good(now);
        assert!(gate.is_open(after(30)));
        assert!(!gate.is_open(after(31)), "and nobody has since");
        gate.good(after(31));
        gate.failed();
        assert!(!gate.is_open(after(32)));
        gate.good(after(33));
        assert!(gate.is_open(after(34)));
    }

    #[test]
    fn it_shuts_where_pods_that_are_to_be_placed_are_not_seen() {
        let (gate, now) = (Gate::default(), clock::instant());
        let after = |seconds| now + Duration::from_secs(seconds);
        gate.good(after(5));
        gate.missed(now);
        gate.missed(after(9));
        assert!(gate.is_open(after(10)));
        assert!(!gate.is_open(after(11)), "the first counts");
        gate.seen();
        assert!(gate.is_open(after(13)));
    }

    /// The harm: Pods that waited briefly one after the other, in any namespace, closed it for all.
    #[test]
    fn it_shuts_where_one_pod_waits_for_longer_than_it_takes() {
        let (gate, now) = (Gate::default(), clock::instant());
        let after = |seconds| now + Duration::from_secs(seconds);
        gate.good(now);
        gate.waiting([("shop".into(), now)].into(), HashSet::new());
        assert!(gate.is_open_for("shop", after(5)));
        assert!(!gate.is_open_for("shop", after(6)));
        assert!(gate.is_open_for("other", after(6)) && gate.is_open(after(6)));
        gate.waiting([("shop".into(), after(6))].into(), HashSet::new());
        assert!(
            gate.is_open_for("shop", after(7)),
            "it is another that waits"
        );
        gate.waiting(HashMap::new(), ["shop".into()].into());
        assert!(!gate.is_open_for("shop", after(7)));
        assert!(gate.is_open_for("other", after(7)));
        gate.waiting(HashMap::new(), HashSet::new());
        assert!(gate.is_open_for("shop", after(7)));
    }
}
