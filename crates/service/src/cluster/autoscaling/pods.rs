//! Pods by their workload, kept event by event. Pods are filed under their controller, and that
//! under its workload. So if a ReplicaSet shows up after its Pods, or its owner changes, one entry
//! moves and no Pod does.

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_metrics::pod::PodFacts;
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::foreign_group;
use evenkeel_objects::meta::OwnerReference;
use evenkeel_objects::pod::{Pod, start_time};
use evenkeel_objects::pod_name::PodName;
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::targets::target_objects::TargetPodFacts;
use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::start_times::StartTimes;
use crate::cluster::owners::Owner;
use crate::cluster::pod_store::{ObservedPod, PodStore};

type WorkloadPodMap<K, V> = HashMap<K, V, RandomState>;

/// Kinds of controllers with Pods that are never scaled.
const UNSCALED: [&str; 3] = ["DaemonSet", "Job", "Node"];

/// Pods of a controller that a new one is compared with, to share an equal spec: more than one, because some
/// may have been resized.
const COMPARED: usize = 4;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct WorkloadKey {
    pub(crate) namespace: Box<str>,
    /// The group of a kind that is not one of Kubernetes' own: others have StatefulSets, too.
    pub(crate) group: Option<Box<str>>,
    pub(crate) kind: Box<str>,
    pub(crate) name: Box<str>,
}

impl WorkloadKey {
    pub(crate) fn of(namespace: &str, owner: &Owner) -> Self {
        Self {
            namespace: namespace.into(),
            group: owner.group.clone(),
            kind: owner.kind.as_str().into(),
            name: owner.name.as_str().into(),
        }
    }

    pub(crate) fn of_target(target: &TargetRef) -> Self {
        Self {
            namespace: target.namespace().into(),
            group: target.foreign_group().map(Box::from),
            kind: target.kind().into(),
            name: target.name().into(),
        }
    }
}

#[derive(Debug)]
struct IndexedPod {
    facts: Arc<PodFacts>,
    /// True once it has been ready, so that its time has been taken.
    was_ready: bool,
}

#[derive(Debug)]
struct ControllerPods {
    own: WorkloadKey,
    /// The workload behind it; the same where there is none.
    workload: WorkloadKey,
    members: WorkloadPodMap<PodName, (Arc<str>, IndexedPod)>,
}

#[derive(Debug, Default)]
struct WorkloadPodGroups {
    groups: Vec<ControllerKey>,
    times: StartTimes,
    /// True where there is such an object: its times then outlast its last Pod.
    exists: bool,
}

/// All Pods that something could scale.
#[derive(Debug, Default)]
pub(crate) struct PodsByWorkload {
    /// The controller and the name, by the Pod's UID.
    places: WorkloadPodMap<Arc<str>, (ControllerKey, PodName)>,
    groups: WorkloadPodMap<ControllerKey, ControllerPods>,
    workloads: WorkloadPodMap<WorkloadKey, WorkloadPodGroups>,
    /// The owners of ReplicaSets.
    owners: WorkloadPodMap<ControllerKey, Owner>,
}

impl IndexedPod {
    /// Shares the spec of the first of these that has an equal one.
    fn of<'a>(pod: &Pod, mut others: impl Iterator<Item = &'a Self>) -> Self {
        let mut facts = PodFacts::from(pod);
        if let Some(other) = others.find(|other| other.facts.spec == facts.spec) {
            facts.spec = Arc::clone(&other.facts.spec);
        }
        Self {
            was_ready: facts.is_ready(),
            facts: Arc::new(facts),
        }
    }
}

impl PodStore for PodsByWorkload {
    /// Leaves out a Pod that has ended or that nothing scales.
    fn apply(&mut self, seen: &ObservedPod<'_>) {
        let ObservedPod { pod, name, .. } = seen;
        let uid = pod.uid();
        let controller = pod.metadata.controller();
        let controller = controller.filter(|one| !is_unscaled(one) && !pod.is_finished());
        let key = controller.and_then(|one| ControllerKey::of_reference(name.namespace(), one));
        let Some((controller, key)) = controller.zip(key) else {
            return self.remove(uid, seen.now);
        };
        let members = self.groups.get(&key).map(|group| &group.members);
        let others = members.into_iter().flat_map(HashMap::values).take(COMPARED);
        let mut record = IndexedPod::of(pod, others.map(|(_, other)| other));
        let ready = record.facts.is_ready();
        let becomes_ready = if let Some(known) = self.known(uid, &key) {
            let was_ready = known.was_ready;
            record.was_ready |= was_ready;
            *known = record;
            ready && !was_ready
        } else {
            let own = WorkloadKey::of(name.namespace(), &Owner::from(controller));
            self.insert((uid, name), (&key, own), record, seen.now);
            ready
        };
        if becomes_ready && let Some(start) = start_time(pod) {
            let group = self.groups.get(&key);
            let entry = group.and_then(|group| self.workloads.get_mut(&group.workload));
            if let Some(entry) = entry {
                entry.times.push(start);
            }
        }
    }

    fn remove(&mut self, uid: &str, _: Timestamp) {
        let Some((controller, name)) = self.places.remove(uid) else {
            return;
        };
        let Some(group) = self.groups.get_mut(&controller) else {
            return;
        };
        group.members.remove(&name);
        if group.members.is_empty()
            && let Some(group) = self.groups.remove(&controller)
        {
            self.unlink(&controller, &group.workload);
        }
    }

    fn retain(&mut self, keep: &dyn Fn(&str) -> bool, now: Timestamp) {
        let gone = self.places.keys().filter(|uid| !keep(uid));
        let gone: Vec<Arc<str>> = gone.cloned().collect();
        for uid in gone {
            self.remove(&uid, now);
        }
    }
}

impl PodsByWorkload {
    /// Takes a ReplicaSet with what owns it.
    pub(crate) fn apply_owner(&mut self, set: &ControllerKey, owner: Option<Owner>) {
        match owner {
            Some(owner) => self.owners.insert(set.clone(), owner),
            None => self.owners.remove(set),
        };
        let Some(group) = self.groups.get_mut(set) else {
            return;
        };
        let workload = behind(&group.own, self.owners.get(set));
        if group.workload == workload {
            return;
        }
        let before = std::mem::replace(&mut group.workload, workload.clone());
        let times = self.unlink(set, &before);
        let entry = self.workloads.entry(workload).or_default();
        entry.groups.push(set.clone());
        if let Some(times) = times {
            entry.times.append(&times);
        }
    }

    pub(crate) fn remove_owner(&mut self, set: &ControllerKey) {
        self.owners.remove(set);
    }

    pub(crate) fn retain_owners(&mut self, keep: impl Fn(&ControllerKey) -> bool) {
        self.owners.retain(|set, _| keep(set));
    }

    /// A workload exists: what is known by its Pods outlasts them.
    pub(super) fn keep(&mut self, workload: WorkloadKey) {
        self.workloads.entry(workload).or_default().exists = true;
    }

    pub(super) fn release(&mut self, workload: &WorkloadKey) {
        if let Some(entry) = self.workloads.get_mut(workload) {
            entry.exists = false;
            if entry.groups.is_empty() {
                self.workloads.remove(workload);
            }
        }
    }

    pub(super) fn of(&self, workload: &WorkloadKey) -> TargetPodFacts {
        let Some(entry) = self.workloads.get(workload) else {
            return TargetPodFacts::default();
        };
        let groups = entry.groups.iter().filter_map(|set| self.groups.get(set));
        let members = groups.flat_map(|group| &group.members);
        TargetPodFacts {
            members: members
                .map(|(_, (_, record))| Arc::clone(&record.facts))
                .collect(),
            starts: entry.times.values().collect(),
        }
    }

    pub(super) fn controllers_of(&self, workload: &WorkloadKey) -> Vec<ControllerKey> {
        let entry = self.workloads.get(workload);
        entry.map(|entry| entry.groups.clone()).unwrap_or_default()
    }

    /// The number of controllers behind which there are Pods that are not being deleted.
    pub(super) fn living_controllers(&self, workload: &WorkloadKey) -> usize {
        let entry = self.workloads.get(workload);
        let groups = entry.into_iter().flat_map(|entry| &entry.groups);
        let groups = groups.filter_map(|set| self.groups.get(set));
        let is_there = |group: &&ControllerPods| {
            let mut members = group.members.values();
            members.any(|(_, record)| !record.facts.deleted)
        };
        groups.filter(is_there).count()
    }

    /// True where nothing is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        let pods = self.places.is_empty() && self.groups.is_empty();
        pods && self.workloads.is_empty() && self.owners.is_empty()
    }

    fn known(&mut self, uid: &str, controller: &ControllerKey) -> Option<&mut IndexedPod> {
        let (group, name) = self.places.get(uid)?;
        if group != controller {
            return None;
        }
        let (_, record) = self.groups.get_mut(group)?.members.get_mut(name)?;
        Some(record)
    }

    fn insert(
        &mut self,
        (uid, name): (&str, &PodName),
        (controller, own): (&ControllerKey, WorkloadKey),
        record: IndexedPod,
        now: Timestamp,
    ) {
        // Another controller may have adopted it.
        self.remove(uid, now);
        let uid: Arc<str> = uid.into();
        let known = self.groups.get_key_value(controller);
        // The text of the key is kept once for all Pods of the controller.
        let controller = known.map_or(controller, |(known, _)| known).clone();
        let group = self.groups.entry(controller.clone()).or_insert_with(|| {
            let workload = behind(&own, self.owners.get(&controller));
            let entry = self.workloads.entry(workload.clone()).or_default();
            entry.groups.push(controller.clone());
            ControllerPods {
                own,
                workload,
                members: WorkloadPodMap::default(),
            }
        });
        let member = (Arc::clone(&uid), record);
        // The previous Pod of this name has gone, even if its end has not been seen yet.
        if let Some((before, _)) = group.members.insert(name.clone(), member) {
            self.places.remove(&before);
        }
        self.places.insert(uid, (controller, name.clone()));
    }

    /// Separates a controller from its workload; returns the workload's times if nothing else was
    /// left.
    fn unlink(&mut self, controller: &ControllerKey, workload: &WorkloadKey) -> Option<StartTimes> {
        let entry = self.workloads.get_mut(workload)?;
        entry.groups.retain(|other| other != controller);
        if entry.exists || !entry.groups.is_empty() {
            return None;
        }
        self.workloads.remove(workload).map(|entry| entry.times)
    }
}

fn is_unscaled(controller: &OwnerReference) -> bool {
    let OwnerReference {
        api_version, kind, ..
    } = controller;
    UNSCALED.contains(&kind.as_str()) && foreign_group(api_version, kind).is_none()
}

fn behind(own: &WorkloadKey, owner: Option<&Owner>) -> WorkloadKey {
    owner.map_or_else(
        || own.clone(),
        |owner| WorkloadKey::of(&own.namespace, owner),
    )
}
