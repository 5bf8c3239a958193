//! What scaling sees of the cluster: autoscalers, workloads and namespaces side by side, each with
//! its Pods.
//!
//! It stands behind a lock of its own, so that a picture of ten thousand targets, which takes
//! milliseconds, holds up neither admission nor the extender. Pods of all namespaces are counted:
//! a namespace that opts in has its Pods at once.

mod pods;
mod ready;
mod view;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::records::{Kind, Misunderstood};
use evenkeel_kubernetes::annotations::{BOUNDS, SCALING_STATUS};
use evenkeel_kubernetes::autoscaler::Autoscaler;
use evenkeel_kubernetes::meta::Meta;
use evenkeel_kubernetes::namespace_policy::NamespacePolicy;
use evenkeel_kubernetes::plan::scaling::Observed;
use evenkeel_kubernetes::scaled_object::ScaledObject;
use evenkeel_kubernetes::scaling_policy::ScalingPolicy;
use evenkeel_kubernetes::workload::{Workload, WorkloadKind};
use pods::PodIndex;

pub(super) use pods::WorkloadName;

/// What may be scaled, at one moment.
#[derive(Debug, Clone, Default)]
pub struct ScalingView {
    /// Whether everything it is made from has been listed; if not, nothing may be decided on it.
    pub synced: bool,
    /// The autoscalers and annotated workloads of namespaces that have opted in, and all others
    /// that still carry what Evenkeel has written.
    pub targets: Vec<Observed>,
}

/// An object that scaling reads.
#[derive(Debug, Clone)]
pub enum Scaled {
    /// An HPA.
    Autoscaler(Arc<Autoscaler>),
    /// A Deployment or a StatefulSet.
    Workload(Arc<Workload>),
    /// A KEDA ScaledObject.
    ScaledObject(Arc<ScaledObject>),
}

impl Scaled {
    fn metadata(&self) -> &Meta {
        match self {
            Self::Autoscaler(autoscaler) => &autoscaler.metadata,
            Self::Workload(workload) => &workload.metadata,
            Self::ScaledObject(scaled_object) => &scaled_object.metadata,
        }
    }

    fn kind(&self) -> &'static str {
        match self {
            Self::Autoscaler(_) => "HorizontalPodAutoscaler",
            Self::Workload(workload) => workload.kind.as_str(),
            Self::ScaledObject(_) => "ScaledObject",
        }
    }

    /// Forgets the annotations that KEDA copied from a ScaledObject when it made its HPA: they stay
    /// when their originals go, and so say nothing.
    fn drop_copies(&mut self) {
        if let Self::Autoscaler(autoscaler) = self
            && autoscaler.scaled_object().is_some()
            && !autoscaler.metadata.annotations.is_empty()
        {
            Arc::make_mut(autoscaler).metadata.annotations.clear();
        }
    }

    /// What is wrong in its annotations.
    fn misunderstood(&self) -> impl Iterator<Item = Misunderstood> {
        let (metadata, kind) = (self.metadata(), self.kind());
        let (_, invalid) = ScalingPolicy::parse(&metadata.annotations);
        invalid
            .into_iter()
            .map(move |invalid| Misunderstood::new(kind, metadata, &invalid))
    }
}

/// What an object is known by: its namespace and its name.
pub(super) fn key(namespace: Option<&str>, name: Option<&str>) -> String {
    format!(
        "{}/{}",
        namespace.unwrap_or_default(),
        name.unwrap_or_default()
    )
}

/// The objects of one kind, in the order in which they are shown.
type Objects<T> = BTreeMap<String, Arc<T>>;

/// Everything that is known for scaling.
#[derive(Debug, Default)]
pub(super) struct Store {
    synced: HashSet<Kind>,
    namespaces: HashMap<Arc<str>, Arc<NamespacePolicy>, RandomState>,
    autoscalers: Objects<Autoscaler>,
    deployments: Objects<Workload>,
    stateful_sets: Objects<Workload>,
    scaled_objects: Objects<ScaledObject>,
    pub(super) pods: PodIndex,
}

impl Store {
    pub(super) fn set_synced(&mut self, kind: Kind, synced: bool) {
        if synced {
            self.synced.insert(kind);
        } else {
            self.synced.remove(&kind);
        }
    }

    /// Takes an object; gives what is wrong in its annotations, where that concerns anybody.
    pub(super) fn apply(&mut self, mut object: Scaled) -> Vec<Misunderstood> {
        object.drop_copies();
        let metadata = object.metadata();
        let key = key(metadata.namespace.as_deref(), metadata.name.as_deref());
        let told = if self.has_opted_in(metadata.namespace.as_deref().unwrap_or_default()) {
            object.misunderstood().collect()
        } else {
            Vec::new()
        };
        match object {
            Scaled::Autoscaler(autoscaler) => {
                self.autoscalers.insert(key, autoscaler);
            }
            Scaled::Workload(workload) => {
                self.pods.keep(name_of(&workload));
                self.workloads_mut(workload.kind).insert(key, workload);
            }
            Scaled::ScaledObject(scaled_object) => {
                self.scaled_objects.insert(key, scaled_object);
            }
        }
        told
    }

    /// Forgets an object.
    pub(super) fn remove(&mut self, kind: Kind, key: &str) {
        self.forget(kind, |other| other == key);
    }

    /// Keeps only these objects of a kind.
    pub(super) fn retain(&mut self, kind: Kind, keep: impl Fn(&str) -> bool) {
        self.forget(kind, |key| !keep(key));
    }

    fn forget(&mut self, kind: Kind, gone: impl Fn(&str) -> bool) {
        let workloads = match kind {
            Kind::Autoscaler => return self.autoscalers.retain(|key, _| !gone(key)),
            Kind::ScaledObject => return self.scaled_objects.retain(|key, _| !gone(key)),
            Kind::Deployment => &mut self.deployments,
            Kind::StatefulSet => &mut self.stateful_sets,
            Kind::Node | Kind::Pod | Kind::Namespace | Kind::ReplicaSet | Kind::Job => return,
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

    /// Takes what a namespace says; gives what is wrong in the annotations of its objects when it
    /// has just opted in.
    pub(super) fn apply_namespace(
        &mut self,
        name: &str,
        policy: &Arc<NamespacePolicy>,
    ) -> Vec<Misunderstood> {
        let before = self.has_opted_in(name);
        self.namespaces.insert(name.into(), Arc::clone(policy));
        if before || !policy.enabled {
            return Vec::new();
        }
        let autoscalers = within(&self.autoscalers, name).map(Scaled::Autoscaler);
        let deployments = within(&self.deployments, name).map(Scaled::Workload);
        let stateful_sets = within(&self.stateful_sets, name).map(Scaled::Workload);
        let scaled_objects = within(&self.scaled_objects, name).map(Scaled::ScaledObject);
        let all = autoscalers
            .chain(deployments)
            .chain(stateful_sets)
            .chain(scaled_objects);
        all.flat_map(|object| object.misunderstood().collect::<Vec<_>>())
            .collect()
    }

    /// Keeps only these namespaces.
    pub(super) fn retain_namespaces(&mut self, keep: impl Fn(&str) -> bool) {
        self.namespaces.retain(|name, _| keep(name));
    }

    fn has_opted_in(&self, namespace: &str) -> bool {
        let policy = self.namespaces.get(namespace);
        policy.is_some_and(|policy| policy.enabled)
    }

    const fn workloads_mut(&mut self, kind: WorkloadKind) -> &mut Objects<Workload> {
        match kind {
            WorkloadKind::Deployment => &mut self.deployments,
            WorkloadKind::StatefulSet => &mut self.stateful_sets,
        }
    }

    const fn workloads(&self, kind: WorkloadKind) -> &Objects<Workload> {
        match kind {
            WorkloadKind::Deployment => &self.deployments,
            WorkloadKind::StatefulSet => &self.stateful_sets,
        }
    }
}

/// The objects of one namespace; `/` stands in no name, and `0` comes right after it.
fn within<'a, T>(objects: &'a Objects<T>, namespace: &str) -> impl Iterator<Item = Arc<T>> + 'a {
    objects
        .range(format!("{namespace}/")..format!("{namespace}0"))
        .map(|(_, object)| Arc::clone(object))
}

fn name_of(workload: &Workload) -> WorkloadName {
    let metadata = &workload.metadata;
    WorkloadName {
        namespace: metadata.namespace.as_deref().unwrap_or_default().into(),
        kind: workload.kind.as_str().into(),
        name: metadata.name.as_deref().unwrap_or_default().into(),
    }
}

/// Whether Evenkeel has written on an object what it has to take back.
fn carries_ours(metadata: &Meta) -> bool {
    [BOUNDS, SCALING_STATUS]
        .into_iter()
        .any(|key| metadata.annotations.contains_key(key))
}

#[cfg(test)]
mod tests;
