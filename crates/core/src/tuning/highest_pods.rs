//! The Pods of each node that use the most of it.
//!
//! A Pod is looked at once and goes through at most ten places of its node, so that a round over a
//! hundred and fifty thousand of them costs milliseconds, whatever their order.

use crate::units::Amount;

use super::cpu_memory::{CpuMemory, TunedResource};

/// The number of Pods of a node that a round considers.
pub const PER_NODE: usize = 10;

/// A Pod among the highest of its node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HighestPod<P> {
    pub pod: P,
    /// The larger of its shares of the node's cpu and memory, in millionths.
    pub share: u64,
}

/// The highest Pods of all nodes, by the number of each node.
#[derive(Debug)]
pub struct HighestPods<P> {
    capacities: Vec<CpuMemory<Amount>>,
    nodes: Vec<Vec<HighestPod<P>>>,
}

impl<P: Copy + Ord> HighestPods<P> {
    /// No Pods yet on nodes of these capacities.
    #[must_use]
    pub fn new(capacities: Vec<CpuMemory<Amount>>) -> Self {
        let nodes = capacities.iter().map(|_| Vec::new()).collect();
        Self { capacities, nodes }
    }

    /// Looks at a Pod on the node of this number; of equal ones the first by name stays.
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

    /// The highest of each node, the first of them first, by the numbers of the nodes.
    #[must_use]
    pub fn into_nodes(self) -> Vec<Vec<HighestPod<P>>> {
        self.nodes
    }
}
