//! The nodes as they were last read, besides their load: for writes to them, for what is asked of them,
//! and for what is measured at their addresses.

use std::net::IpAddr;
use std::sync::Arc;

use evenkeel_objects::node::Node;
use evenkeel_placement::plan::overload::TaintedNode;

/// Addresses of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeContact {
    pub name: Box<str>,
    /// Its InternalIPs.
    pub internal_ips: Box<[IpAddr]>,
    /// The port of its kubelet, where it tells one.
    pub kubelet_port: Option<u16>,
}

#[derive(Debug)]
pub(super) struct NodeRecord {
    pub(super) version: String,
    pub(super) contact: NodeContact,
    pub(super) tainted: Arc<TaintedNode>,
}

impl NodeRecord {
    /// The record of a node as it now is; most updates of one are of its status alone.
    pub(super) fn of(node: &Node, before: Option<Self>) -> Self {
        let seen = TaintedNode::of(node);
        let known = before.map(|before| before.tainted);
        let known = known.filter(|known| **known == seen);
        Self {
            version: node.metadata.resource_version.clone().unwrap_or_default(),
            contact: NodeContact {
                name: node.name().into(),
                internal_ips: node.status.internal_ips.clone(),
                kubelet_port: node.status.kubelet_port,
            },
            tainted: known.unwrap_or_else(|| Arc::new(seen)),
        }
    }
}
