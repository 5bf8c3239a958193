//! kube-scheduler around a policy: room for requests, its own scores, and the choice. It takes one
//! Pod at a time and counts it on its node at once, like the real one. Plugins of other projects
//! run inside it with their shipped weights, so a policy only adds to the sums. The seed decides
//! between equal sums.

use jiff::SignedDuration;

use super::policy::{InTree, LoadPolicy, NodeCandidate};
use super::policy_pods::{PodLifecycleStep, PolicyPod};
use crate::placement::Placement;
use crate::scenario::{NodeShape, ScenarioWorkload};
#[cfg(test)]
use crate::scheduler::plugins::NodeRequest;
use evenkeel_placement::NodesToScore;
use evenkeel_units::random::RandomSource;

use crate::scheduler::plugins;
use crate::scheduler::plugins::NodeSearchWindow;

pub(super) struct Scheduler {
    placement: Placement,
    window: NodeSearchWindow,
    to_score: NodesToScore,
}

impl Scheduler {
    pub(super) fn new(
        nodes: &[NodeShape],
        workloads: &[std::sync::Arc<ScenarioWorkload>],
        to_score: NodesToScore,
        random: RandomSource,
    ) -> Self {
        let templates = workloads.iter().map(|workload| &**workload);
        Self {
            placement: Placement::new(nodes, templates, random),
            window: NodeSearchWindow::default(),
            to_score,
        }
    }

    /// The policy would wait for the notice of the choice under way before it answers.
    pub(super) fn awaits(
        &self,
        pod: &PolicyPod<'_>,
        policy: &mut dyn LoadPolicy,
        now: SignedDuration,
    ) -> bool {
        let feasible = self.placement.feasible(pod.index);
        policy.doubts(pod, &feasible, now)
    }

    /// The Pod's node from now on; `None` if it has to wait.
    pub(super) fn place(
        &mut self,
        pod: &PolicyPod<'_>,
        policy: &mut dyn LoadPolicy,
        now: SignedDuration,
    ) -> Option<usize> {
        let (placement, all) = (&self.placement, self.placement.nodes().len());
        let mut feasible = self
            .window
            .find(all, self.to_score, |node| placement.takes(pod.index, node));
        if !feasible.is_empty() {
            policy.filter(pod, &mut feasible, now);
        }
        let chosen = match feasible[..] {
            [] => return None,
            [only] => only,
            _ => self.best(pod, &feasible, policy, now)?,
        };
        self.placement.add(pod.index, chosen);
        policy.step(pod, chosen, PodLifecycleStep::Chosen, now);
        Some(chosen)
    }

    pub(super) fn forget(&mut self, pod: &PolicyPod<'_>, node: usize) {
        self.placement.remove(pod.index, node);
    }

    #[cfg(test)]
    pub(super) fn nodes(&self) -> &[NodeRequest] {
        self.placement.nodes()
    }

    fn best(
        &mut self,
        pod: &PolicyPod<'_>,
        feasible: &[usize],
        policy: &mut dyn LoadPolicy,
        now: SignedDuration,
    ) -> Option<usize> {
        let sums = match policy.in_tree() {
            InTree::Counted => self.placement.sums(pod.index, feasible),
            InTree::Disabled => vec![0; feasible.len()],
        };
        let candidates = feasible.iter().zip(sums);
        let mut candidates: Vec<NodeCandidate> = candidates
            .map(|(&node, sum)| NodeCandidate { node, sum })
            .collect();
        policy.score(pod, &mut candidates, now);
        let sums: Vec<i64> = candidates.iter().map(|candidate| candidate.sum).collect();
        let choice = self.placement.draw();
        plugins::best(&sums, choice).map(|position| feasible[position])
    }
}
