//! The change of V = Σ w D² as Pods leave nodes one after another: a departure is a placement with
//! a negative demand, so the closed form of the score applies.

use evenkeel_units::{Amount, Resource, Resources};

use super::spread::Spread;
use crate::node_load::NodeLoad;
use crate::profile::Weights;

pub(crate) struct Departures {
    nodes: Vec<NodeLoad>,
    /// Resources with a weight above 0.
    spreads: Vec<(Resource, f64, Spread)>,
}

impl Departures {
    pub(crate) fn new(nodes: Vec<NodeLoad>, weights: &Weights) -> Self {
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

    /// The node without the departed Pods.
    pub(crate) fn node(&self, node: usize) -> &NodeLoad {
        &self.nodes[node]
    }

    /// The change of V when a Pod with this usage leaves. At most the node's load goes.
    pub(crate) fn change(&self, node: usize, usage: &Resources<Amount>) -> f64 {
        let load = &self.nodes[node].load;
        let changes = self.spreads.iter().map(|(resource, weight, spread)| {
            let leaving = usage[*resource].min(load[*resource]);
            weight * spread.change_without(node, leaving)
        });
        changes.sum()
    }

    pub(crate) fn leave(&mut self, node: usize, usage: &Resources<Amount>) {
        let load = &self.nodes[node].load;
        for (resource, _, spread) in &mut self.spreads {
            spread.take(node, usage[*resource].min(load[*resource]));
        }
        self.nodes[node].take(usage);
    }
}
