//! The order in which the Pods of a ReplicaSet should go when it is scaled in. A ReplicaSet
//! controller first deletes Pods that are not bound, pending or not ready, then those of the lowest
//! cost, so only ready Pods get costs. The next to go is a Pod that does not worsen the topology
//! spread, then one on a node over the headroom line, then the Pod without which V = Σ w D² of the
//! nodes, the deviation of placement, is least. Names break ties.

mod skew;

use std::cmp::Ordering;

use evenkeel_units::{Amount, Ratio, Resources, words};
use skew::Skew;

use super::balance::Departures;
use super::headroom;
use super::node_load::NodeLoad;
use crate::profile::Weights;

pub use skew::SpreadConstraint;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionCandidate<'a> {
    pub name: &'a str,
    /// Index of its node; `None` for a Pod without a known node.
    pub node: Option<usize>,
    /// Measured, or else its demand.
    pub usage: Resources<Amount>,
    /// The controller deletes it before any ready one, whatever its cost.
    pub goes_first: bool,
}

#[derive(Debug, Clone, Copy)]
pub struct Removal<'a> {
    /// Those that count for evenness.
    pub nodes: &'a [NodeLoad],
    /// Pods of one ReplicaSet, without those being deleted already.
    pub pods: &'a [DeletionCandidate<'a>],
    /// In order of precedence.
    pub spread: &'a [SpreadConstraint],
    pub weights: &'a Weights,
    /// h of `[CLBP]` (4.1): Pods of nodes above it go first.
    pub headroom: Ratio,
}

words! {
    /// Why a Pod goes before others.
    pub enum DeletionBasis {
        Headroom = "headroom",
        /// Other removals would spread the Pods less evenly.
        Spread = "spread",
        /// Without it the nodes are used most evenly.
        Balance = "balance",
        /// Its ReplicaProfile has cut it off from traffic.
        CutOff = "cutoff",
    }
}

impl DeletionBasis {
    pub const fn explanation(self) -> &'static str {
        match self {
            Self::Headroom => "its node is over the headroom line",
            Self::Spread => {
                "deleting another would spread the Pods less evenly over their topology"
            }
            Self::Balance => "without it the nodes are used most evenly",
            Self::CutOff => "it no longer takes traffic",
        }
    }
}

/// By index.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleInVictim {
    pub pod: usize,
    pub ground: DeletionBasis,
}

impl Removal<'_> {
    /// The ready Pods that should be among the first `count` to go, in order. Pods that go first
    /// whatever they cost use up `count`.
    pub fn order(&self, count: usize) -> Vec<ScaleInVictim> {
        let positions = 0..self.pods.len();
        let (first, mut left): (Vec<_>, Vec<_>) =
            positions.partition(|&at| self.pods[at].goes_first);
        let count = count.saturating_sub(first.len());
        if count == 0 {
            return Vec::new();
        }
        let mut nodes = Departures::new(self.without(&first), self.weights);
        let mut spread: Vec<Skew<'_>> = self.spread.iter().map(Skew::new).collect();
        for &at in &first {
            for skew in &mut spread {
                skew.leave(at);
            }
        }
        let mut order = Vec::new();
        while order.len() < count
            && let Some(choice) = self.next(&left, &nodes, &spread)
        {
            let pod = &self.pods[choice.pod];
            if let Some(node) = pod.node {
                nodes.leave(node, &pod.usage);
            }
            for skew in &mut spread {
                skew.leave(choice.pod);
            }
            left.retain(|&other| other != choice.pod);
            order.push(choice);
        }
        order
    }

    /// The nodes without the Pods that go first. Subtracting them here is cheap: a departure from a
    /// deviation is a pass over all nodes, and there may be thousands of such Pods.
    fn without(&self, gone: &[usize]) -> Vec<NodeLoad> {
        let mut nodes = self.nodes.to_vec();
        for pod in gone.iter().map(|&at| &self.pods[at]) {
            if let Some(node) = pod.node {
                nodes[node].take(&pod.usage);
            }
        }
        nodes
    }

    fn next(
        &self,
        left: &[usize],
        nodes: &Departures,
        spread: &[Skew<'_>],
    ) -> Option<ScaleInVictim> {
        let mut candidates = left.to_vec();
        for skew in spread {
            skew.keep_best(&mut candidates);
        }
        let is_spread = candidates.len() < left.len();
        let over = |&at: &usize| {
            let node = self.pods[at].node;
            let nothing = Resources::default();
            node.is_some_and(|node| !headroom::fits(&nothing, nodes.node(node), self.headroom))
        };
        let is_over = candidates.iter().any(over);
        if is_over {
            candidates.retain(over);
        }
        let changes = candidates.into_iter().map(|at| {
            let pod = &self.pods[at];
            let change = pod.node.map_or(0.0, |node| nodes.change(node, &pod.usage));
            (change, pod.name, at)
        });
        let best = changes.min_by(|one, other| match one.0.total_cmp(&other.0) {
            Ordering::Equal => one.1.cmp(other.1),
            unequal => unequal,
        });
        let ground = match (is_over, is_spread) {
            (true, _) => DeletionBasis::Headroom,
            (false, true) => DeletionBasis::Spread,
            (false, false) => DeletionBasis::Balance,
        };
        best.map(|(_, _, pod)| ScaleInVictim { pod, ground })
    }
}

/// The cost of the Pod at a place: below 0, which every other Pod of the ReplicaSet has, and the
/// lower the earlier it goes.
pub fn cost(place: usize, of: usize) -> i32 {
    let after = of.saturating_sub(place).max(1);
    i32::try_from(after).map_or(i32::MIN, |after| -after)
}

#[cfg(test)]
mod tests;
