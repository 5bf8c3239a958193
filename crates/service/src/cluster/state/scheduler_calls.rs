//! State from kube-scheduler's calls about Pods that have no binding yet.

use std::borrow::Cow;

use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::node_table::{ChoiceTally, NearTies, NodeTable};
use evenkeel_units::{Amount, Resources};
use jiff::Timestamp;

use super::ClusterState;
use crate::cluster::pod_store::ObservedPod;
use crate::cluster::records::WaitingPod;

impl ClusterState {
    /// Takes a Pod that kube-scheduler asks about, where an earlier answer put it before it is judged
    /// again.
    pub fn ask(&self, pod: &Pod, now: Timestamp) {
        self.take_question(pod, NodeTable::ask, now);
    }

    /// The same for its first question in an attempt, which may begin another trial of a group.
    pub fn ask_first(&self, pod: &Pod, now: Timestamp) {
        self.take_question(pod, NodeTable::ask_first, now);
    }

    fn take_question(
        &self,
        pod: &Pod,
        take: fn(&mut NodeTable, &str, &BoundPod<'_>, Timestamp),
        now: Timestamp,
    ) {
        let seen = ObservedPod::new(pod, self.0.settings.caps_as_demand, now);
        self.change(|inner| {
            let facts = inner.facts(&seen, inner.counted(pod, &seen.demand));
            take(&mut inner.table, pod.uid(), &facts, now);
        });
        self.expect_gated(pod);
    }

    /// Counts a Pod on the node that it will most likely get, and as possible on those near it.
    pub fn place(&self, uid: &str, node: &str, near: NearTies, now: Timestamp) {
        self.change(|inner| inner.table.place(uid, node, near, now));
    }

    /// Counts a Pod on the node that kube-scheduler has chosen; false where nothing is known of either.
    pub fn notice(&self, uid: &str, node: &str, now: Timestamp) -> bool {
        self.change(|inner| inner.table.notice(uid, node, now))
    }

    /// How kube-scheduler's choices have ended for the Pods that were placed here.
    pub fn choices(&self) -> ChoiceTally {
        *self.lock().table.choices()
    }

    /// The time since which a Pod has been refused by every node, if it has been.
    pub fn refused_since(&self, uid: &str) -> Option<Timestamp> {
        self.lock().waiting.get(uid).map(|pod| pod.since)
    }

    /// The Pods that no node had headroom for.
    pub fn waiting(&self) -> Vec<WaitingPod> {
        self.lock().waiting.values().cloned().collect()
    }

    /// The part of its node's load that leaves with a Pod; zero for a Pod that is not bound.
    pub fn part_of_load(&self, uid: &str) -> Resources<Amount> {
        self.lock().table.part_of_load(uid).unwrap_or_default()
    }

    /// The load that leaves a node with these Pods, and with those that are being deleted there.
    pub fn relief(&self, node: &str, uids: &[Cow<'_, str>]) -> Resources<Amount> {
        let inner = self.lock();
        let leaving = inner.table.terminating(node).iter().map(|uid| &**uid);
        let mut leaving: Vec<&str> = leaving.chain(uids.iter().map(|uid| &**uid)).collect();
        leaving.sort_unstable();
        leaving.dedup();
        let parts = leaving
            .iter()
            .filter_map(|uid| inner.table.part_of_load(uid));
        parts.fold(Resources::default(), |sum: Resources<Amount>, part| {
            Resources::from_fn(|resource| sum[resource].saturating_add(part[resource]))
        })
    }
}
