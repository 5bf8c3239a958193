//! The nodes with their taints, as the leader plans by them and explanations show them.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_objects::node::Node;
use evenkeel_placement::plan::overload::TaintedNode;

use super::ClusterState;
use super::placement_state::PlacementState;

impl PlacementState {
    /// Takes the taints of a node; most updates of one are of its status alone.
    pub(super) fn follow_taints(&mut self, node: &Node) {
        let seen = TaintedNode::of(node);
        let known = self.tainted.get(node.name());
        if known.is_none_or(|known| **known != seen) {
            self.tainted.insert(node.name().into(), Arc::new(seen));
        }
    }
}

impl ClusterState {
    /// All nodes as their taints are planned by, in no order.
    pub(crate) fn tainted_nodes(&self) -> Vec<Arc<TaintedNode>> {
        self.lock().tainted.values().cloned().collect()
    }

    /// The taints of Evenkeel by node, written as `KEY=VALUE:EFFECT`.
    pub fn overloaded(&self) -> BTreeMap<String, String> {
        let nodes = self.tainted_nodes();
        let own = nodes.iter().filter_map(|node| {
            let taint = node.taints.own().into_iter().next()?;
            Some((node.name().to_owned(), taint))
        });
        own.collect()
    }
}
