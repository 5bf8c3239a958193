//! The view that scaling is planned from: each autoscaler and annotated workload with its related
//! objects.

use std::collections::HashSet;
use std::sync::Arc;

use evenkeel_hpa::autoscaler::{Autoscaler, ScaleTarget};
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::workload::Workload;
use evenkeel_scaling::ihpa::portrait_names;
use evenkeel_scaling::specs::cron_hpa::CheckedCronHpa;
use evenkeel_scaling::specs::ihpa::{CheckedIhpa, Ihpa};
use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_scaling::status::is_marked;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::targets::scaled_object::ScaledObject;
use evenkeel_scaling::targets::target_objects::TargetObjects;

use super::{ScalingStore, ScalingView, WorkloadKey, WorkloadPods, key, within};
use crate::cluster::records::SCALING;

/// The group and version of a workload for which the ScaledObject names none.
const APPS: &str = "apps/v1";

impl ScalingStore {
    /// The picture as it is now.
    pub(crate) fn view(&self) -> ScalingView {
        let mut scaled = AutoscaledObjects::default();
        let crons: Vec<_> = self
            .crons
            .checked()
            .filter(|cron| self.follows(cron))
            .collect();
        let named: HashSet<_> = crons.iter().filter_map(|cron| self.named(cron)).collect();
        let mut targets: Vec<TargetObjects> = self
            .autoscalers
            .values()
            .filter_map(|autoscaler| self.by_autoscaler(autoscaler, &mut scaled))
            .collect();
        for ihpa in self.ihpas.checked() {
            targets.extend(self.by_ihpa(ihpa, &mut scaled));
        }
        let lost = self
            .scaled_objects
            .iter()
            .filter(|(key, _)| !scaled.scaled_objects.contains(key.as_str()))
            .filter(|(_, object)| is_marked(&object.metadata) || names(&named, object))
            .map(|(_, object)| self.by_scaled_object(object));
        targets.extend(lost);
        for (&kind, workloads) in &self.workloads {
            let alone = workloads
                .iter()
                .filter(|(key, _)| !scaled.workloads.contains(&(kind, key.as_str())));
            let alone = alone.filter_map(|(key, workload)| {
                let by_calendar = named.contains(&(kind, key.clone()));
                self.by_workload(workload, by_calendar)
            });
            targets.extend(alone);
        }
        ScalingView {
            synced: self.is_synced(),
            targets,
            crons: crons.into_iter().map(Arc::clone).collect(),
        }
    }

    /// The targets that a workload is: of the HPAs and IHPAs that name it, else by itself.
    pub(super) fn targets_of(
        &self,
        target: &TargetRef,
        workload: Option<&Arc<Workload>>,
    ) -> Vec<TargetObjects> {
        let (namespace, mut scaled) = (target.namespace(), AutoscaledObjects::default());
        let mut targets: Vec<TargetObjects> = Vec::new();
        for autoscaler in within(&self.autoscalers, namespace) {
            let named = &autoscaler.spec.scale_target_ref;
            if named.kind == target.kind() && named.name == target.name() {
                targets.extend(self.by_autoscaler(&autoscaler, &mut scaled));
            }
        }
        for ihpa in self.ihpas.checked() {
            let (metadata, named) = (&ihpa.object.metadata, &ihpa.object.spec.scale_target_ref);
            let is_within = metadata.namespace.as_deref() == Some(namespace);
            if is_within && named.kind == target.kind() && named.name == target.name() {
                targets.extend(self.by_ihpa(ihpa, &mut scaled));
            }
        }
        if targets.is_empty() {
            targets.extend(workload.and_then(|workload| self.by_workload(workload, false)));
        }
        targets
    }

    /// True once everything that the picture is made from has been listed.
    fn is_synced(&self) -> bool {
        SCALING.iter().all(|kind| self.synced.contains(kind))
            && self
                .custom_kinds
                .are_known(|kind| self.synced.contains(kind))
    }

    /// A workload's Pods, with its selector if it is watched. `None` until everything has been
    /// listed.
    pub(crate) fn workload_pods(&self, workload: &WorkloadKey) -> Option<WorkloadPods> {
        if !self.is_synced() {
            return None;
        }
        let WorkloadKey {
            namespace,
            group,
            kind,
            name,
        } = workload;
        let is_of = |known: &Kind| {
            known.as_str() == &**kind && group.as_deref().is_none_or(|group| known.group() == group)
        };
        let mut kinds = self.workloads.iter();
        let known = kinds
            .find(|(known, _)| is_of(known))
            .and_then(|(_, all)| all.get(&key(Some(namespace), Some(name))));
        Some(WorkloadPods {
            members: self.pods.of(workload).members,
            selector: known.and_then(|workload| workload.selector.clone()),
        })
    }

    /// True for a CronHPA to follow: opted in, and not being deleted.
    fn follows(&self, cron: &CheckedCronHpa) -> bool {
        let metadata = &cron.object.metadata;
        let goes = metadata.deletion_timestamp.is_some();
        self.has_opted_in(metadata.namespace.as_deref().unwrap_or_default()) && !goes
    }

    fn by_autoscaler<'a>(
        &'a self,
        autoscaler: &Arc<Autoscaler>,
        scaled: &mut AutoscaledObjects<'a>,
    ) -> Option<TargetObjects> {
        let metadata = &autoscaler.metadata;
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let scaled_object = autoscaler.scaled_object().and_then(|name| {
            let entry = self
                .scaled_objects
                .get_key_value(&key(Some(namespace), Some(name)));
            let (key, scaled_object) = entry?;
            scaled.scaled_objects.insert(key);
            Some(scaled_object)
        });
        let ScaleTarget {
            api_version,
            kind,
            name,
        } = &autoscaler.spec.scale_target_ref;
        let known = self.kind_of(api_version, kind);
        let workload = known.and_then(|kind| {
            let workloads = self.workloads.get(&kind)?;
            let (key, workload) = workloads.get_key_value(&key(Some(namespace), Some(name)))?;
            scaled.workloads.insert((kind, key));
            Some(workload)
        });
        let concerns = self.has_opted_in(namespace)
            || is_marked(metadata)
            || scaled_object.is_some_and(|object| is_marked(&object.metadata))
            || workload.is_some_and(|workload| is_marked(&workload.metadata));
        concerns.then(|| TargetObjects {
            autoscaler: Some(Arc::clone(autoscaler)),
            scaled_object: scaled_object.cloned(),
            workload: workload.cloned(),
            ..self.observed(known.map_or_else(
                || TargetRef::new(api_version, kind, namespace, name),
                |known| TargetRef::of_kind(known, namespace, name),
            ))
        })
    }

    /// The target of an IHPA; `None` if the IHPA is being deleted.
    fn by_ihpa<'a>(
        &'a self,
        ihpa: &Arc<CheckedIhpa>,
        scaled: &mut AutoscaledObjects<'a>,
    ) -> Option<TargetObjects> {
        let Ihpa { metadata, spec, .. } = &*ihpa.object;
        if metadata.deletion_timestamp.is_some() {
            return None;
        }
        let namespace = metadata.namespace.as_deref().unwrap_or_default();
        let target = &spec.scale_target_ref;
        let known = self.kind_of(target.api_version(), &target.kind);
        let workload = known.and_then(|kind| {
            let workloads = self.workloads.get(&kind)?;
            let wanted = key(Some(namespace), Some(&target.name));
            let (key, workload) = workloads.get_key_value(&wanted)?;
            scaled.workloads.insert((kind, key));
            Some(workload)
        });
        let names = portrait_names(ihpa);
        let portraits =
            names.filter_map(|name| self.portraits.get(&key(Some(namespace), Some(&name))));
        Some(TargetObjects {
            ihpa: Some(Arc::clone(ihpa)),
            portraits: portraits.map(Arc::clone).collect(),
            workload: workload.cloned(),
            ..self.observed(known.map_or_else(
                || TargetRef::new(target.api_version(), &target.kind, namespace, &target.name),
                |known| TargetRef::of_kind(known, namespace, &target.name),
            ))
        })
    }

    /// The kind that a reference names, if it is watched or in the table of kinds.
    fn kind_of(&self, api_version: &str, kind: &str) -> Option<Kind> {
        Kind::of(api_version, kind).or_else(|| self.custom_kinds.of(api_version, kind))
    }

    /// The workload that a CronHPA names itself, where it is of a kind that is watched.
    fn named(&self, cron: &CheckedCronHpa) -> Option<(Kind, String)> {
        let target = &cron.object.spec.scale_target_ref;
        let namespace = cron.object.metadata.namespace.as_deref();
        let kind = self.kind_of(target.api_version(), &target.kind)?;
        Some((kind, key(namespace, Some(&target.name))))
    }

    /// A ScaledObject that carries what Evenkeel has written, and has no HPA any more.
    fn by_scaled_object(&self, scaled_object: &Arc<ScaledObject>) -> TargetObjects {
        let namespace = scaled_object.metadata.namespace.as_deref();
        let target = &scaled_object.spec.scale_target_ref;
        TargetObjects {
            scaled_object: Some(Arc::clone(scaled_object)),
            ..self.observed(TargetRef::new(
                APPS,
                &target.kind,
                namespace.unwrap_or_default(),
                &target.name,
            ))
        }
    }

    /// A workload without an HPA that asks for scaling, has been a target, or is scaled by the
    /// calendar.
    fn by_workload(&self, workload: &Arc<Workload>, by_calendar: bool) -> Option<TargetObjects> {
        let Meta {
            namespace,
            name,
            annotations,
            ..
        } = &workload.metadata;
        if annotations.is_empty() && !by_calendar {
            return None;
        }
        let namespace = namespace.as_deref().unwrap_or_default();
        let (policy, _) = ScalingPolicy::parse(annotations);
        let may_ask = policy.asks_for_scaling() || policy.has_bounds();
        let asks = may_ask && self.has_opted_in(namespace);
        let name = name.as_deref().unwrap_or_default();
        (asks || by_calendar || is_marked(&workload.metadata)).then(|| TargetObjects {
            workload: Some(Arc::clone(workload)),
            ..self.observed(TargetRef::of_kind(workload.kind, namespace, name))
        })
    }

    /// The controllers of a workload's Pods: its ReplicaSets, or itself.
    pub(crate) fn controllers_of(&self, workload: &TargetRef) -> Vec<ControllerKey> {
        self.pods.controllers_of(&WorkloadKey::of_target(workload))
    }

    /// A target with its Pods, without the objects that tell how it is scaled.
    fn observed(&self, target: TargetRef) -> TargetObjects {
        let namespace = target.namespace();
        let known = self.namespaces.get_key_value(namespace);
        let known = known.map(|(name, policy)| (Arc::clone(name), Arc::clone(policy)));
        let (namespace, namespace_policy) =
            known.unwrap_or_else(|| (namespace.into(), Arc::default()));
        let pods = self.pods.of(&WorkloadKey::of_target(&target));
        TargetObjects {
            namespace,
            namespace_policy,
            pods,
            ..TargetObjects::alone(target)
        }
    }
}

fn names(named: &HashSet<(Kind, String)>, object: &ScaledObject) -> bool {
    let target = &object.spec.scale_target_ref;
    let workload = key(object.metadata.namespace.as_deref(), Some(&target.name));
    Kind::of(APPS, &target.kind).is_some_and(|kind| named.contains(&(kind, workload)))
}

#[derive(Default)]
struct AutoscaledObjects<'a> {
    workloads: HashSet<(Kind, &'a str)>,
    scaled_objects: HashSet<&'a str>,
}
