//! The part of the cluster's state that admission and the extender read, behind one lock.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::Timestamp;

use crate::cluster::owners::Owners;
use crate::cluster::records::{NamespaceRecord, WaitingPod, WarningQueue};
use evenkeel_core::placement::node_table::NodeTable;
use evenkeel_core::placement::usage::PodName;
use evenkeel_kubernetes::annotations::InvalidAnnotation;
use evenkeel_kubernetes::extender::refused_since;
use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::meta::Meta;
use evenkeel_kubernetes::plan::annotation_warning::AnnotationWarning;
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::snapshot::Namespaces;

type Map<K, V> = HashMap<K, V, RandomState>;

#[derive(Debug, Default)]
pub(super) struct Inner {
    pub(super) table: NodeTable,
    pub(super) namespaces: Map<Box<str>, NamespaceRecord>,
    pub(super) policies: Arc<Namespaces>,
    pub(super) policies_changed: bool,
    pub(super) node_versions: Map<Box<str>, String>,
    pub(super) waiting: Map<Box<str>, WaitingPod>,
    pub(super) owners: Owners,
    pub(super) synced: HashSet<Kind>,
    pub(super) warnings: WarningQueue,
}

impl Inner {
    pub(super) fn set_namespace(&mut self, name: &str, record: NamespaceRecord) {
        let known = self.namespaces.get(name).map(|known| &known.policy);
        self.policies_changed |= known != Some(&record.policy);
        self.namespaces.insert(name.into(), record);
    }

    /// Keeps a Pod that waits because it was refused, with the time since which it has been.
    pub(super) fn apply_waiting(&mut self, pod: &Pod, now: Timestamp) {
        let known = self.waiting.get(pod.uid()).map(|known| known.since);
        let listed = self.synced.contains(&Kind::Pod);
        let Some(since) = refused_since(pod, known, listed, now) else {
            self.waiting.remove(pod.uid());
            return;
        };
        let waiting = WaitingPod {
            name: PodName::new(pod.namespace(), pod.name()),
            pod: Arc::new(pod.clone()),
            since,
        };
        self.waiting.insert(pod.uid().into(), waiting);
    }

    pub(super) fn has_opted_in(&self, namespace: &str) -> bool {
        self.namespaces
            .get(namespace)
            .is_some_and(|record| record.policy.enabled)
    }

    pub(super) fn warn(&mut self, kind: Kind, metadata: &Meta, invalid: &[InvalidAnnotation]) {
        let warnings = invalid
            .iter()
            .map(|invalid| AnnotationWarning::new(kind, metadata, invalid));
        self.warnings.extend(warnings);
    }
}

pub(super) fn version(metadata: &Meta) -> String {
    metadata.resource_version.clone().unwrap_or_default()
}
