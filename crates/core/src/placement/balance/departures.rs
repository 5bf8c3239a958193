//! Nodes while Pods leave them one after another, and how each departure would move V.
//!
//! V = Σ w D² is that of the score by which Pods are placed: a departure is a placement with a
//! demand below 0, so that the closed form is the same.

use super::spread::Spread;
use crate::placement::node_load::NodeLoad;
use crate::profile::Weights;
use crate::units::{Amount, Resource, Resources};

/// The nodes that Pods leave.
pub(in crate::placement) struct Departures {
    nodes: Vec<NodeLoad>,
    /// The resources that weigh anything, with their weights and spreads.
    spreads: Vec<(Resource, f64, Spread)>,
}

impl Departures {
    pub(in crate::placement) fn new(nodes: Vec<NodeLoad>, weights: &Weights) -> Self {
        let weights = weights.get().iter();
        let spreads = weights
            .filter(|&(_, &weight)| weight > 0.0)
            .map(|(resource, &weight)| {
                let mut spread = Spread::default();
                spread.measure(&nodes, resource, Amount::ZERO);
                (resource, weight, spread)
            });
        Self {
            spreads: spreads.collect(),
            nodes,
        }
    }

    /// A node without the Pods that have left.
    pub(in crate::placement) fn node(&self, node: usize) -> &NodeLoad {
        &self.nodes[node]
    }

    /// The change of V when a Pod that uses so much leaves a node. More than the node's load cannot go.
    pub(in crate::placement) fn change(&self, node: usize, usage: &Resources<Amount>) -> f64 {
        let load = &self.nodes[node].load;
        let changes = self.spreads.iter().map(|(resource, weight, spread)| {
            let leaving = usage[*resource].min(load[*resource]);
            weight * spread.change_without(node, leaving)
        });
        changes.sum()
    }

    /// Lets a Pod that uses so much leave a node.
    pub(in crate::placement) fn leave(&mut self, node: usize, usage: &Resources<Amount>) {
        let load = &self.nodes[node].load;
        for (resource, _, spread) in &mut self.spreads {
            spread.take(node, usage[*resource].min(load[*resource]));
        }
        self.nodes[node].take(usage);
    }
}
