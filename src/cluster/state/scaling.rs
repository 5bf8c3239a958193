//! The part of the state that scaling reads, behind its own lock; the other lock is never taken
//! while it is held.

use std::sync::{MutexGuard, PoisonError};

use super::ClusterState;
use crate::cluster::autoscaling::{
    PortraitObjects, ScalingObject, ScalingStore, ScalingView, WorkloadKey, WorkloadPods,
};
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::plan::opt_in_notice::{UnnoticedObject, lacks_notice};
use evenkeel_kubernetes::series_query::WorkloadReference;

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

    /// Forgets one, given as `namespace/name`.
    pub fn remove_scaling_object(&self, kind: Kind, key: &str) {
        self.scaling().remove(kind, key);
    }

    /// Keeps only these of a kind, given as `namespace/name`, after a complete list.
    pub fn retain_scaling_object(&self, kind: Kind, keep: impl Fn(&str) -> bool) {
        self.scaling().retain(kind, keep);
    }

    /// A kind of custom resources with this name will be looked for, and is waited for until then.
    pub fn expect_kind(&self, name: &str) {
        self.scaling().custom_kinds.expect(name);
    }

    /// It has been, whatever was found.
    pub fn looked_for_kind(&self, name: &str) {
        self.scaling().custom_kinds.looked_for(name);
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
    #[must_use]
    pub fn scaling_view(&self) -> ScalingView {
        let view = self.scaling().view();
        self.with_profiles(view)
    }

    /// The Pods of a workload of `namespace`, by the owners that they name; `None` until all are known.
    #[must_use]
    pub fn workload_pods(
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

    /// The autoscalers by portraits, and the portraits that others make; `None` before they are known.
    #[must_use]
    pub fn external_portraits(&self) -> Option<PortraitObjects> {
        self.scaling().portrait_objects()
    }

    /// The objects of Evenkeel's own kinds in namespaces without an opt-in, if their status does not report that yet.
    #[must_use]
    pub fn unnoticed_objects(&self) -> Vec<UnnoticedObject> {
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

    pub(super) fn scaling(&self) -> MutexGuard<'_, ScalingStore> {
        // As for the other lock: the next event of the object mends what a panic has left.
        self.0
            .scaling
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
