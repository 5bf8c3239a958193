//! The nodes with their taints, as the leader plans by them and explanations show them.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_placement::plan::overload::TaintedNode;

use super::ClusterState;

impl ClusterState {
    /// All nodes as their taints are planned by, in no order.
    pub(crate) fn tainted_nodes(&self) -> Vec<Arc<TaintedNode>> {
        let inner = self.lock();
        let nodes = inner.nodes.values();
        nodes.map(|node| Arc::clone(&node.tainted)).collect()
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
