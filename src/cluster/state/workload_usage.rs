//! What the Pods of workloads use, as it counts for new ones that say nothing themselves; behind locks of its own, of which
//! requests take none.

use jiff::Timestamp;

use super::ClusterState;
use crate::cluster::autoscaling::WorkloadKey;
use evenkeel_core::placement::usage::UsageSample;
use evenkeel_core::units::{Amount, Resources};
use evenkeel_kubernetes::demand::with_history;
use evenkeel_kubernetes::meta::OwnerReference;
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::snapshot::OptIn;

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

    /// Adds to a Pod what others of its workload use, where it says nothing itself. Who asks about Pods learns by the answer
    /// what these use: so it is added for callers that are known, and for what the API server tells.
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
