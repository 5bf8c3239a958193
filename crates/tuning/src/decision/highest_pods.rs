//! The Pods of each node that use the most of it: one look per Pod and at most ten steps, so that
//! 150,000 Pods cost milliseconds in any order.

use evenkeel_units::Amount;
use evenkeel_units::cpu_memory::{CpuMemory, TunedResource};

/// Pods of a node that a round considers.
pub const PER_NODE: usize = 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HighestPod<P> {
    pub pod: P,
    /// The larger of its shares of the node's cpu and memory, in millionths.
    pub share: u64,
}

#[derive(Debug)]
pub struct HighestPods<P> {
    capacities: Vec<CpuMemory<Amount>>,
    nodes: Vec<Vec<HighestPod<P>>>,
}

impl<P: Copy + Ord> HighestPods<P> {
    /// Nodes have these capacities, and no Pods yet.
    pub fn new(capacities: Vec<CpuMemory<Amount>>) -> Self {
        let nodes = capacities.iter().map(|_| Vec::new()).collect();
        Self { capacities, nodes }
    }

    /// `node` is an index; of equal Pods the first by name stays.
    pub fn see(&mut self, node: usize, pod: P, used: CpuMemory<Amount>) {
        let (Some(capacity), Some(highest)) = (self.capacities.get(node), self.nodes.get_mut(node))
        else {
            return;
        };
        let of = |resource: TunedResource| {
            let capacity = u128::from(capacity[resource].get().max(1));
            let share = u128::from(used[resource].get()) * 1_000_000 / capacity;
            u64::try_from(share).unwrap_or(u64::MAX)
        };
        let share = of(TunedResource::Cpu).max(of(TunedResource::Memory));
        let is_above = |other: &HighestPod<P>| (other.share, pod) > (share, other.pod);
        if highest.len() == PER_NODE && highest.last().is_some_and(is_above) {
            return;
        }
        let place = highest.partition_point(is_above);
        highest.truncate(PER_NODE - 1);
        highest.insert(place, HighestPod { pod, share });
    }

    /// By node, the highest first.
    pub fn into_nodes(self) -> Vec<Vec<HighestPod<P>>> {
        self.nodes
    }
}
