//! The Pods of a run, their nodes and their use.

use std::collections::BTreeSet;
use std::sync::Arc;

use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::deletion_order::Victim;
use evenkeel_units::random::RandomSource;
use jiff::SignedDuration;

use super::policy_pods::{PodId, PolicyPod, ScaleInCandidate};
use crate::deletion_order::victim;
use crate::lifecycle::{Lifecycle, Stage};
use crate::pod_ordinals::Ordinals;
use crate::scenario::{NodeShape, ScenarioWorkload};
use crate::usage;
use crate::usage::{ClusterUsage, PodNow};

pub(super) struct SimulatedPod {
    pub name: PodName,
    /// Index of its workload in the scenario.
    pub index: usize,
    /// Among the Pods of the workload that stay.
    pub ordinal: u32,
    noise: RandomSource,
    made: SignedDuration,
    pub node: Option<usize>,
    /// `None` until the kubelet has it.
    pub lifecycle: Option<Lifecycle>,
    pub is_deleted: bool,
}

/// All Pods ever made, and the nodes of those that kubelets have.
pub(super) struct SimulatedPods {
    workloads: Vec<Arc<ScenarioWorkload>>,
    trace_offset: SignedDuration,
    random: RandomSource,
    made: Vec<SimulatedPod>,
    staying: Ordinals<PodId>,
    on_node: Vec<Vec<PodId>>,
    /// Pairs of node and workload with a pulled image.
    images: BTreeSet<(usize, usize)>,
}

impl SimulatedPods {
    pub(super) fn new(
        workloads: Vec<Arc<ScenarioWorkload>>,
        nodes: usize,
        trace_offset: SignedDuration,
        random: RandomSource,
    ) -> Self {
        Self {
            workloads,
            trace_offset,
            random,
            made: Vec::new(),
            staying: Ordinals::new(),
            on_node: vec![Vec::new(); nodes],
            images: BTreeSet::new(),
        }
    }

    pub(super) fn get(&self, id: PodId) -> &SimulatedPod {
        &self.made[id]
    }

    pub(super) fn subject(&self, id: PodId) -> PolicyPod<'_> {
        let pod = &self.made[id];
        PolicyPod {
            id,
            name: &pod.name,
            workload: &self.workloads[pod.index],
            index: pod.index,
        }
    }

    /// Pods of a workload, without deleted ones.
    pub(super) fn staying(&self, index: usize) -> Vec<PodId> {
        self.staying.of(index).copied().collect()
    }

    /// For the policy's choice in a scale-in.
    pub(super) fn leaving(&self, id: PodId, at: SignedDuration) -> ScaleInCandidate<'_> {
        let pod = &self.made[id];
        let stage = pod.lifecycle.map(|life| life.stage(at));
        ScaleInCandidate {
            subject: self.subject(id),
            node: pod.node,
            is_ready: stage == Some(Stage::Ready),
        }
    }

    /// As its ReplicaSet sees it.
    pub(super) fn victim(&self, id: PodId, at: SignedDuration) -> Victim<usize, usize> {
        let pod = &self.made[id];
        let step = u64::try_from(id).unwrap_or(u64::MAX);
        let identity = self.random.stream("uid").below(step, usize::MAX);
        victim(pod.node, pod.lifecycle, pod.made, at, identity)
    }

    /// With the lowest free ordinals.
    pub(super) fn add(&mut self, index: usize, count: usize, at: SignedDuration) -> Vec<PodId> {
        let free = self.staying.free(index, count);
        let made = free
            .into_iter()
            .map(|ordinal| self.make(index, ordinal, at));
        made.collect()
    }

    fn make(&mut self, index: usize, ordinal: u32, at: SignedDuration) -> PodId {
        let id = self.made.len();
        let workload = &self.workloads[index];
        let name = format!("{}-{id}", workload.name);
        self.made.push(SimulatedPod {
            name: PodName::new(&workload.namespace, &name),
            index,
            ordinal,
            // By the ordinal and not by the name, so that Pods are alike in all runs of a seed.
            noise: self.random.stream(&format!("{}-{ordinal}", workload.name)),
            made: at,
            node: None,
            lifecycle: None,
            is_deleted: false,
        });
        self.staying.insert(index, ordinal, id);
        id
    }

    pub(super) fn choose(&mut self, id: PodId, node: usize) {
        self.made[id].node = Some(node);
    }

    /// The kubelet has the Pod; returns when its containers run.
    pub(super) fn bind(&mut self, id: PodId, node: usize, at: SignedDuration) -> SignedDuration {
        let index = self.made[id].index;
        let cached = !self.images.insert((node, index));
        let lifecycle = Lifecycle::new(&self.workloads[index].startup, at, cached);
        self.made[id].lifecycle = Some(lifecycle);
        self.on_node[node].push(id);
        lifecycle.running
    }

    /// Returns when the Pod is gone.
    pub(super) fn delete(&mut self, id: PodId, at: SignedDuration) -> SignedDuration {
        let pod = &mut self.made[id];
        pod.is_deleted = true;
        self.staying.remove(pod.index, pod.ordinal);
        // A Pod that runs nowhere has nothing to finish.
        let Some(lifecycle) = &mut pod.lifecycle else {
            return at;
        };
        let deleted = lifecycle.delete(at);
        deleted.saturating_add(self.workloads[pod.index].shutdown)
    }

    /// The Pod is gone from its node.
    pub(super) fn remove(&mut self, id: PodId) {
        let pod = &mut self.made[id];
        pod.lifecycle = None;
        if let Some(node) = pod.node.take() {
            self.on_node[node].retain(|other| *other != id);
        }
    }

    pub(super) fn usage(&self, shapes: &[NodeShape], at: SignedDuration) -> ClusterUsage<PodId> {
        let pods: Vec<PodNow<'_, PodId>> = self.running(at).collect();
        let ready = usage::ready(&pods, self.workloads.len());
        let in_trace = at.saturating_add(self.trace_offset);
        let served = usage::served(&self.workloads, &ready, in_trace);
        usage::of(pods, shapes, &served, at)
    }

    /// Pods that kubelets have, node by node.
    fn running(&self, at: SignedDuration) -> impl Iterator<Item = PodNow<'_, PodId>> {
        let placed = self.on_node.iter().enumerate();
        let placed = placed.flat_map(|(node, ids)| ids.iter().map(move |&id| (node, id)));
        placed.map(move |(node, id)| {
            let pod = &self.made[id];
            PodNow {
                key: id,
                node,
                workload: &self.workloads[pod.index],
                index: Some(pod.index),
                stage: pod.lifecycle.map_or(Stage::Pulling, |life| life.stage(at)),
                is_open: true,
                noise: pod.noise,
            }
        })
    }
}

#[cfg(test)]
impl SimulatedPods {
    /// Pods with a node, or about to be told that they have none any more.
    pub(super) fn placed(&self) -> usize {
        let has_node = |pod: &&SimulatedPod| pod.node.is_some();
        self.made.iter().filter(has_node).count()
    }
}
