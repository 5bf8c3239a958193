//! The strategy ClusterLoadBalancePriority of chapter 4 of the thesis `[CLBP]`: headroom by (4.1),
//! profile by (4.2) and (4.3), and the balance score of (4.4) to (4.11) with each resource
//! normalised by itself. It uses measurements only, and ignores Pods placed since. It replaces
//! kube-scheduler's scores; the thesis leaves rounding open, and here a hundredth is kept.

use evenkeel_placement::balance::{Normalization, ScoringStrategy};
use evenkeel_placement::node_table::median;
use evenkeel_placement::{NodeLoad, SchedulingPolicy, balance, headroom, profile};
use evenkeel_units::{Amount, i64_nearest};
use jiff::SignedDuration;

use crate::scenario::NodeShape;
use crate::simulation::monitoring::NodeMonitor;
use crate::simulation::policy::{InTree, LoadPolicy, NodeCandidate};
use crate::simulation::policy_pods::PolicyPod;

/// Keeps the score to a hundredth.
const HUNDREDTHS: f64 = 100.0;

pub(super) struct Clbp {
    /// As of the last measurement.
    nodes: Vec<NodeLoad>,
    /// Headroom, threshold and weights.
    policy: SchedulingPolicy,
}

impl Clbp {
    pub(super) fn new(nodes: &[NodeShape], policy: &SchedulingPolicy) -> Self {
        let empty = |shape: &NodeShape| NodeLoad {
            capacity: shape.capacity.map(Some),
            ..NodeLoad::default()
        };
        Self {
            nodes: nodes.iter().map(empty).collect(),
            policy: policy.clone(),
        }
    }
}

impl LoadPolicy for Clbp {
    fn in_tree(&self) -> InTree {
        InTree::Disabled
    }

    fn measured(&mut self, monitoring: &NodeMonitor, _now: SignedDuration) {
        for (node, sample) in monitoring.node_samples() {
            self.nodes[node].load = sample.used.map(Amount::from_f64);
        }
    }

    fn filter(&mut self, pod: &PolicyPod<'_>, nodes: &mut Vec<usize>, _now: SignedDuration) {
        let (demand, limit) = (&pod.workload.demand, self.policy.headroom);
        nodes.retain(|&node| headroom::fits(demand, &self.nodes[node], limit));
    }

    fn score(
        &mut self,
        pod: &PolicyPod<'_>,
        candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
        let demand = &pod.workload.demand;
        let nodes = candidates
            .iter()
            .map(|candidate| self.nodes[candidate.node]);
        let loads: Vec<NodeLoad> = nodes.collect();
        let free = median(&loads).free();
        let class = profile::classify(demand, &free, self.policy.profile_threshold);
        let weights = self.policy.profiles.built_in(class.profile);
        let scoring = ScoringStrategy::pure(Normalization::PerResource);
        let scores = balance::scores(&loads, demand, weights, scoring);
        for (candidate, score) in candidates.iter_mut().zip(scores) {
            candidate.sum += i64_nearest(score * HUNDREDTHS);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_objects::pod_name::PodName;
    use evenkeel_units::Resources;

    use super::*;
    use crate::load::UsageAmounts;
    use crate::scenario::Scenario;
    use crate::scrape_timing::Timing;
    use crate::simulation::tests::own;

    #[test]
    fn a_node_without_headroom_is_left_out_and_the_emptier_of_the_others_scores_ten() {
        let mut scenario = Scenario::mixed();
        scenario.nodes = vec![scenario.nodes[0].clone(); 3];
        let capacity = scenario.nodes[0].capacity;
        let mut monitoring = NodeMonitor::new(Timing::default());
        for turn in 0..2 {
            let used = [0.85, 0.5, 0.2].map(|share| -> UsageAmounts {
                Resources::from_fn(|resource| capacity[resource].as_f64() * share)
            });
            let at = SignedDuration::from_secs(15) * turn;
            monitoring.scrape(at, used.to_vec(), []);
        }
        let now = SignedDuration::from_secs(20);
        let mut clbp = Clbp::new(&scenario.nodes, &own().policy);
        clbp.measured(&monitoring, now);
        let workload = Arc::new(scenario.workloads[0].clone());
        let pod = PolicyPod {
            id: 0,
            name: &PodName::new("shop", "web-0"),
            workload: &workload,
            index: 0,
        };
        let mut nodes = vec![0, 1, 2];
        clbp.filter(&pod, &mut nodes, now);
        assert_eq!(nodes, [1, 2]);
        let mut candidates = [1, 2].map(|node| NodeCandidate { node, sum: 0 });
        clbp.score(&pod, &mut candidates, now);
        assert_eq!(candidates.map(|candidate| candidate.sum), [0, 1000]);
    }
}
