//! kube-scheduler's state without an API server: requests on each node, feasible nodes, sums of the
//! default plugins, and tie-breaking numbers. [`Baseline`](crate::baseline::Baseline) and
//! [`simulation`](crate::simulation) place Pods by it. [`Scheduler`](crate::scheduler::Scheduler)
//! reads the same from objects, with the same [`plugins`](crate::scheduler::plugins).

use evenkeel_units::random::RandomSource;

use crate::scenario::{NodeShape, ScenarioWorkload};
use crate::scheduler::plugins;
use crate::scheduler::plugins::{NodeRequest, PodRequest};

/// Requests on nodes, and of each workload's Pods. Nodes and workloads are positions in the
/// scenario.
pub(crate) struct Placement {
    nodes: Vec<NodeRequest>,
    workloads: Vec<PodRequest>,
    chance: RandomSource,
    /// Numbers drawn so far.
    drawn: u64,
}

impl Placement {
    /// Without Pods; `random` breaks ties.
    pub(crate) fn new<'a>(
        nodes: &[NodeShape],
        workloads: impl IntoIterator<Item = &'a ScenarioWorkload>,
        random: RandomSource,
    ) -> Self {
        let empty = |shape: &NodeShape| NodeRequest {
            name: shape.name.clone(),
            allocatable: shape.capacity,
            max_pods: shape.pods,
            ..NodeRequest::default()
        };
        let request = |workload: &ScenarioWorkload| PodRequest {
            requests: workload.demand,
            spread_with: Some(format!("{}/{}", workload.namespace, workload.name).into()),
            ..PodRequest::default()
        };
        Self {
            nodes: nodes.iter().map(empty).collect(),
            workloads: workloads.into_iter().map(request).collect(),
            chance: random.stream("tie"),
            drawn: 0,
        }
    }

    pub(crate) fn nodes(&self) -> &[NodeRequest] {
        &self.nodes
    }

    /// By the default plugins.
    pub(crate) fn takes(&self, workload: usize, node: usize) -> bool {
        plugins::refusals(&self.workloads[workload], &self.nodes[node]).is_empty()
    }

    /// All nodes that take a Pod of the workload.
    pub(crate) fn feasible(&self, workload: usize) -> Vec<usize> {
        let all = 0..self.nodes.len();
        all.filter(|&node| self.takes(workload, node)).collect()
    }

    /// Sums of the default plugins, in the order of `nodes`.
    pub(crate) fn sums(&self, workload: usize, nodes: &[usize]) -> Vec<i64> {
        let nodes: Vec<&NodeRequest> = nodes.iter().map(|&node| &self.nodes[node]).collect();
        plugins::scores(&self.workloads[workload], &nodes)
    }

    /// The next number in [0, 1), for ties in [`plugins::best`].
    pub(crate) fn draw(&mut self) -> f64 {
        let number = self.chance.unit(self.drawn);
        self.drawn += 1;
        number
    }

    pub(crate) fn add(&mut self, workload: usize, node: usize) {
        let pod = &self.workloads[workload];
        self.nodes[node].add(&pod.requests, pod.spread_with.as_ref());
    }

    pub(crate) fn remove(&mut self, workload: usize, node: usize) {
        let pod = &self.workloads[workload];
        self.nodes[node].remove(&pod.requests, pod.spread_with.as_ref());
    }

    /// Its Pods stay counted.
    pub(crate) fn close(&mut self, node: usize, closed: bool) {
        if let Some(node) = self.nodes.get_mut(node) {
            node.unschedulable = closed;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::Scenario;

    fn placement(scenario: &Scenario) -> Placement {
        Placement::new(&scenario.nodes, &scenario.workloads, RandomSource::new(1))
    }

    #[test]
    fn a_node_takes_pods_until_their_requests_fill_it_and_again_when_one_is_gone() {
        let scenario = Scenario::mixed();
        let mut placement = placement(&scenario);
        let empty = placement.nodes().to_vec();
        let mut there = 0;
        while placement.takes(0, 0) {
            placement.add(0, 0);
            there += 1;
        }
        assert!((1..=placement.nodes()[0].max_pods).contains(&there));
        assert!(!placement.feasible(0).contains(&0));
        assert!(placement.feasible(0).contains(&1));
        placement.remove(0, 0);
        assert!(placement.takes(0, 0));
        for _ in 1..there {
            placement.remove(0, 0);
        }
        assert_eq!(placement.nodes(), empty);
    }

    #[test]
    fn a_closed_node_takes_nobody_and_keeps_what_is_there() {
        let scenario = Scenario::mixed();
        let mut placement = placement(&scenario);
        placement.add(0, 0);
        placement.close(0, true);
        assert!(!placement.takes(0, 0));
        assert_eq!(placement.nodes()[0].pods, 1);
        placement.close(0, false);
        assert!(placement.takes(0, 0));
    }

    #[test]
    fn the_emptier_of_two_equal_nodes_has_the_higher_sum() {
        let scenario = Scenario::mixed();
        let mut placement = placement(&scenario);
        let shape = |node: &usize| &scenario.nodes[*node].capacity;
        let alike = (1..scenario.nodes.len()).find(|node| shape(node) == shape(&0));
        let other = alike.unwrap();
        assert_eq!(placement.sums(0, &[0])[0], placement.sums(0, &[other])[0]);
        placement.add(0, 0);
        let sums = placement.sums(0, &[other, 0]);
        assert!(sums[0] > sums[1], "{sums:?}");
        assert_ne!(placement.draw().to_bits(), placement.draw().to_bits());
    }
}
