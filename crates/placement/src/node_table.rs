//! The present usage of every node, including Pods that are still starting. Measurements lag: a Pod
//! placed a moment ago is in no sample yet, and one that has just ended still is. The table keeps,
//! for each node, the newest measurement, the demand of Pods in flight and the usage of ended Pods:
//! N = measured + in flight − gone. An event costs O(resources); readers share immutable
//! [`NodeSet`]s and never wait.

mod detail;
mod entry;
mod group_trials;
mod largest_capacities;
mod median_node;
mod near_ties;
mod node_set;
mod pending_bindings;
mod placement_outcomes;
mod pod;
mod resource_sums;
mod settings;
mod timeouts;
mod unbound_pods;
mod unstarted_pods;
mod usage_rounds;

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::Timestamp;

pub use detail::NodeDetail;
use evenkeel_objects::bound_pod::BoundPod;
use evenkeel_objects::node_facts::NodeFacts;
pub use median_node::median;
pub use near_ties::NearTies;
pub use node_set::{Freshness, NodeSet, NodeState};
pub use placement_outcomes::{ChoiceEnd, ChoiceTally};
pub use settings::Settings;
pub use usage_rounds::UsageRound;

use entry::{CountingContext, NodeEntry};
use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Resources};
use pending_bindings::PendingBindings;
use pod::{PodEntry, Stage};
use unstarted_pods::UnstartedPods;

type NodeTableMap<K, V> = HashMap<K, V, RandomState>;

#[derive(Debug, Default)]
pub struct NodeTable {
    settings: Settings,
    nodes: NodeTableMap<Arc<str>, NodeEntry>,
    /// Boxed, because a map reserves room for up to twice as many entries as it holds.
    pods: NodeTableMap<Box<str>, Box<PodEntry>>,
    awaited: PendingBindings,
    unstarted: UnstartedPods,
    /// Ended Pods with usage that samples still hold.
    ended: NodeTableMap<PodName, Arc<str>>,
    sample: Arc<UsageSample>,
    /// No load changes by itself until then, when the first measurement in use grows stale. `None`
    /// if that is to be found out.
    settled_until: Option<Timestamp>,
    set: NodeSet,
}

impl NodeTable {
    pub fn new(settings: Settings) -> Self {
        Self {
            settings,
            ..Self::default()
        }
    }

    /// Cheap to clone, immutable.
    pub const fn nodes(&self) -> &NodeSet {
        &self.set
    }

    pub fn apply_node(&mut self, name: &str, facts: NodeFacts, now: Timestamp) {
        let name = self.intern(name);
        let is_new = self
            .nodes
            .get_mut(&name)
            .is_some_and(|node| node.tell(facts));
        if is_new {
            // Measurements and Pods may be older than the node's object.
            self.adopt_measurements(&name, now);
            self.recount(&name, now);
            self.settled_until = None;
        }
        self.resolve(&name, now);
    }

    /// The demand of its Pods is kept, in case it comes back before they go.
    pub fn remove_node(&mut self, name: &str) {
        let Some(node) = self.nodes.get_mut(name) else {
            return;
        };
        node.facts = None;
        self.set.remove(name);
        self.forget_if_unused(name);
    }

    /// For a complete list.
    pub fn retain_nodes(&mut self, keep: impl Fn(&str) -> bool) {
        let vanished: Vec<Arc<str>> = self
            .set
            .iter()
            .filter(|node| !keep(&node.name))
            .map(|node| Arc::clone(&node.name))
            .collect();
        for name in vanished {
            self.remove_node(&name);
        }
    }

    /// A Pod that is bound, started, resized or finished. One without a node is for [`Self::wait`].
    pub fn apply_pod(&mut self, uid: &str, facts: &BoundPod<'_>, now: Timestamp) {
        let Some(node) = facts.node else {
            return;
        };
        if self.pods.get(uid).is_some_and(|pod| pod.shows(facts)) {
            return;
        }
        self.see_bound(uid, now);
        let node = self.intern(node);
        let before = self.detach(uid);
        if before.is_none() {
            self.forget_ended(facts.name, now);
        }
        let unstarted = self.settings.unstarted;
        let pod = Box::new(PodEntry {
            name: facts.name.clone(),
            node: Arc::clone(&node),
            demand: facts.demand,
            start_up: some_start_up(facts),
            counted: None,
            stage: Stage::of(facts, before.as_deref(), now, unstarted),
            first_started: known_start(before.as_deref()).or(facts.first_started),
            terminating: facts.terminating,
            host_network: facts.host_network,
        });
        self.attach(uid, pod, now);
        let moved = before.filter(|pod| pod.node != node);
        if let Some(pod) = moved {
            self.resolve(&pod.node, now);
            self.forget_if_unused(&pod.node);
        }
        self.resolve(&node, now);
    }

    /// Counts a bound Pod with another demand from now on.
    pub fn set_demand(&mut self, uid: &str, demand: Resources<Amount>, now: Timestamp) {
        let known = self.pods.get(uid);
        if known.is_none_or(|pod| pod.bound().is_none() || pod.demand == demand) {
            return;
        }
        if let Some(mut pod) = self.detach(uid) {
            let node = Arc::clone(&pod.node);
            pod.keep_total(&demand);
            pod.demand = demand;
            self.attach(uid, pod, now);
            self.resolve(&node, now);
        }
    }

    /// Seen bound, and not ended.
    pub fn is_bound(&self, uid: &str) -> bool {
        self.pods.get(uid).is_some_and(|pod| pod.bound().is_some())
    }

    pub fn remove_pod(&mut self, uid: &str, now: Timestamp) {
        self.take_awaited(uid, now);
        let Some(pod) = self.detach(uid) else {
            return;
        };
        if let (Some(_), Some(node)) = (pod.bound(), self.nodes.get_mut(&pod.node)) {
            node.end(&pod, now, &self.sample);
            self.ended.insert(pod.name, Arc::clone(&pod.node));
        }
        self.resolve(&pod.node, now);
        self.forget_if_unused(&pod.node);
    }

    /// For a complete list. Pods that were given a node recently stay until their time is over.
    pub fn retain_pods(&mut self, keep: impl Fn(&str) -> bool, now: Timestamp) {
        let vanished: Vec<Box<str>> = self
            .pods
            .iter()
            .filter(|(uid, _)| !keep(uid))
            .map(|(uid, _)| uid.clone())
            .collect();
        for uid in vanished {
            self.remove_pod(&uid, now);
        }
        self.retain_awaited(keep, now);
    }

    /// The part of a node's load that would go with a Pod on it; `None` for a Pod that is not
    /// bound.
    pub fn part_of_load(&self, uid: &str) -> Option<Resources<Amount>> {
        let pod = self.pods.get(uid)?;
        let freshness = self.set.get(&pod.node)?.freshness;
        let measured = self.nodes.get(&pod.node)?.measured();
        let measured = pod.part_of_load(measured, &self.sample);
        Some(Resources::from_fn(|resource| match freshness[resource] {
            Freshness::Fresh => measured[resource],
            Freshness::Stale | Freshness::Absent if pod.is_committed() => pod.demand[resource],
            Freshness::Stale | Freshness::Absent => Amount::ZERO,
        }))
    }

    /// The UIDs of the node's Pods that are being deleted.
    pub fn terminating(&self, node: &str) -> &[Box<str>] {
        self.nodes.get(node).map_or(&[], NodeEntry::terminating)
    }

    pub fn detail(&self, name: &str) -> Option<NodeDetail> {
        self.set.get(name).map(|node| node.detail)
    }

    /// Reserved or bound, and not yet wholly in the measurements.
    pub fn in_flight(&self) -> usize {
        self.nodes.values().map(NodeEntry::in_flight_pods).sum()
    }

    fn intern(&mut self, name: &str) -> Arc<str> {
        if let Some((known, _)) = self.nodes.get_key_value(name) {
            return Arc::clone(known);
        }
        let name: Arc<str> = name.into();
        self.nodes.insert(Arc::clone(&name), NodeEntry::default());
        name
    }

    /// Forgets an ended Pod if another Pod has its name now.
    fn forget_ended(&mut self, name: &PodName, now: Timestamp) {
        let Some(node) = self.ended.remove(name) else {
            return;
        };
        let sample = Arc::clone(&self.sample);
        let changed = self
            .nodes
            .get_mut(&node)
            .is_some_and(|node| node.forget_ended(name, &sample));
        if changed {
            self.resolve(&node, now);
        }
    }

    fn detach(&mut self, uid: &str) -> Option<Box<PodEntry>> {
        let pod = self.pods.remove(uid)?;
        if let Some(bound) = pod.awaited_since() {
            self.unstarted.remove(bound, uid);
        }
        if let Some(node) = self.nodes.get_mut(&pod.node) {
            node.detach(uid, &pod);
        }
        Some(pod)
    }

    fn attach(&mut self, uid: &str, mut pod: Box<PodEntry>, now: Timestamp) {
        if let Some(bound) = pod.awaited_since() {
            self.unstarted.insert(bound, uid);
        }
        let moment = CountingContext {
            sample: &self.sample,
            settings: &self.settings,
            now,
        };
        if let Some(node) = self.nodes.get_mut(&pod.node) {
            node.attach(uid, &mut pod, &moment);
            if matches!(pod.stage, Stage::Finished { .. }) && node.remembers_ended(&pod.name) {
                self.ended.insert(pod.name.clone(), Arc::clone(&pod.node));
            }
        }
        self.pods.insert(uid.into(), pod);
    }

    fn resolve(&mut self, name: &Arc<str>, now: Timestamp) {
        if let Some(state) = self
            .nodes
            .get(name)
            .and_then(|node| node.state(name, &self.settings, now))
        {
            self.set.put(state);
        }
    }

    fn look_ahead(&mut self, now: Timestamp) {
        let ends = self
            .nodes
            .values()
            .filter_map(|node| node.unchanged_until(&self.settings, now));
        self.settled_until = Some(ends.min().unwrap_or(Timestamp::MAX));
    }

    fn forget_if_unused(&mut self, name: &str) {
        if self.nodes.get(name).is_some_and(NodeEntry::is_unused) {
            self.nodes.remove(name);
        }
    }
}

/// Most Pods have none, or had it long ago.
fn some_start_up(facts: &BoundPod<'_>) -> Option<Box<Resources<Amount>>> {
    let counts = facts.start_up != Resources::default();
    counts.then(|| Box::new(facts.start_up))
}

fn known_start(before: Option<&PodEntry>) -> Option<Timestamp> {
    before.and_then(|pod| pod.first_started)
}

#[cfg(test)]
mod tests;
