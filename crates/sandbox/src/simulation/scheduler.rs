//! kube-scheduler around a policy: what requests leave room for, its own scores, and the choice.
//!
//! It takes one Pod at a time and counts it on its node at once, as the real one assumes Pods. Plugins of
//! other projects run inside it with the weights that they are shipped with, so a policy only adds to
//! the sums. Among equal sums it chooses by chance, which the seed decides.

use jiff::SignedDuration;

use super::policy::{Candidate, InTree, LoadPolicy};
use super::subject::{Step, Subject};
use crate::scenario::{NodeShape, Workload};
use crate::scheduler::plugins::{self, NodeRequest, PodRequest, Window};
use evenkeel_core::random::Random;

/// The state of kube-scheduler in a run.
pub(super) struct Scheduler {
    nodes: Vec<NodeRequest>,
    /// What each workload's Pods ask for.
    requests: Vec<PodRequest>,
    window: Window,
    enough: usize,
    chance: Random,
    decisions: u64,
}

impl Scheduler {
    pub(super) fn new(
        nodes: &[NodeShape],
        workloads: &[std::sync::Arc<Workload>],
        percentage: usize,
        random: Random,
    ) -> Self {
        let empty = |shape: &NodeShape| NodeRequest {
            name: shape.name.clone(),
            allocatable: shape.capacity,
            max_pods: shape.pods,
            ..NodeRequest::default()
        };
        let request = |workload: &std::sync::Arc<Workload>| PodRequest {
            requests: workload.demand,
            ..PodRequest::default()
        };
        Self {
            nodes: nodes.iter().map(empty).collect(),
            requests: workloads.iter().map(request).collect(),
            window: Window::default(),
            enough: Window::enough(nodes.len(), percentage),
            chance: random.stream("tie"),
            decisions: 0,
        }
    }

    /// True where the policy would wait for the choice that is under way to be told before it answers.
    pub(super) fn awaits(
        &self,
        pod: &Subject<'_>,
        policy: &mut dyn LoadPolicy,
        now: SignedDuration,
    ) -> bool {
        let request = &self.requests[pod.index];
        let nodes = self.nodes.iter().enumerate();
        let feasible = nodes.filter(|(_, node)| plugins::refusals(request, node).is_empty());
        let feasible: Vec<usize> = feasible.map(|(at, _)| at).collect();
        policy.doubts(pod, &feasible, now)
    }

    /// The node that the Pod gets from now on; `None` where it has to wait.
    pub(super) fn place(
        &mut self,
        pod: &Subject<'_>,
        policy: &mut dyn LoadPolicy,
        now: SignedDuration,
    ) -> Option<usize> {
        let request = &self.requests[pod.index];
        let nodes = &self.nodes;
        let mut feasible = self.window.find(nodes.len(), self.enough, |node| {
            plugins::refusals(request, &nodes[node]).is_empty()
        });
        if !feasible.is_empty() {
            policy.filter(pod, &mut feasible, now);
        }
        let chosen = match feasible[..] {
            [] => return None,
            [only] => only,
            _ => self.best(pod, &feasible, policy, now)?,
        };
        self.nodes[chosen].add(&pod.workload.demand);
        policy.step(pod, chosen, Step::Chosen, now);
        Some(chosen)
    }

    /// A Pod has left its node.
    pub(super) fn forget(&mut self, workload: &Workload, node: usize) {
        self.nodes[node].remove(&workload.demand);
    }

    /// The nodes with the requests of their Pods.
    #[cfg(test)]
    pub(super) fn nodes(&self) -> &[NodeRequest] {
        &self.nodes
    }

    fn best(
        &mut self,
        pod: &Subject<'_>,
        feasible: &[usize],
        policy: &mut dyn LoadPolicy,
        now: SignedDuration,
    ) -> Option<usize> {
        let sums = match policy.in_tree() {
            InTree::Counted => {
                let nodes: Vec<&NodeRequest> =
                    feasible.iter().map(|&node| &self.nodes[node]).collect();
                plugins::scores(&self.requests[pod.index], &nodes)
            }
            InTree::Disabled => vec![0; feasible.len()],
        };
        let candidates = feasible.iter().zip(sums);
        let mut candidates: Vec<Candidate> = candidates
            .map(|(&node, sum)| Candidate { node, sum })
            .collect();
        policy.score(pod, &mut candidates, now);
        let sums: Vec<i64> = candidates.iter().map(|candidate| candidate.sum).collect();
        let choice = self.chance.unit(self.decisions);
        self.decisions += 1;
        plugins::best(&sums, choice).map(|position| feasible[position])
    }
}
