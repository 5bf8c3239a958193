//! The workloads with Pods that are tuned, each with the tuning policy of its owner.

use std::sync::Arc;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::tuning_mode::TuningMode;
use evenkeel_tuning::plan::TunedWorkload;
use evenkeel_tuning::tuning_policy::TuningPolicy;

use super::{ScalingStore, name_of, within};
use crate::cluster::records::SCALING;

impl ScalingStore {
    /// The workloads of namespaces that have opted in; `None` before all of them have been listed.
    pub(crate) fn tuned_workloads(&self, default: TuningMode) -> Option<Vec<TunedWorkload>> {
        if !SCALING.iter().all(|kind| self.synced.contains(kind)) {
            return None;
        }
        let mut found = Vec::new();
        let opted_in = self.namespaces.iter().filter(|(_, policy)| policy.enabled);
        for (namespace, of_namespace) in opted_in {
            for kind in Kind::REPLICATED {
                let Some(workloads) = self.workloads.get(&kind) else {
                    continue;
                };
                let all = within(workloads, namespace);
                // A Deployment's ReplicaSet is no workload of its own; one that an operator owns
                // is.
                let alone = all.filter(|object| {
                    kind != Kind::ReplicaSet || object.metadata.controller().is_none()
                });
                found.extend(alone.map(|object| {
                    let (policy, _) = TuningPolicy::parse(&object.metadata.annotations);
                    let mode = policy.mode.or(of_namespace.tuning);
                    TunedWorkload {
                        namespace: Arc::clone(namespace),
                        mode: mode.unwrap_or(default),
                        controllers: self.pods.controllers_of(&name_of(&object)),
                        policy,
                        object,
                    }
                }));
            }
        }
        Some(found)
    }
}
