//! The parts of the cluster's state that follow Pods. Each event of a Pod is read once, and every
//! store takes it under its own lock.

use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::demand::{Demand, demand};
use jiff::Timestamp;

/// A Pod as an event or kube-scheduler shows it.
pub(super) struct ObservedPod<'a> {
    pub(super) pod: &'a Pod,
    /// Stores that keep the name share its text.
    pub(super) name: PodName,
    pub(super) demand: Demand,
    pub(super) now: Timestamp,
}

impl<'a> ObservedPod<'a> {
    /// The caps of the CNI bandwidth plugin count as demand where `caps_as_demand` is true.
    pub(super) fn new(pod: &'a Pod, caps_as_demand: bool, now: Timestamp) -> Self {
        Self {
            pod,
            name: PodName::new(pod.namespace(), pod.name()),
            demand: demand(pod, caps_as_demand),
            now,
        }
    }
}

/// A part of the state that keeps something of each Pod, by UID.
pub(super) trait PodStore {
    /// Takes a Pod as it now is.
    fn apply(&mut self, seen: &ObservedPod<'_>);
    /// Forgets a Pod that was deleted.
    fn remove(&mut self, uid: &str, now: Timestamp);
    /// Keeps only these Pods, after a complete list.
    fn retain(&mut self, keep: &dyn Fn(&str) -> bool, now: Timestamp);
}
