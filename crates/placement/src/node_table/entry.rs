//! One node's sums, kept incrementally.

mod measurements;

use std::collections::HashMap;
use std::sync::Arc;

use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::node_facts::NodeFacts;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::{Amount, Resource, Resources};
use foldhash::fast::RandomState;
use jiff::Timestamp;

use super::detail::NodeDetail;
use super::node_set::{Freshness, NodeState};
use super::pending_bindings::AwaitedPod;
use super::pod::{EndedPod, PodEntry, Stage};
use super::resource_sums::ResourceSums;
use super::settings::Settings;
use crate::node_load::NodeLoad;

/// The measurements and settings that Pods are counted by.
#[derive(Clone, Copy)]
pub(super) struct CountingContext<'a> {
    pub(super) sample: &'a UsageSample,
    pub(super) settings: &'a Settings,
    pub(super) now: Timestamp,
}

#[derive(Debug, Clone, Copy)]
pub(super) struct NetworkSpeed {
    pub(super) capacity: Amount,
    /// Speed of the interfaces of known speed, with a use of their own.
    pub(super) is_rated: bool,
}

/// An object's facts, measurements, and sums over Pods.
#[derive(Debug, Default)]
pub(super) struct NodeEntry {
    /// `None` while Pods name a node that the API server has not shown.
    pub(super) facts: Option<NodeFacts>,
    pub(super) network_speed: Option<NetworkSpeed>,
    measured: Resources<Option<NodeSample>>,
    /// A measurement was already stale when it came.
    came_late: Resources<bool>,
    io_pressure: Option<NodeSample>,
    committed: ResourceSums,
    in_flight: ResourceSums,
    awaited: ResourceSums,
    /// Beyond the demand of Pods in flight and awaited ones.
    start_up: ResourceSums,
    ended_usage: ResourceSums,
    recent: Vec<Box<str>>,
    /// By name: thousands of Pods may end between two measurements of a resource.
    ended: HashMap<PodName, EndedPod, RandomState>,
    pods: usize,
    awaited_pods: usize,
    terminating: Vec<Box<str>>,
}

impl NodeEntry {
    /// Returns true if the node was unknown. Forgets the measurements of an earlier node of the
    /// same name.
    pub(super) fn tell(&mut self, facts: NodeFacts) -> bool {
        let before = self.facts.replace(facts);
        if let Some(created) = facts.created {
            let was_there = |measured: &NodeSample| measured.at >= created;
            self.measured = self.measured.map(|measured| measured.filter(was_there));
            self.io_pressure = self.io_pressure.filter(was_there);
            if before.is_some_and(|before| before.created != facts.created) {
                self.network_speed = None;
            }
        }
        before.is_none()
    }

    /// The object or the configuration has a network capacity for this node.
    pub(super) fn declares_network_capacity(&self) -> bool {
        self.facts.is_some_and(|facts| {
            !facts.network_is_default && facts.capacity[Resource::NetworkIo].is_some()
        })
    }

    pub(super) fn attach(&mut self, uid: &str, pod: &mut PodEntry, moment: &CountingContext<'_>) {
        self.pods += 1;
        if let Stage::Finished { at } = pod.stage {
            self.end(pod, at, moment.sample);
            return;
        }
        if pod.terminating {
            self.terminating.push(uid.into());
        }
        if matches!(pod.stage, Stage::Stalled { .. }) {
            return;
        }
        self.committed.add(&pod.demand);
        self.start_up.add(&pod.start_up());
        self.count(uid, pod, moment);
    }

    pub(super) fn detach(&mut self, uid: &str, pod: &PodEntry) {
        self.pods = self.pods.saturating_sub(1);
        if pod.terminating {
            self.terminating.retain(|other| **other != *uid);
        }
        if matches!(pod.stage, Stage::Finished { .. } | Stage::Stalled { .. }) {
            return;
        }
        self.committed.subtract(&pod.demand);
        self.start_up.subtract(&pod.start_up());
        self.in_flight.subtract(&pod.counted());
        if let Some(position) = self.recent.iter().position(|recent| **recent == *uid) {
            self.recent.swap_remove(position);
        }
    }

    /// A Pod without a binding that most likely comes here.
    pub(super) fn attach_awaited(&mut self, pod: &AwaitedPod) {
        self.awaited.add(&pod.demand);
        self.start_up.add(&pod.start_up);
        self.awaited_pods += 1;
    }

    pub(super) fn detach_awaited(&mut self, pod: &AwaitedPod) {
        self.awaited.subtract(&pod.demand);
        self.start_up.subtract(&pod.start_up);
        self.awaited_pods = self.awaited_pods.saturating_sub(1);
    }

    pub(super) const fn measured(&self) -> &Resources<Option<NodeSample>> {
        &self.measured
    }

    pub(super) fn terminating(&self) -> &[Box<str>] {
        &self.terminating
    }

    /// Adds a Pod to the in-flight sum while samples may not contain all of it.
    pub(super) fn count(&mut self, uid: &str, pod: &mut PodEntry, moment: &CountingContext<'_>) {
        pod.counted = None;
        if self.is_settled(pod, moment) {
            self.keep_start_up(pod, &Resources::default());
            return;
        }
        let in_measured = pod.in_measured(&self.measured, moment.sample);
        let counted = pod.contribution(&self.measured, &in_measured);
        let left = pod.start_up_left(&self.measured, &in_measured, moment.now);
        self.keep_start_up(pod, &left);
        self.in_flight.add(&counted);
        pod.counted = (counted != Resources::default()).then(|| Box::new(counted));
        self.recent.push(uid.into());
    }

    /// Lowers what a Pod may use while it warms up to `left`.
    fn keep_start_up(&mut self, pod: &mut PodEntry, left: &Resources<Amount>) {
        if let Some(before) = pod.start_up.take() {
            let after = Resources::from_fn(|of| before[of].min(left[of]));
            self.start_up.subtract(&before);
            self.start_up.add(&after);
            pod.start_up = (after != Resources::default()).then(|| Box::new(after));
        }
    }

    /// Ends a Pod, of which measurements may still hold some usage.
    pub(super) fn end(&mut self, pod: &PodEntry, at: Timestamp, sample: &UsageSample) {
        let ended = EndedPod::new(pod, at, sample);
        self.remember_ended(pod.name.clone(), ended, sample);
    }

    /// Remembers a Pod that has ended, as long as measurements hold some of its usage.
    fn remember_ended(&mut self, name: PodName, ended: EndedPod, sample: &UsageSample) {
        let measured = self.measured.values().iter().flatten();
        if !measured
            .clone()
            .all(|measurement| ended.is_past(measurement))
        {
            self.forget_ended(&name, sample);
            let residue = ended.residue(&name, &self.measured, sample);
            self.ended_usage.add(&residue);
            self.ended.insert(name, ended);
        }
    }

    /// Forgets an ended Pod whose name another Pod has now, because usage under the name may be
    /// either's. Returns true if there was one.
    pub(super) fn forget_ended(&mut self, name: &PodName, sample: &UsageSample) -> bool {
        let Some(ended) = self.ended.remove(name) else {
            return false;
        };
        let residue = ended.residue(name, &self.measured, sample);
        self.ended_usage.subtract(&residue);
        true
    }

    /// Samples hold usage of an ended Pod of this name.
    pub(super) fn remembers_ended(&self, name: &PodName) -> bool {
        self.ended.contains_key(name)
    }

    /// Resets the sums over Pods after a measurement, and returns the Pods to count again.
    pub(super) fn begin_recount(&mut self, moment: &CountingContext<'_>) -> Vec<Box<str>> {
        self.in_flight = ResourceSums::default();
        self.ended_usage = ResourceSums::default();
        for (name, ended) in std::mem::take(&mut self.ended) {
            if moment.now.duration_since(ended.at) <= moment.settings.longest_age() {
                self.remember_ended(name, ended, moment.sample);
            }
        }
        std::mem::take(&mut self.recent)
    }

    /// The samples contain all of a Pod: a whole window of each measured resource lies after its
    /// start, and unmeasured resources have had enough time.
    fn is_settled(&self, pod: &PodEntry, moment: &CountingContext<'_>) -> bool {
        let Some(started) = pod.started() else {
            return false;
        };
        let old = moment.now.duration_since(started) > moment.settings.max_age;
        self.measured
            .values()
            .iter()
            .all(|measured| measured.map_or(old, |measured| pod.is_covered_by(&measured)))
    }

    /// `None` while its object is unknown.
    pub(super) fn state(
        &self,
        name: &Arc<str>,
        settings: &Settings,
        now: Timestamp,
    ) -> Option<NodeState> {
        let facts = self.facts?;
        let freshness = Resources::from_fn(|resource| self.freshness(resource, settings, now));
        let load =
            Resources::from_fn(|resource| self.load(resource, freshness[resource], settings, now));
        let mut capacity = Resources::from_fn(|resource| match freshness[resource] {
            Freshness::Fresh => facts.whole[resource].or(facts.capacity[resource]),
            Freshness::Stale | Freshness::Absent => facts.capacity[resource],
        });
        if facts.network_is_default || capacity[Resource::NetworkIo].is_none() {
            let network = &mut capacity[Resource::NetworkIo];
            *network = self.network_speed.map(|speed| speed.capacity).or(*network);
        }
        Some(NodeState {
            name: Arc::clone(name),
            schedulable: facts.schedulable,
            tainted: facts.tainted,
            load: NodeLoad {
                capacity,
                load,
                io_pressed: self.is_io_pressed(settings, now),
            },
            start_up: self.start_up.get(),
            freshness,
            told_late: self.is_told_late(settings, now),
            detail: self.detail(&facts),
        })
    }

    fn detail(&self, facts: &NodeFacts) -> NodeDetail {
        NodeDetail {
            allocatable: facts.capacity,
            measured: self.measured,
            io_pressure: self.io_pressure,
            in_flight: self.in_flight.plus(&self.awaited).get(),
            gone: self.ended_usage.get(),
            committed: self.committed.plus(&self.awaited).get(),
            pods_in_flight: self.in_flight_pods(),
        }
    }

    pub(super) const fn in_flight_pods(&self) -> usize {
        self.recent.len() + self.awaited_pods
    }

    pub(super) const fn is_unused(&self) -> bool {
        self.facts.is_none() && self.pods == 0 && self.awaited_pods == 0
    }
}
