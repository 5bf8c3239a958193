//! The Pods that may go in a scale-in, as plans and explanations read them; no other lock is taken while
//! theirs is held.

use std::sync::{Arc, MutexGuard, PoisonError};

use evenkeel_core::units::{Amount, Resources};
use evenkeel_kubernetes::controller_key::ControllerKey;
use evenkeel_kubernetes::plan::deletion_cost::NodeLabels;
use evenkeel_kubernetes::plan::scaling::TargetRef;
use evenkeel_kubernetes::removable_pod::{Cost, RemovablePod};

use super::ClusterState;
use crate::cluster::removable_pods::RemovablePods;

impl ClusterState {
    /// The controllers of a workload's Pods: its ReplicaSets, or itself.
    #[must_use]
    pub fn controllers_of(&self, workload: &TargetRef) -> Vec<ControllerKey> {
        self.scaling().controllers_of(workload)
    }

    /// The Pods of a ReplicaSet that may go.
    #[must_use]
    pub fn removable_of(&self, replica_set: &ControllerKey) -> Vec<Arc<RemovablePod>> {
        self.removable().of_set(replica_set)
    }

    /// All Pods of a namespace that may go.
    #[must_use]
    pub fn removable_within(&self, namespace: &str) -> Vec<Arc<RemovablePod>> {
        self.removable().within(namespace)
    }

    /// The Pods that carry a cost of Evenkeel's.
    #[must_use]
    pub fn marked_pods(&self) -> Vec<Arc<RemovablePod>> {
        self.removable().marked()
    }

    /// The labels of all nodes, where costs are given.
    #[must_use]
    pub fn node_labels(&self) -> Arc<NodeLabels> {
        self.removable().node_labels()
    }

    /// The cost that Evenkeel has given a Pod.
    #[must_use]
    pub fn deletion_cost(&self, uid: &str) -> Option<Cost> {
        self.removable().get(uid)?.mark.given()
    }

    /// The part of its node's load that leaves with a Pod; zero for a Pod that is not bound.
    #[must_use]
    pub fn part_of_load(&self, uid: &str) -> Resources<Amount> {
        self.lock().table.part_of_load(uid).unwrap_or_default()
    }

    pub(super) fn removable(&self) -> MutexGuard<'_, RemovablePods> {
        // As for the other locks: the next event of the Pod mends what a panic has left.
        self.0
            .removable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
