//! The workload of a ReplicaProfile: the object, its Pods, and what else scales it.

use std::sync::Arc;

use super::{Store, WorkloadKey, key, within};
use evenkeel_core::scaling::Mode;
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_kubernetes::ihpa::ScaleMode;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::plan::scaling::TargetRef;
use evenkeel_kubernetes::replica_profile::ReplicaProfile;
use evenkeel_kubernetes::scaling_policy::ScalingPolicy;
use evenkeel_kubernetes::workload::Workload;

/// What has to be known completely before the replicas of a workload are set for a profile.
const NEEDED: [Kind; 5] = [
    Kind::Pod,
    Kind::Namespace,
    Kind::ReplicaSet,
    Kind::Deployment,
    Kind::StatefulSet,
];

/// A workload that a profile is about.
#[derive(Debug, Default)]
pub(crate) struct ProfiledWorkload {
    /// `None` where there is no such object.
    pub(crate) workload: Option<Arc<Workload>>,
    /// All of its Pods.
    pub(crate) pods: Vec<Arc<PodFacts>>,
    /// The number of their controllers, of which there are several while one replaces another: what is deleted
    /// already counts no more, however long it takes to end.
    pub(crate) controllers: usize,
    /// What else scales it.
    pub(crate) rivals: Vec<String>,
}

impl Store {
    /// True where workloads and their Pods are known.
    pub(crate) fn knows_workloads(&self) -> bool {
        NEEDED.iter().all(|kind| self.synced.contains(kind))
    }

    /// The workload of a profile.
    pub(crate) fn profiled(
        &self,
        profile: &ReplicaProfile,
        target: &TargetRef,
    ) -> ProfiledWorkload {
        let own = WorkloadKey::of_target(target);
        let kind = Kind::of("apps/v1", target.kind());
        let name = key(Some(target.namespace()), Some(target.name()));
        let workload = kind.and_then(|kind| self.workloads.get(&kind)?.get(&name));
        ProfiledWorkload {
            workload: workload.cloned(),
            pods: self.pods.of(&own).members,
            controllers: self.pods.living_controllers(&own),
            rivals: self.rivals(profile, target, workload.map(|workload| &**workload)),
        }
    }

    /// The IHPAs that scale a workload, but for the one that the profile belongs to.
    fn rival_ihpas<'a>(
        &'a self,
        profile: &'a ReplicaProfile,
        target: &'a TargetRef,
    ) -> impl Iterator<Item = String> + 'a {
        let rivals = self.ihpas.checked().filter(move |ihpa| {
            let metadata = &ihpa.object.metadata;
            let scaled = &ihpa.object.spec.scale_target_ref;
            let within = metadata.namespace.as_deref() == Some(target.namespace());
            let is_same = scaled.kind == target.kind() && scaled.name == target.name();
            let rules = ihpa.rules().ok();
            let acts = rules.is_some_and(|rules| rules.mode == ScaleMode::Auto && !rules.paused);
            let is_there = metadata.deletion_timestamp.is_none();
            within && is_same && acts && is_there && !profile.belongs_to(metadata)
        });
        rivals.map(|ihpa| {
            let name = ihpa.object.metadata.name.as_deref().unwrap_or_default();
            format!("{} {name}", Kind::Ihpa.as_str())
        })
    }

    /// What else scales a workload: an HPA, another IHPA than the one that the profile belongs to, a CronHPA that
    /// names it itself, or its own annotation. Beside an IHPA a CronHPA is not followed.
    fn rivals(
        &self,
        profile: &ReplicaProfile,
        target: &TargetRef,
        workload: Option<&Workload>,
    ) -> Vec<String> {
        let mut ihpas = self.ihpas.checked();
        let is_owned = ihpas.any(|ihpa| profile.belongs_to(&ihpa.object.metadata));
        let (namespace, kind, name) = (target.namespace(), target.kind(), target.name());
        let autoscalers = within(&self.autoscalers, namespace).filter(|autoscaler| {
            let scaled = &autoscaler.spec.scale_target_ref;
            scaled.kind == kind && scaled.name == name
        });
        let autoscalers = autoscalers.map(|autoscaler| {
            let name = autoscaler.metadata.name.as_deref().unwrap_or_default();
            format!("{} {name}", Kind::HorizontalPodAutoscaler.as_str())
        });
        let crons = self.crons.checked().filter(|cron| {
            let scaled = &cron.object.spec.scale_target_ref;
            let is_same = scaled.kind == kind && scaled.name == name;
            let within = cron.object.metadata.namespace.as_deref() == Some(namespace);
            is_same && within && cron.is_active() && !is_owned
        });
        let crons = crons.map(|cron| {
            let name = cron.object.metadata.name.as_deref().unwrap_or_default();
            format!("{} {name}", Kind::CronHpa.as_str())
        });
        let is_direct = workload.is_some_and(|workload| {
            let (policy, _) = ScalingPolicy::parse(&workload.metadata.annotations);
            policy.scaling == Some(Mode::Direct)
        });
        let direct = is_direct.then(|| "its annotation evenkeel.dev/scaling: direct".to_owned());
        let ihpas = self.rival_ihpas(profile, target);
        autoscalers
            .chain(ihpas)
            .chain(crons)
            .chain(direct)
            .collect()
    }
}
