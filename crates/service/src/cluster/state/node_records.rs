//! Where the nodes themselves are reached, for what is asked of them and for what is measured at their
//! addresses.

use std::collections::BTreeMap;
use std::net::IpAddr;

use evenkeel_objects::node::Node;

/// Addresses of one node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NodeContact {
    pub name: Box<str>,
    /// Its InternalIPs.
    pub internal_ips: Box<[IpAddr]>,
    /// The port of its kubelet, where it tells one.
    pub kubelet_port: Option<u16>,
}

/// The contacts of all nodes, by name.
#[derive(Debug, Default)]
pub(super) struct NodeAddresses(BTreeMap<Box<str>, NodeContact>);

impl NodeAddresses {
    pub(super) fn insert(&mut self, node: &Node) {
        let name: Box<str> = node.name().into();
        let contact = NodeContact {
            name: name.clone(),
            internal_ips: node.status.internal_ips.clone(),
            kubelet_port: node.status.kubelet_port,
        };
        self.0.insert(name, contact);
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.0.remove(name);
    }

    /// All of them, in the order of their names.
    pub(super) fn all(&self) -> Vec<NodeContact> {
        self.0.values().cloned().collect()
    }

    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|name, _| keep(name));
    }
}
