//! What stands behind the lock.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::Timestamp;

use crate::cluster::owners::Owners;
use crate::cluster::records::{Kind, Misunderstood, NamespaceRecord, Untold, WaitingPod};
use evenkeel_core::placement::node_table::NodeTable;
use evenkeel_core::placement::usage::PodName;
use evenkeel_kubernetes::annotations::InvalidAnnotation;
use evenkeel_kubernetes::extender::REFUSAL;
use evenkeel_kubernetes::meta::Meta;
use evenkeel_kubernetes::pod::{Condition, Pod};
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
    pub(super) misunderstood: Untold,
}

impl Inner {
    pub(super) fn set_namespace(&mut self, name: &str, record: NamespaceRecord) {
        let known = self.namespaces.get(name).map(|known| &known.policy);
        self.policies_changed |= known != Some(&record.policy);
        self.namespaces.insert(name.into(), record);
    }

    /// Keeps the Pods that Evenkeel refused, with the time since which each has been refused.
    ///
    /// The condition tells since when a Pod has been unschedulable for whatever cause, so that time
    /// is taken only at the first list, when nothing better is known.
    pub(super) fn apply_waiting(&mut self, pod: &Pod, now: Timestamp) {
        let Some(condition) = refusal(pod) else {
            self.waiting.remove(pod.uid());
            return;
        };
        let known = self.waiting.get(pod.uid()).map(|known| known.since);
        let listed = self.synced.contains(&Kind::Pod);
        let since = known
            .or(condition.last_transition_time.filter(|_| !listed))
            .unwrap_or(now)
            .min(now);
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

    pub(super) fn misunderstand(
        &mut self,
        kind: &'static str,
        metadata: &Meta,
        invalid: &[InvalidAnnotation],
    ) {
        let told = invalid
            .iter()
            .map(|invalid| Misunderstood::new(kind, metadata, invalid));
        self.misunderstood.extend(told);
    }
}

pub(super) fn version(metadata: &Meta) -> String {
    metadata.resource_version.clone().unwrap_or_default()
}

/// The condition of a Pod that waits because Evenkeel refused it.
fn refusal(pod: &Pod) -> Option<&Condition> {
    let waits = pod.spec.node_name.is_none() && !pod.is_finished() && !pod.is_terminating();
    pod.status.condition("PodScheduled").filter(|condition| {
        waits && condition.status == "False" && condition.message.contains(REFUSAL)
    })
}
