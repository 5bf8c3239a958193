//! The live cluster, changed event by event and published as snapshots.

mod claims;
mod node_records;
mod owners;
mod placement_state;
mod profiles;
mod scaling;
mod scheduler_calls;
mod score_label_state;
mod score_label_views;
mod second_scheduler;
mod synced_kinds;
mod taints;
mod workload_usage;

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard};

use arc_swap::ArcSwap;
use evenkeel_clock::Clock;
use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::annotations::ENABLED;
use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::node::{Node, node_facts};
use evenkeel_objects::pod::Pod;
use evenkeel_placement::SchedulingPolicy;
use evenkeel_placement::node_table;
use evenkeel_placement::node_table::{NodeDetail, NodeTable};
use evenkeel_placement::plan::annotation_warning::AnnotationWarning;
use evenkeel_placement::snapshot::Snapshot;
use jiff::Timestamp;
use node_records::NodeRecord;
use placement_state::{PlacementState, version};
use score_label_state::ScoreLabelState;
use tokio::sync::Notify;

use super::autoscaling::{ScalingStore, WorkloadKey};
use super::history::ClusterUsageHistory;
use super::lock::locked;
use super::pod_store::{ObservedPod, PodStore};
use super::profiles::Profiles;
use super::readiness_gate::Gate;
use super::records::NamespaceRecord;
use super::removable_pods::RemovablePods;
use super::resizable_pods::ResizablePods;
use crate::watched_types::Namespace;

pub use node_records::NodeContact;
pub use profiles::ProfileView;
pub(crate) use score_label_views::LabelPlanView;
pub use second_scheduler::SecondScheduler;

/// The settings of the cluster's state.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Settings {
    /// The times for which measurements and reservations are believed.
    pub table: node_table::Settings,
    /// Capacities of nodes that do not tell theirs.
    pub capacities: Capacities,
    /// True where the caps of the CNI bandwidth plugin count as demand.
    pub caps_as_demand: bool,
    /// True where measurements are to be expected.
    pub expects_metrics: bool,
    /// True where Pods are given costs of deletion before a scale-in, so that all are known that may go.
    pub balances_scale_in: bool,
    /// The policy that Pods have shapes by, where score labels are on.
    pub shape_policy: Option<Arc<SchedulingPolicy>>,
}

/// The live cluster; clones share it.
#[derive(Debug, Clone)]
pub struct ClusterState(Arc<ClusterStores>);

#[derive(Debug)]
struct ClusterStores {
    settings: Settings,
    clock: Clock,
    inner: Mutex<PlacementState>,
    snapshot: ArcSwap<Snapshot>,
    scaling: Mutex<ScalingStore>,
    removable: Mutex<RemovablePods>,
    resizable: Mutex<ResizablePods>,
    history: ClusterUsageHistory,
    profiles: Mutex<Profiles>,
    /// The workloads that profiles are about.
    profiled: ArcSwap<HashSet<WorkloadKey>>,
    gate: Gate,
    /// A namespace may have opted in.
    opted_in: Notify,
}

impl ClusterState {
    /// An empty cluster of which nothing is known yet, which goes by the machine's clock.
    pub fn new(settings: Settings) -> Self {
        Self::with_clock(settings, Clock::real())
    }

    /// The same for a cluster with objects that `clock` stamps.
    pub(crate) fn with_clock(settings: Settings, clock: Clock) -> Self {
        let inner = PlacementState {
            table: NodeTable::new(settings.table),
            scores: ScoreLabelState::new(settings.shape_policy.is_some()),
            shape_policy: settings.shape_policy.clone(),
            ..PlacementState::default()
        };
        let snapshot = Snapshot {
            expects_metrics: settings.expects_metrics,
            ..Snapshot::default()
        };
        let removable = RemovablePods::new(settings.balances_scale_in);
        Self(Arc::new(ClusterStores {
            settings,
            removable: Mutex::new(removable),
            resizable: Mutex::default(),
            clock,
            inner: Mutex::new(inner),
            snapshot: ArcSwap::from_pointee(snapshot),
            scaling: Mutex::default(),
            history: ClusterUsageHistory::default(),
            profiles: Mutex::default(),
            profiled: ArcSwap::default(),
            gate: Gate::default(),
            opted_in: Notify::new(),
        }))
    }

    /// The clock that the cluster's objects are stamped by.
    pub fn clock(&self) -> Clock {
        self.0.clock
    }

    /// The time in the cluster, which the times in its objects are compared with.
    pub fn now(&self) -> Timestamp {
        self.0.clock.now()
    }

    /// The newest picture of the cluster.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.0.snapshot.load_full()
    }

    /// Takes a node as it now is.
    pub fn apply_node(&self, node: &Node, now: Timestamp) {
        let (facts, invalid) = node_facts(node, &self.0.settings.capacities);
        self.change(|inner| {
            inner.table.apply_node(node.name(), facts, now);
            inner.follow_largest(now);
            let record = NodeRecord::of(node, inner.nodes.remove(node.name()));
            inner.nodes.insert(node.name().into(), record);
            inner.scores.apply_node(node);
            inner.warn(Kind::Node, &node.metadata, &invalid);
        });
        self.removable().apply_node(node);
    }

    /// Forgets a node that was deleted.
    pub fn remove_node(&self, name: &str) {
        self.change(|inner| {
            inner.table.remove_node(name);
            inner.nodes.remove(name);
            inner.scores.remove_node(name);
        });
        self.removable().retain_nodes(|other| other != name);
    }

    /// Keeps only these nodes, after a complete list.
    pub fn retain_nodes(&self, keep: impl Fn(&str) -> bool) {
        self.change(|inner| {
            inner.table.retain_nodes(&keep);
            inner.nodes.retain(|name, _| keep(name));
            inner.scores.retain_nodes(&keep);
        });
        self.removable().retain_nodes(&keep);
    }

    /// Takes a Pod as it now is.
    pub fn apply_pod(&self, pod: &Pod, now: Timestamp) {
        let with = self.with_history(pod);
        let pod = with.as_ref().unwrap_or(pod);
        let seen = ObservedPod::new(pod, self.0.settings.caps_as_demand, now);
        self.each_pod_store(|store| store.apply(&seen));
        self.0.history.apply(&seen);
        self.observe_start(&seen);
        if self.has_profiles() {
            self.0.gate.seen();
        }
    }

    /// Forgets a Pod that was deleted.
    pub fn remove_pod(&self, uid: &str, now: Timestamp) {
        self.each_pod_store(|store| store.remove(uid, now));
    }

    /// Keeps only these Pods, after a complete list.
    pub fn retain_pods(&self, keep: impl Fn(&str) -> bool, now: Timestamp) {
        self.each_pod_store(|store| store.retain(&keep, now));
    }

    /// Hands each store of Pods to `with`, one after the other, and holds only its lock.
    fn each_pod_store(&self, mut with: impl FnMut(&mut dyn PodStore)) {
        self.change(|inner| with(inner));
        with(&mut self.scaling().pods);
        with(&mut *self.removable());
        with(&mut *self.profiles());
        with(&mut *self.resizable());
    }

    /// Takes a namespace as it now is.
    pub fn apply_namespace(&self, namespace: &Namespace, now: Timestamp) {
        let metadata = &namespace.metadata;
        let (policy, invalid) = NamespacePolicy::parse(&metadata.annotations);
        let policy = Arc::new(policy);
        let name = metadata.name.as_deref().unwrap_or_default();
        let warnings = self.scaling().apply_namespace(name, &policy);
        let record = NamespaceRecord {
            policy,
            resource_version: version(metadata),
            label: metadata.labels.get(ENABLED).cloned(),
        };
        let is_in = record.policy.enabled;
        self.change(|inner| {
            inner.warn(Kind::Namespace, metadata, &invalid);
            inner.warnings.extend(warnings);
            inner.set_namespace(name, record);
            inner.recount_claims(name, now);
        });
        self.resizable().opt(name, is_in);
        if is_in {
            self.0.opted_in.notify_waiters();
        }
    }

    /// Forgets a namespace that was deleted.
    pub(crate) fn remove_namespace(&self, name: &str, now: Timestamp) {
        self.change(|inner| inner.remove_namespace(name, now));
        self.resizable().forget_namespace(name);
        self.scaling().retain_namespaces(|other| other != name);
    }

    /// Keeps only these namespaces, after a complete list.
    pub(crate) fn retain_namespaces(&self, keep: impl Fn(&str) -> bool, now: Timestamp) {
        self.change(|inner| {
            let names = inner.namespaces.keys();
            let gone: Vec<_> = names.filter(|name| !keep(name)).cloned().collect();
            for name in gone {
                inner.remove_namespace(&name, now);
            }
        });
        self.scaling().retain_namespaces(&keep);
    }

    /// Takes a round of measurements, in batches of nodes: requests that come meanwhile are answered
    /// between them.
    pub fn apply_sample(&self, sample: Arc<UsageSample>, now: Timestamp) {
        let mut round = self.change(|inner| inner.table.begin_round(sample));
        while self.change(|inner| inner.table.go_on(&mut round, now)) {}
        self.change(|inner| inner.end_round(now));
        // The names of the round before are dropped here, outside the lock.
        drop(round);
    }

    /// Lets measurements and reservations age until `now`.
    pub fn advance(&self, now: Timestamp) {
        self.change(|inner| {
            inner.table.advance(now);
            inner.follow_largest(now);
        });
    }

    /// All namespaces, as plans need them.
    pub fn namespaces(&self) -> Vec<(Box<str>, NamespaceRecord)> {
        let inner = self.lock();
        inner
            .namespaces
            .iter()
            .map(|(name, record)| (name.clone(), record.clone()))
            .collect()
    }

    /// The version at which a node was read.
    pub(crate) fn node_version(&self, name: &str) -> Option<String> {
        let inner = self.lock();
        inner.nodes.get(name).map(|node| node.version.clone())
    }

    /// The names of all nodes.
    pub fn node_names(&self) -> Vec<Box<str>> {
        self.lock().nodes.keys().cloned().collect()
    }

    /// Where each node is reached, in the order of their names.
    pub(crate) fn node_contacts(&self) -> Vec<NodeContact> {
        let inner = self.lock();
        let nodes = inner.nodes.values();
        nodes.map(|node| node.contact.clone()).collect()
    }

    /// The terms of a node's load.
    pub fn node_detail(&self, name: &str) -> Option<NodeDetail> {
        self.lock().table.detail(name)
    }

    /// The number of Pods with a load that the measurements do not include yet.
    pub fn in_flight(&self) -> usize {
        self.lock().table.in_flight()
    }

    /// Takes at most `most` of the warnings that have not been taken yet.
    pub(crate) fn take_warnings(&self, most: usize) -> Vec<AnnotationWarning> {
        self.lock().warnings.take(most)
    }

    fn lock(&self) -> MutexGuard<'_, PlacementState> {
        locked(&self.0.inner)
    }

    /// The Pods that may go in a scale-in. No other lock is taken while theirs is held.
    pub(crate) fn removable(&self) -> MutexGuard<'_, RemovablePods> {
        locked(&self.0.removable)
    }

    /// The Pods that may be resized. No other lock is taken while theirs is held.
    pub(crate) fn resizable(&self) -> MutexGuard<'_, ResizablePods> {
        locked(&self.0.resizable)
    }

    /// Makes a change, and publishes a new picture if it shows. Before everything has been listed
    /// nothing may be decided, and a picture of each object that arrives would only take time.
    fn change<T>(&self, with: impl FnOnce(&mut PlacementState) -> T) -> T {
        let mut inner = self.lock();
        let result = with(&mut inner);
        if !inner.is_synced() {
            return result;
        }
        let published = self.0.snapshot.load();
        if inner.table.nodes().version() == published.nodes.version()
            && !inner.policies_changed
            && published.synced
            && inner.scheduler_lease == published.second_scheduler
            && Arc::ptr_eq(&inner.scores.labelled, &published.labelled_shapes)
        {
            return result;
        }
        if std::mem::take(&mut inner.policies_changed) {
            inner.policies = Arc::new(
                inner
                    .namespaces
                    .iter()
                    .map(|(name, record)| (name.clone(), Arc::clone(&record.policy)))
                    .collect(),
            );
        }
        self.0.snapshot.store(Arc::new(Snapshot {
            nodes: inner.table.nodes().clone(),
            namespaces: Arc::clone(&inner.policies),
            expects_metrics: self.0.settings.expects_metrics,
            synced: true,
            second_scheduler: inner.scheduler_lease.clone(),
            labelled_shapes: Arc::clone(&inner.scores.labelled),
        }));
        result
    }
}

#[cfg(test)]
mod tests;
