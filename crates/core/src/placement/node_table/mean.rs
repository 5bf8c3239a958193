//! The mean node, which stands for the cluster where no node has been chosen yet.

use crate::placement::node_load::NodeLoad;
use crate::units::{Amount, Resources};

/// Sums over nodes from which a mean is taken; nodes can be put in and taken out.
///
/// Each resource is averaged over the nodes that know their capacity of it.
#[derive(Debug, Clone, Copy, Default)]
pub struct MeanLoad(Resources<Sum>);

#[derive(Debug, Clone, Copy, Default)]
struct Sum {
    capacity: u128,
    load: u128,
    nodes: u32,
}

impl MeanLoad {
    /// Puts a node in.
    pub fn add(&mut self, node: &NodeLoad) {
        self.change(node, |sum, capacity, load| {
            sum.capacity += capacity;
            sum.load += load;
            sum.nodes += 1;
        });
    }

    /// Takes a node out that was put in with the same values.
    pub fn remove(&mut self, node: &NodeLoad) {
        self.change(node, |sum, capacity, load| {
            sum.capacity = sum.capacity.saturating_sub(capacity);
            sum.load = sum.load.saturating_sub(load);
            sum.nodes = sum.nodes.saturating_sub(1);
        });
    }

    /// Mean capacity and mean load; the capacity of a resource that no node knows is unknown.
    #[must_use]
    pub fn get(&self) -> NodeLoad {
        NodeLoad {
            capacity: self.0.map(|sum| mean(sum.capacity, sum.nodes)),
            load: self
                .0
                .map(|sum| mean(sum.load, sum.nodes).unwrap_or_default()),
            io_pressed: false,
        }
    }

    fn change(&mut self, node: &NodeLoad, with: impl Fn(&mut Sum, u128, u128)) {
        for (resource, capacity) in node.capacity.iter() {
            if let Some(capacity) = capacity {
                let load = u128::from(node.load[resource].get());
                with(&mut self.0[resource], u128::from(capacity.get()), load);
            }
        }
    }
}

impl<'a> FromIterator<&'a NodeLoad> for MeanLoad {
    fn from_iter<I: IntoIterator<Item = &'a NodeLoad>>(nodes: I) -> Self {
        let mut sums = Self::default();
        for node in nodes {
            sums.add(node);
        }
        sums
    }
}

fn mean(sum: u128, nodes: u32) -> Option<Amount> {
    sum.checked_div(u128::from(nodes))
        .map(|mean| Amount::new(u64::try_from(mean).unwrap_or(u64::MAX)))
}
