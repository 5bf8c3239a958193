//! What the Pods of workloads use, as admission asks it for new ones; behind locks of its own, of which
//! requests take none.

use jiff::Timestamp;

use super::ClusterState;
use crate::cluster::autoscaling::WorkloadKey;
use evenkeel_core::placement::usage::UsageSample;
use evenkeel_core::units::{Amount, Resources};
use evenkeel_kubernetes::meta::OwnerReference;
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

    /// What the Pods use of the workload behind the controller that a new Pod names; `None` where that
    /// is not known.
    #[must_use]
    pub fn used_beside(
        &self,
        namespace: &str,
        controller: &OwnerReference,
    ) -> Resources<Option<Amount>> {
        let owner = self.lock().owners.resolve(namespace, controller);
        self.0.history.usual(&WorkloadKey::of(namespace, &owner))
    }
}
