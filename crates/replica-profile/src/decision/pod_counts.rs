//! The Pods of a workload, counted.

use std::cmp::Reverse;

use evenkeel_objects::pod_state::PodState;
use jiff::SignedDuration;

use super::count_difference::excess;
use super::pod::{PodResources, ProfilePod};
use super::profile_input::ProfileInput;

/// Pods by what they do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PodCounts {
    /// Those that take traffic, or will as soon as that is seen.
    pub(super) serving: i32,
    /// Those that have done so for a while.
    pub(super) settled: i32,
    /// Those that may take traffic and are not ready.
    pub(super) unready: i32,
    pub(super) cutoff: i32,
    pub(super) standby: i32,
    /// Those that are cut off and do not get their resources back.
    pub(super) withheld: i32,
    /// All of them.
    pub(super) pods: i32,
    /// Those that the workload is to have and that are not there.
    pub(super) missing: i32,
    /// The replicas of the workload that are not out of traffic, there or not.
    pub(super) online_replicas: i32,
}

fn count(pods: &[ProfilePod], is_one: impl Fn(&ProfilePod) -> bool) -> i32 {
    let found = pods.iter().filter(|pod| is_one(pod)).count();
    i32::try_from(found).unwrap_or(i32::MAX)
}

impl PodCounts {
    pub(super) fn of(seen: &ProfileInput<'_>, settles: SignedDuration) -> Self {
        let pods = seen.pods;
        let cutoff = count(pods, |pod| pod.state == PodState::Cutoff);
        let standby = count(pods, |pod| pod.state == PodState::Standby);
        let has_settled = |pod: &ProfilePod| {
            let ready = pod.ready_since.filter(|_| pod.serves());
            ready.is_some_and(|since| seen.now.duration_since(since) >= settles)
        };
        Self {
            serving: count(pods, ProfilePod::serves),
            settled: count(pods, has_settled),
            unready: count(pods, ProfilePod::is_unready),
            cutoff,
            standby,
            withheld: count(pods, |pod| {
                pod.state == PodState::Cutoff && pod.resources == PodResources::Withheld
            }),
            pods: count(pods, |_| true),
            missing: excess(seen.replicas, count(pods, |_| true)),
            online_replicas: excess(seen.replicas, cutoff + standby),
        }
    }

    /// The Pods beyond the count of the workload, which its controller is about to delete.
    pub(super) const fn leaving(&self, seen: &ProfileInput<'_>) -> i32 {
        excess(self.pods, seen.replicas)
    }

    /// The Pods that are out of traffic.
    pub(super) const fn off(&self) -> i32 {
        self.cutoff + self.standby
    }

    /// The positions of the Pods out of traffic in the order in which they should take some again: those
    /// that can at once, those that wait for their resources, those that stand by, and those that are not
    /// ready or get nothing back; of a workload that goes by ordinals the lowest first.
    pub(super) fn raised_first(seen: &ProfileInput<'_>) -> Vec<usize> {
        let rank = |pod: &ProfilePod| match pod {
            pod if pod.can_serve() => 0,
            pod if pod.resources == PodResources::Withheld || !pod.containers_ready => 3,
            pod if pod.state == PodState::Cutoff => 1,
            _ => 2,
        };
        let off = |&at: &usize| seen.pods[at].state.is_off();
        let mut order: Vec<usize> = (0..seen.pods.len()).filter(off).collect();
        order.sort_by_key(|&at| {
            let pod = &seen.pods[at];
            let ordinal = pod.ordinal.unwrap_or(0);
            (ordinal, rank(pod), Reverse(pod.off_since), at)
        });
        order
    }

    /// The positions of the Pods in a state, those first that have taken no traffic for longest.
    pub(super) fn longest_off(seen: &ProfileInput<'_>, state: PodState) -> Vec<usize> {
        let is_one = |&at: &usize| seen.pods[at].state == state;
        let mut order: Vec<usize> = (0..seen.pods.len()).filter(is_one).collect();
        order.sort_by_key(|&at| {
            (
                seen.pods[at].off_since.is_none(),
                seen.pods[at].off_since,
                at,
            )
        });
        order
    }
}
