//! The part of the cluster that scaling reads: autoscalers, workloads and namespaces, each with its
//! Pods. Its lock is separate, so that a view of ten thousand targets, which takes milliseconds,
//! does not block admission or the extender. Pods of all namespaces are counted, so a namespace
//! that opts in has its Pods at once.

mod calendar;
mod checked_resources;
mod custom_kinds;
mod keys;
mod pods;
mod profile_workloads;
mod start_times;
mod tuning;
mod view;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use checked_resources::{CheckedObjects, OptInState};
use custom_kinds::CustomKinds;
use evenkeel_hpa::autoscaler::Autoscaler;
use evenkeel_metrics::pod::PodFacts;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::meta::Meta;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::workload::Workload;
use evenkeel_placement::plan::annotation_warning::AnnotationWarning;
use evenkeel_scaling::specs::cron_hpa::{CheckedCronHpa, CronHpa};
use evenkeel_scaling::specs::horizontal_portrait::{CheckedHorizontalPortrait, HorizontalPortrait};
use evenkeel_scaling::specs::ihpa::{CheckedIhpa, Ihpa};
use evenkeel_scaling::status::opt_in_notice::UnnoticedObject;
use evenkeel_scaling::targets::scaled_object::ScaledObject;
use evenkeel_scaling::targets::target_objects::TargetObjects;
use foldhash::fast::RandomState;
use keys::keys_of;
use pods::PodsByWorkload;

use crate::annotation_check;
use crate::annotation_check::Carrier;

pub(super) use pods::WorkloadKey;
pub(super) use profile_workloads::ProfiledWorkload;

#[derive(Debug, Clone, Default)]
pub struct ScalingView {
    /// True once everything it is made from has been listed; before, nothing may be decided on it.
    pub synced: bool,
    /// The autoscalers, IHPAs and annotated workloads of opted-in namespaces, and all others with
    /// Evenkeel's traces.
    pub targets: Vec<TargetObjects>,
    pub crons: Vec<Arc<CheckedCronHpa>>,
}

#[derive(Debug, Clone, Default)]
pub struct WorkloadPods {
    /// Those that have not ended, in no order.
    pub members: Vec<Arc<PodFacts>>,
    pub selector: Option<Box<str>>,
}

#[derive(Debug, Clone)]
pub enum ScalingObject {
    Autoscaler(Arc<Autoscaler>),
    Workload(Arc<Workload>),
    ScaledObject(Arc<ScaledObject>),
    CronHpa(Arc<CronHpa>),
    Ihpa(Arc<Ihpa>),
    HorizontalPortrait(Arc<HorizontalPortrait>),
}

/// The autoscalers by portraits, and the portraits that others make.
#[derive(Debug, Clone, Default)]
pub struct PortraitObjects {
    /// Those of namespaces that have opted in.
    pub ihpas: Vec<Arc<CheckedIhpa>>,
    pub portraits: Vec<Arc<CheckedHorizontalPortrait>>,
    /// The outlines of HorizontalPortraits with a job in all other namespaces.
    pub outlines: Vec<Arc<HorizontalPortrait>>,
}

impl ScalingObject {
    fn metadata(&self) -> &Meta {
        match self {
            Self::Autoscaler(autoscaler) => &autoscaler.metadata,
            Self::Workload(workload) => &workload.metadata,
            Self::ScaledObject(scaled_object) => &scaled_object.metadata,
            Self::CronHpa(cron) => &cron.metadata,
            Self::Ihpa(ihpa) => &ihpa.metadata,
            Self::HorizontalPortrait(portrait) => &portrait.metadata,
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Self::Autoscaler(_) => Kind::HorizontalPodAutoscaler,
            Self::Workload(workload) => workload.kind,
            Self::ScaledObject(_) => Kind::ScaledObject,
            Self::CronHpa(_) => Kind::CronHpa,
            Self::Ihpa(_) => Kind::Ihpa,
            Self::HorizontalPortrait(_) => Kind::HorizontalPortrait,
        }
    }

    /// Drops the annotations that KEDA copied to its HPA from a ScaledObject: they outlive their
    /// originals, so they say nothing.
    fn drop_copies(&mut self) {
        if let Self::Autoscaler(autoscaler) = self
            && autoscaler.scaled_object().is_some()
            && !autoscaler.metadata.annotations.is_empty()
        {
            Arc::make_mut(autoscaler).metadata.annotations.clear();
        }
    }

    /// A warning for each invalid annotation, for kinds with annotations that Evenkeel reads.
    fn warnings(&self) -> impl Iterator<Item = AnnotationWarning> {
        let (metadata, kind) = (self.metadata(), self.kind());
        annotation_check::invalid(Carrier::of(kind), &metadata.annotations)
            .into_iter()
            .map(move |invalid| AnnotationWarning::new(kind, metadata, &invalid))
    }
}

pub(super) fn key(namespace: Option<&str>, name: Option<&str>) -> String {
    format!(
        "{}/{}",
        namespace.unwrap_or_default(),
        name.unwrap_or_default()
    )
}

/// The objects of one kind, in the order in which they are shown.
type Objects<T> = BTreeMap<String, Arc<T>>;

#[derive(Debug, Default)]
pub(crate) struct ScalingStore {
    synced: HashSet<Kind>,
    namespaces: HashMap<Arc<str>, Arc<NamespacePolicy>, RandomState>,
    autoscalers: Objects<Autoscaler>,
    workloads: BTreeMap<Kind, Objects<Workload>>,
    scaled_objects: Objects<ScaledObject>,
    crons: CheckedObjects<CheckedCronHpa>,
    ihpas: CheckedObjects<CheckedIhpa>,
    portraits: CheckedObjects<CheckedHorizontalPortrait>,
    pub(super) custom_kinds: CustomKinds,
    pub(super) pods: PodsByWorkload,
}

impl ScalingStore {
    /// The autoscalers by portraits with all HorizontalPortraits; `None` before both are known.
    pub(crate) fn portrait_objects(&self) -> Option<PortraitObjects> {
        let kinds = [Kind::Namespace, Kind::Ihpa, Kind::HorizontalPortrait];
        let known = kinds.iter().all(|kind| self.synced.contains(kind));
        known.then(|| PortraitObjects {
            ihpas: self.ihpas.checked().cloned().collect(),
            portraits: self.portraits.checked().cloned().collect(),
            outlines: {
                let all = self.portraits.outlines();
                all.filter(|one| one.spec.portrait.external_job().is_some())
                    .cloned()
                    .collect()
            },
        })
    }

    /// Every HPA, and whether its namespace has opted in.
    pub(crate) fn autoscalers(&self) -> Vec<(Arc<Autoscaler>, bool)> {
        let opted = |one: &Autoscaler| {
            let namespace = one.metadata.namespace.as_deref();
            self.has_opted_in(namespace.unwrap_or_default())
        };
        (self.autoscalers.values())
            .map(|one| (Arc::clone(one), opted(one)))
            .collect()
    }

    pub(crate) fn knows(&self, kind: Kind) -> bool {
        self.synced.contains(&kind)
    }

    pub(super) fn set_synced(&mut self, kind: Kind, synced: bool) {
        if synced {
            self.synced.insert(kind);
        } else {
            self.synced.remove(&kind);
        }
    }

    /// Drops the objects of a kind that cannot be watched, and stops waiting for them. So a missing
    /// right for one kind, or a failing list, delays nothing else.
    pub(super) fn abandon(&mut self, kind: Kind) {
        self.retain(kind, |_| false);
        self.set_synced(kind, true);
    }

    /// Takes an object; returns warnings about its annotations if its namespace has opted in.
    pub(super) fn apply(&mut self, mut object: ScalingObject) -> Vec<AnnotationWarning> {
        object.drop_copies();
        let metadata = object.metadata();
        let key = key(metadata.namespace.as_deref(), metadata.name.as_deref());
        let opted = self.opted(metadata.namespace.as_deref().unwrap_or_default());
        let told = if opted == OptInState::In {
            object.warnings().collect()
        } else {
            Vec::new()
        };
        match object {
            ScalingObject::Autoscaler(autoscaler) => {
                self.autoscalers.insert(key, autoscaler);
            }
            ScalingObject::Workload(workload) => {
                self.pods.keep(name_of(&workload));
                let workloads = self.workloads.entry(workload.kind).or_default();
                workloads.insert(key, workload);
            }
            ScalingObject::ScaledObject(scaled_object) => {
                self.scaled_objects.insert(key, scaled_object);
            }
            ScalingObject::CronHpa(cron) => self.crons.apply(key, &cron, opted),
            ScalingObject::Ihpa(ihpa) => self.ihpas.apply(key, &ihpa, opted),
            ScalingObject::HorizontalPortrait(portrait) => {
                self.portraits.apply(key, &portrait, opted);
            }
        }
        told
    }

    pub(super) fn remove(&mut self, kind: Kind, key: &str) {
        self.forget(kind, |other| other == key);
    }

    pub(super) fn retain(&mut self, kind: Kind, keep: impl Fn(&str) -> bool) {
        self.forget(kind, |key| !keep(key));
    }

    fn forget(&mut self, kind: Kind, gone: impl Fn(&str) -> bool) {
        match kind {
            Kind::HorizontalPodAutoscaler => self.autoscalers.retain(|key, _| !gone(key)),
            Kind::ScaledObject => self.scaled_objects.retain(|key, _| !gone(key)),
            Kind::CronHpa => self.crons.forget(gone),
            Kind::Ihpa => self.ihpas.forget(gone),
            Kind::HorizontalPortrait => self.portraits.forget(gone),
            _ => self.forget_workloads(kind, gone),
        }
    }

    fn forget_workloads(&mut self, kind: Kind, gone: impl Fn(&str) -> bool) {
        let Some(workloads) = self.workloads.get_mut(&kind) else {
            return;
        };
        let pods = &mut self.pods;
        workloads.retain(|key, workload| {
            let gone = gone(key);
            if gone {
                pods.release(&name_of(workload));
            }
            !gone
        });
    }

    /// Takes a namespace; if it has just opted in, returns the faults of its objects' annotations.
    pub(super) fn apply_namespace(
        &mut self,
        name: &str,
        policy: &Arc<NamespacePolicy>,
    ) -> Vec<AnnotationWarning> {
        let before = self.opted(name);
        self.namespaces.insert(name.into(), Arc::clone(policy));
        let opted = self.opted(name);
        if before != opted {
            self.crons.check(name, opted);
            self.ihpas.check(name, opted);
            self.portraits.check(name, opted);
        }
        if before == opted || opted != OptInState::In {
            return Vec::new();
        }
        let autoscalers = within(&self.autoscalers, name).map(ScalingObject::Autoscaler);
        let workloads = self.workloads.values();
        let workloads = workloads
            .flat_map(|all| within(all, name))
            .map(ScalingObject::Workload);
        let scaled_objects = within(&self.scaled_objects, name).map(ScalingObject::ScaledObject);
        let all = autoscalers.chain(workloads).chain(scaled_objects);
        all.flat_map(|object| object.warnings().collect::<Vec<_>>())
            .collect()
    }

    pub(super) fn retain_namespaces(&mut self, keep: impl Fn(&str) -> bool) {
        self.namespaces.retain(|name, _| keep(name));
    }

    pub(super) fn has_opted_in(&self, namespace: &str) -> bool {
        self.opted(namespace) == OptInState::In
    }

    pub(super) fn is_opted_out(&self, namespace: &str) -> bool {
        self.opted(namespace) == OptInState::Out
    }

    /// The objects of namespaces that have not opted in, if their status does not report that yet.
    pub(super) fn unnoticed(&self) -> Vec<UnnoticedObject> {
        let (crons, ihpas) = (self.crons.unnoticed(), self.ihpas.unnoticed());
        crons
            .chain(ihpas)
            .chain(self.portraits.unnoticed())
            .collect()
    }

    fn opted(&self, namespace: &str) -> OptInState {
        match self.namespaces.get(namespace) {
            Some(policy) if policy.enabled => OptInState::In,
            Some(_) => OptInState::Out,
            None => OptInState::Unknown,
        }
    }

    /// True once where objects of a kind are wanted that were not kept.
    pub(super) fn take_unlisted(&mut self, kind: Kind) -> bool {
        match kind {
            Kind::CronHpa => self.crons.take_unlisted(),
            Kind::Ihpa => self.ihpas.take_unlisted(),
            Kind::HorizontalPortrait => self.portraits.take_unlisted(),
            _ => false,
        }
    }
}

fn within<'a, T>(objects: &'a Objects<T>, namespace: &str) -> impl Iterator<Item = Arc<T>> + 'a {
    objects
        .range(keys_of(namespace))
        .map(|(_, object)| Arc::clone(object))
}

fn name_of(workload: &Workload) -> WorkloadKey {
    let metadata = &workload.metadata;
    let group = match workload.kind {
        Kind::Custom(_) => Some(workload.kind.group().into()),
        _ => None,
    };
    WorkloadKey {
        namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
        group,
        kind: workload.kind.as_str().into(),
        name: metadata.name.as_deref().unwrap_or_default().into(),
    }
}

#[cfg(test)]
mod tests;
