//! The Pods that go in a scale-in, and the number that may go by now.
//!
//! Pods that are not ready go first, then Pods on standby and cut-off Pods beyond the wanted counts,
//! then Pods that take traffic. A Pod that has taken traffic goes only after it has been out of it for
//! the drain. The count falls only by Pods that their controller is sure to delete before any other Pod
//! that is not ready. The controller goes by deletion costs; of equals it takes any.

use std::collections::BTreeSet;

use evenkeel_api::replica_profile::profile_rules::ProfileRules;
use evenkeel_objects::pod_state::PodState;

use super::count_difference::{at_least_none, excess};
use super::pod::ProfilePod;
use super::pod_counts::PodCounts;
use super::profile_input::ProfileInput;

/// A scale-in.
pub(super) struct ProfileScaleIn<'a> {
    pub(super) rules: &'a ProfileRules,
    pub(super) seen: &'a ProfileInput<'a>,
    pub(super) census: &'a PodCounts,
    /// The Pods that may go in traffic, since limits let none be taken out of it.
    pub(super) undrained: usize,
    /// The positions of those that are taken out of traffic now, which their controller may see before the count.
    pub(super) taken_off: BTreeSet<usize>,
}

/// The first turns of some Pods out of traffic: of those that stay, and of those that have requests under way.
#[derive(Debug, Clone, Copy)]
struct FirstTurns {
    staying: u32,
    harmed: u32,
}

impl ProfileScaleIn<'_> {
    /// The positions of the Pods that go, as far as they are chosen, at most `going`: those first that go first.
    pub(super) fn victims(&self, going: i32) -> Vec<usize> {
        let most = at_least_none(going);
        let pods = self.seen.pods;
        if self.seen.is_rolling || most == 0 {
            return Vec::new();
        }
        if self.seen.goes_by_ordinals() {
            return (0..pods.len()).take(most).collect();
        }
        let wanted = self.rules.wanted;
        let beyond = |state, have: i32, wanted: i32| {
            let order = PodCounts::longest_off(self.seen, state);
            order.into_iter().take(at_least_none(excess(have, wanted)))
        };
        let unready = (0..pods.len()).filter(|&at| pods[at].is_unready());
        let standby = beyond(PodState::Standby, self.census.standby, wanted.standby);
        let cutoff = beyond(PodState::Cutoff, self.census.cutoff, wanted.cutoff);
        let chosen = unready.chain(standby).chain(cutoff);
        let mut chosen: Vec<usize> = chosen.take(most).collect();
        // A Pod that cannot be marked looks like any other to its controller, and comes last.
        chosen.sort_by_key(|&at| {
            let pod = &pods[at];
            let (is_off, since) = (pod.state.is_off(), pod.off_since);
            (!pod.takes_mark, is_off, since.is_none(), since, at)
        });
        chosen
    }

    /// The replicas, of `surplus` that are too many, that may go now.
    pub(super) fn ripe(&self, surplus: i32, victims: &[usize]) -> i32 {
        if self.seen.is_rolling {
            return surplus;
        }
        let absent = self.census.missing.min(surplus);
        let ripe = if self.seen.goes_by_ordinals() {
            let mut undrained = self.undrained;
            let is_ripe = |at: &&usize| {
                let pod = &self.seen.pods[**at];
                let is_left = !self.is_ripe(pod) && !pod.state.is_off() && undrained > 0;
                undrained -= usize::from(is_left);
                is_left || self.is_ripe(pod)
            };
            victims.iter().take_while(is_ripe).count()
        } else {
            self.sure_to_go(victims) + self.not_to_be_drained(surplus - absent, victims)
        };
        let ripe = i32::try_from(ripe).unwrap_or(i32::MAX);
        // The first of them are let go already.
        let ripe = excess(ripe, self.census.leaving(self.seen));
        surplus.min(absent.saturating_add(ripe))
    }

    /// How many of the first victims may go and are sure to go before all others out of traffic. Where one cannot be
    /// marked, as a user has given it a cost, others may go in its place that no harm is done to.
    fn sure_to_go(&self, victims: &[usize]) -> usize {
        let pods = self.seen.pods;
        let mut behind = vec![self.others(victims)];
        for &at in victims.iter().rev() {
            behind.push(self.with(behind[behind.len() - 1], at));
        }
        behind.reverse();
        let ripe = victims.iter().take_while(|at| self.is_ripe(&pods[**at]));
        let (mut last, mut is_by_chance, mut sure) = (0, false, 0);
        for (place, &at) in ripe.enumerate() {
            last = last.max(pods[at].turn);
            is_by_chance |= !pods[at].takes_mark;
            let next = behind[place + 1];
            let next = if is_by_chance {
                next.harmed
            } else {
                next.staying
            };
            if last < next {
                sure = place + 1;
            }
        }
        sure
    }

    /// The first turns of those that are no victims.
    fn others(&self, victims: &[usize]) -> FirstTurns {
        let victims: BTreeSet<usize> = victims.iter().copied().collect();
        let others = (0..self.seen.pods.len()).filter(|at| !victims.contains(at));
        let none = FirstTurns {
            staying: u32::MAX,
            harmed: u32::MAX,
        };
        others.fold(none, |first, at| self.with(first, at))
    }

    fn with(&self, mut first: FirstTurns, at: usize) -> FirstTurns {
        let pod = &self.seen.pods[at];
        let is_off = pod.state.is_off();
        if self.taken_off.contains(&at) || (is_off && !self.is_harmless(pod)) {
            first.harmed = first.harmed.min(pod.turn);
            first.staying = first.staying.min(pod.turn);
        } else if is_off && pod.takes_mark {
            first.staying = first.staying.min(pod.turn);
        }
        first
    }

    /// The Pods in traffic that go as they are, since nothing takes them out of it. They go after all others.
    fn not_to_be_drained(&self, going: i32, victims: &[usize]) -> usize {
        let pods = self.seen.pods;
        let mut off = pods.iter().filter(|pod| pod.state.is_off());
        if !self.taken_off.is_empty() || !off.all(|pod| self.is_harmless(pod)) {
            return 0;
        }
        let lacking = at_least_none(going).saturating_sub(victims.len());
        let gated = pods.iter().filter(|pod| pod.serves() && pod.is_gated);
        let ungated = lacking.saturating_sub(gated.count());
        ungated.max(lacking.min(self.undrained))
    }

    fn is_ripe(&self, pod: &ProfilePod) -> bool {
        let is_never_off = !pod.state.is_off() && !pod.is_gated;
        is_never_off || self.is_harmless(pod)
    }

    /// True for a Pod with no requests under way.
    fn is_harmless(&self, pod: &ProfilePod) -> bool {
        let drained = |since| self.seen.now.duration_since(since) >= self.rules.drain;
        pod.is_unready() || pod.off_since.is_some_and(drained)
    }
}
