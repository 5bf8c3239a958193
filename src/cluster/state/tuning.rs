//! Pods that may be resized and the workloads behind them, as tuning reads them; no other lock is taken
//! while theirs is held.

use std::sync::{Arc, MutexGuard, PoisonError};

use super::ClusterState;
use crate::cluster::resizable_pods::ResizablePods;
use evenkeel_core::tuning::TuningMode;
use evenkeel_kubernetes::controller_key::ControllerKey;
use evenkeel_kubernetes::plan::tuning::TunedWorkload;
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::resizable_pod::ResizablePod;

impl ClusterState {
    /// Takes a Pod that is listed because its namespace has opted in late.
    pub fn keep_resizable(&self, pod: &Pod) {
        self.resizable().apply(pod);
    }

    /// The Pods of a controller that may be resized.
    #[must_use]
    pub fn resizable_of(&self, controller: &ControllerKey) -> Vec<Arc<ResizablePod>> {
        self.resizable().of(controller)
    }

    /// The Pods that carry a record of a resize.
    #[must_use]
    pub fn resized_pods(&self) -> Vec<Arc<ResizablePod>> {
        self.resizable().resized()
    }

    /// Takes the namespaces with Pods that are to be listed, because they have opted in late.
    #[must_use]
    pub fn take_unlisted_namespaces(&self) -> Vec<Box<str>> {
        self.resizable().take_unlisted()
    }

    /// The Pods of a namespace could not be listed.
    pub fn unlisted_namespace(&self, namespace: &str) {
        self.resizable().unlisted(namespace);
    }

    /// The workloads of namespaces that have opted in, with what they say of tuning; `None` before all of
    /// them have been listed.
    #[must_use]
    pub fn tuned_workloads(&self, default: TuningMode) -> Option<Vec<TunedWorkload>> {
        self.scaling().tuned_workloads(default)
    }

    pub(super) fn resizable(&self) -> MutexGuard<'_, ResizablePods> {
        // As for the other locks: the next event of the Pod mends what a panic has left.
        self.0
            .resizable
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
