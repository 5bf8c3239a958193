//! The usual usage of workloads' Pods, for new Pods that declare none themselves. It has locks of
//! its own, and requests take none of them.

use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::meta::OwnerReference;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::demand::with_history;
use evenkeel_placement::snapshot::OptIn;
use evenkeel_units::{Amount, Resources};
use jiff::Timestamp;

use super::ClusterState;
use crate::cluster::autoscaling::WorkloadKey;

impl ClusterState {
    /// Adds a round of measurements to what is known of workloads; some ten milliseconds of work in a
    /// large cluster.
    pub fn remember_usage(&self, round: &UsageSample, now: Timestamp) {
        let snapshot = self.snapshot();
        let resolve = |namespace: &str, controller: &OwnerReference| {
            self.lock().owners.resolve(namespace, controller)
        };
        let counts = |namespace: &str| matches!(snapshot.opt_in(namespace), OptIn::In(_));
        self.0.history.feed(round, resolve, counts, now);
    }

    /// Adds to a Pod the usage of other Pods of its workload, where it declares none itself. The answer shows
    /// that usage to the caller. So use it only for known callers and for data from the API server.
    pub fn add_history(&self, pod: &mut Pod) {
        if let Some(with) = self.with_history(pod) {
            *pod = with;
        }
    }

    pub(super) fn with_history(&self, pod: &Pod) -> Option<Pod> {
        let used = |controller: &OwnerReference| self.used_beside(pod.namespace(), controller);
        with_history(pod, self.0.settings.caps_as_demand, used)
    }

    fn used_beside(
        &self,
        namespace: &str,
        controller: &OwnerReference,
    ) -> Resources<Option<Amount>> {
        let owner = self.lock().owners.resolve(namespace, controller);
        self.0.history.usual(&WorkloadKey::of(namespace, &owner))
    }
}
