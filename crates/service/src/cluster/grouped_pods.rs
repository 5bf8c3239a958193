//! Pods in a compact form, by UID and by what they are looked for by.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use evenkeel_objects::controller_key::ControllerKey;
use foldhash::fast::RandomState;

/// The Pods that are looked for together.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum PodGroup {
    Namespace(Box<str>),
    Controller(ControllerKey),
    /// Those that carry anything of Evenkeel's.
    Marked,
}

/// A Pod as it is kept, with its groups.
pub(super) trait GroupedPod {
    fn uid(&self) -> &Arc<str>;
    fn groups(&self) -> impl Iterator<Item = PodGroup>;
}

/// Pods by UID and by group.
#[derive(Debug)]
pub(super) struct GroupedPods<T> {
    pods: HashMap<Arc<str>, Arc<T>, RandomState>,
    groups: HashMap<PodGroup, BTreeSet<Arc<str>>, RandomState>,
}

impl<T> Default for GroupedPods<T> {
    fn default() -> Self {
        Self {
            pods: HashMap::default(),
            groups: HashMap::default(),
        }
    }
}

impl<T: GroupedPod> GroupedPods<T> {
    /// Keeps a Pod that is not kept yet.
    pub(super) fn insert(&mut self, pod: T) {
        let uid = pod.uid();
        for group in pod.groups() {
            let members = self.groups.entry(group).or_default();
            members.insert(Arc::clone(uid));
        }
        self.pods.insert(Arc::clone(uid), Arc::new(pod));
    }

    pub(super) fn remove(&mut self, uid: &str) {
        let gone = self.pods.remove(uid);
        for group in gone.iter().flat_map(|gone| gone.groups()) {
            if let Some(members) = self.groups.get_mut(&group) {
                members.remove(uid);
                if members.is_empty() {
                    self.groups.remove(&group);
                }
            }
        }
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&T) -> bool) {
        let gone = self.pods.values().filter(|pod| !keep(pod));
        let gone: Vec<_> = gone.map(|pod| Arc::clone(pod.uid())).collect();
        for uid in gone {
            self.remove(&uid);
        }
    }

    pub(super) fn get(&self, uid: &str) -> Option<&Arc<T>> {
        self.pods.get(uid)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &Arc<T>> {
        self.pods.values()
    }

    /// The Pods of a group, in the order of their UIDs.
    pub(super) fn of(&self, group: &PodGroup) -> impl Iterator<Item = &Arc<T>> {
        let uids = self.groups.get(group).into_iter().flatten();
        uids.filter_map(|uid| self.pods.get(uid))
    }

    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.pods.is_empty() && self.groups.is_empty()
    }
}
