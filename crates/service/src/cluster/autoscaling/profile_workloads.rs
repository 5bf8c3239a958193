//! The workload of a ReplicaProfile: the object, its Pods, and what else may scale it.

use std::sync::Arc;

use evenkeel_metrics::pod::PodFacts;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::workload::Workload;
use evenkeel_scaling::specs::cron_hpa::CheckedCronHpa;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::targets::scalers::Scalers;

use super::{ScalingStore, WorkloadKey, key};

/// The kinds that must be fully listed before a profile sets the replicas of a workload.
const NEEDED: [Kind; 5] = [
    Kind::Pod,
    Kind::Namespace,
    Kind::ReplicaSet,
    Kind::Deployment,
    Kind::StatefulSet,
];

#[derive(Debug, Default)]
pub(crate) struct ProfiledWorkload {
    /// `None` where there is no such object.
    pub(crate) workload: Option<Arc<Workload>>,
    pub(crate) pods: Vec<Arc<PodFacts>>,
    /// The number of their controllers; several during a replacement. Deleted Pods no longer count,
    /// even before they end.
    pub(crate) controllers: usize,
    /// The other objects that may scale it, without profiles.
    pub(crate) scalers: Scalers,
}

impl ScalingStore {
    pub(crate) fn knows_workloads(&self) -> bool {
        NEEDED.iter().all(|kind| self.synced.contains(kind))
    }

    pub(crate) fn profiled(&self, target: &TargetRef) -> ProfiledWorkload {
        let own = WorkloadKey::of_target(target);
        let kind = Kind::of("apps/v1", target.kind());
        let name = key(Some(target.namespace()), Some(target.name()));
        let workload = kind.and_then(|kind| self.workloads.get(&kind)?.get(&name));
        ProfiledWorkload {
            workload: workload.cloned(),
            pods: self.pods.of(&own).members,
            controllers: self.pods.living_controllers(&own),
            scalers: Scalers {
                targets: self.targets_of(target, workload),
                crons: self.crons_of(target),
                profiles: Vec::new(),
            },
        }
    }

    /// The CronHPAs that name a workload themselves.
    fn crons_of(&self, target: &TargetRef) -> Vec<Arc<CheckedCronHpa>> {
        let crons = self.crons.checked().filter(|cron| {
            let scaled = &cron.object.spec.scale_target_ref;
            let is_same = scaled.kind == target.kind() && scaled.name == target.name();
            let within = cron.object.metadata.namespace.as_deref() == Some(target.namespace());
            is_same && within
        });
        crons.map(Arc::clone).collect()
    }
}
