//! Who goes in a scale-in, and how many may by now.
//!
//! First those that take no traffic for want of readiness, which their controller deletes first whatever is
//! said; then those that stand by and those that are cut off beyond what is wanted; where there are no others to
//! be had, those that take traffic. One that has taken some goes only after it has been out of it for the drain.

use super::census::Census;
use super::excess::{at_least_none, excess};
use super::pod::{PodState, ProfilePod};
use super::situation::{Rules, Situation};

/// A scale-in.
pub(super) struct ScaleIn<'a> {
    pub(super) rules: &'a Rules,
    pub(super) seen: &'a Situation<'a>,
    pub(super) census: &'a Census,
    /// True where limits let no Pod be taken out of traffic.
    pub(super) is_blocked: bool,
}

impl ScaleIn<'_> {
    /// The positions of the Pods that go, as far as they are chosen: at most `going`.
    pub(super) fn victims(&self, going: i32) -> Vec<usize> {
        let most = at_least_none(going);
        let pods = self.seen.pods;
        if self.seen.is_rolling || most == 0 {
            return Vec::new();
        }
        if pods.iter().any(|pod| pod.ordinal.is_some()) {
            return (0..pods.len()).take(most).collect();
        }
        let wanted = self.rules.wanted;
        let beyond = |state, have: i32, wanted: i32| {
            let order = Census::longest_off(self.seen, state);
            order.into_iter().take(at_least_none(excess(have, wanted)))
        };
        let unready = |at: &usize| !pods[*at].state.is_off() && !pods[*at].containers_ready;
        let unready = (0..pods.len()).filter(unready);
        let standby = beyond(PodState::Standby, self.census.standby, wanted.standby);
        let cutoff = beyond(PodState::Cutoff, self.census.cutoff, wanted.cutoff);
        unready.chain(standby).chain(cutoff).take(most).collect()
    }

    /// The replicas, of `surplus` that are too many, that may go now.
    pub(super) fn ripe(&self, surplus: i32, victims: &[usize]) -> i32 {
        let pods = self.seen.pods;
        if self.seen.is_rolling {
            return surplus;
        }
        let absent = self.census.missing.min(surplus);
        let is_ripe = |at: &&usize| self.is_ripe(&pods[**at]);
        let ripe = if pods.iter().any(|pod| pod.ordinal.is_some()) {
            victims.iter().take_while(is_ripe).count()
        } else {
            victims.iter().filter(is_ripe).count()
                + self.not_to_be_drained(surplus - absent, victims)
        };
        let ripe = i32::try_from(ripe).unwrap_or(i32::MAX);
        // The first of them are let go already.
        let ripe = excess(ripe, self.census.leaving(self.seen));
        surplus.min(absent.saturating_add(ripe))
    }

    /// The Pods in traffic that go as they are, since nothing takes them out of it.
    fn not_to_be_drained(&self, going: i32, victims: &[usize]) -> usize {
        let pods = self.seen.pods;
        let lacking = at_least_none(going).saturating_sub(victims.len());
        if self.is_blocked {
            return lacking;
        }
        let gated = pods.iter().filter(|pod| pod.serves() && pod.is_gated);
        lacking.saturating_sub(gated.count())
    }

    fn is_ripe(&self, pod: &ProfilePod) -> bool {
        if !pod.state.is_off() {
            return !pod.containers_ready || !pod.is_gated || self.is_blocked;
        }
        let drained = |since| self.seen.now.duration_since(since) >= self.rules.drain;
        pod.is_marked && pod.off_since.is_some_and(drained)
    }
}
