//! The part of the state that scaling reads, behind its own lock; the other lock is never taken
//! while it is held.

use std::sync::MutexGuard;

use evenkeel_metrics::series_query::WorkloadReference;
use evenkeel_objects::kinds::Kind;
use evenkeel_scaling::status::opt_in_notice::{UnnoticedObject, lacks_notice};

use super::ClusterState;
use crate::cluster::autoscaling::{
    ScalingObject, ScalingStore, ScalingView, WorkloadKey, WorkloadPods,
};
use crate::cluster::lock::locked;

impl ClusterState {
    /// Takes an autoscaler, a workload, a ScaledObject or a CronHPA as it now is.
    pub fn apply_scaling_object(&self, object: ScalingObject) {
        let warnings = self.scaling().apply(object);
        if !warnings.is_empty() {
            self.change(|inner| inner.warnings.extend(warnings));
        }
    }

    /// Waits until objects of a kind are wanted that were seen and not kept: a list of the kind brings them.
    pub async fn unlisted(&self, kind: Kind) {
        loop {
            let opted_in = self.0.opted_in.notified();
            if self.scaling().take_unlisted(kind) {
                return;
            }
            opted_in.await;
        }
    }

    /// The cluster begins to serve objects of this kind (`true`), which are then waited for, or
    /// serves none (`false`), so that none are.
    pub fn serve(&self, kind: Kind, served: bool) {
        if kind == Kind::ReplicaProfile {
            self.serve_profiles(served);
        }
        let mut scaling = self.scaling();
        if !served {
            scaling.retain(kind, |_| false);
        }
        if let Kind::Custom(_) = kind {
            scaling.custom_kinds.serve(kind, served);
        }
        scaling.set_synced(kind, !served);
    }

    /// The targets of scaling as they are now.
    pub fn scaling_view(&self) -> ScalingView {
        let view = self.scaling().view();
        self.with_profiles(view)
    }

    /// The Pods of a workload of `namespace`, by the owners that they name; `None` until all are known.
    pub(crate) fn workload_pods(
        &self,
        namespace: &str,
        workload: &WorkloadReference,
    ) -> Option<WorkloadPods> {
        let WorkloadReference { kind, name } = workload;
        let is_foreign = kind.known().is_none();
        let key = WorkloadKey {
            namespace: namespace.into(),
            group: is_foreign.then(|| kind.group.as_str().into()),
            kind: kind.kind.as_str().into(),
            name: name.as_str().into(),
        };
        self.scaling().workload_pods(&key)
    }

    /// The objects of Evenkeel's own kinds in namespaces without an opt-in, if their status does not report that yet.
    pub(crate) fn unnoticed_objects(&self) -> Vec<UnnoticedObject> {
        let profiles = self.profiles().all();
        let scaling = self.scaling();
        let mut found = scaling.unnoticed();
        for profile in profiles {
            let object = &profile.object;
            let status = object.status.as_ref();
            let conditions = status.map_or(&[][..], |status| &status.conditions);
            let kind = Kind::ReplicaProfile;
            if scaling.is_opted_out(object.namespace()) && lacks_notice(kind, conditions) {
                let metadata = object.metadata.outline();
                found.push(UnnoticedObject { kind, metadata });
            }
        }
        found
    }

    /// The objects that scaling reads. No other lock is taken while theirs is held.
    pub(crate) fn scaling(&self) -> MutexGuard<'_, ScalingStore> {
        locked(&self.0.scaling)
    }
}
