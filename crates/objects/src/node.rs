//! Nodes, with the fields that scheduling reads, and the capacity that they give.

use core::net::IpAddr;
use std::collections::BTreeMap; // addresses alone, without the sockets of `std::net`

use evenkeel_quantity::Quantity;
use evenkeel_units::{Amount, Bytes, MilliCpu, Resource, Resources};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::annotations;
use super::annotations::{CONTROL_PLANE, DISK_IO_CAPACITY, InvalidAnnotation, NETWORK_CAPACITY};
use super::capacities::Capacities;
use super::json::{list, null_is_default};
use super::meta::{AllLabels, Meta};
use super::resource_list::ResourceList;
use super::taint::Taints;
use crate::node_facts::NodeFacts;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenNode")]
pub struct Node {
    pub metadata: Meta,
    /// All of its labels, since the configuration may tell capacities by any.
    pub labels: AllLabels,
    pub spec: NodeSpec,
    pub status: NodeStatus,
}

/// A node as the API server shows it.
#[derive(Default, Deserialize)]
#[serde(default)]
struct WrittenNode {
    #[serde(deserialize_with = "null_is_default")]
    metadata: Meta<AllLabels>,
    #[serde(deserialize_with = "null_is_default")]
    spec: NodeSpec,
    #[serde(deserialize_with = "null_is_default")]
    status: NodeStatus,
}

impl From<WrittenNode> for Node {
    fn from(node: WrittenNode) -> Self {
        let WrittenNode {
            metadata,
            spec,
            status,
        } = node;
        let (metadata, labels) = metadata.split();
        Self {
            metadata,
            labels,
            spec,
            status,
        }
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// True while it is cordoned.
    #[serde(deserialize_with = "null_is_default")]
    pub unschedulable: bool,
    #[serde(deserialize_with = "null_is_default")]
    pub taints: Taints,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    #[serde(deserialize_with = "null_is_default")]
    pub allocatable: ResourceList,
    #[serde(deserialize_with = "null_is_default")]
    pub capacity: NodeCapacity,
    /// True while its kubelet says that it can take Pods.
    #[serde(rename = "conditions", deserialize_with = "is_ready")]
    pub ready: bool,
    /// Its InternalIPs, in the object's order: one of each family, more with several networks.
    #[serde(rename = "addresses", deserialize_with = "internal_ips")]
    pub internal_ips: Box<[IpAddr]>,
    #[serde(rename = "daemonEndpoints", deserialize_with = "kubelet_port")]
    pub kubelet_port: Option<u16>,
}

fn internal_ips<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Box<[IpAddr]>, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Address {
        #[serde(rename = "type", deserialize_with = "null_is_default")]
        kind: String,
        #[serde(deserialize_with = "null_is_default")]
        address: String,
    }
    let addresses: Vec<Address> = list(deserializer)?;
    let internal = addresses.iter().filter(|one| one.kind == "InternalIP");
    Ok(internal
        .filter_map(|one| one.address.parse().ok())
        .collect())
}

fn kubelet_port<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u16>, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Endpoint {
        #[serde(rename = "Port", deserialize_with = "null_is_default")]
        port: u16,
    }
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Endpoints {
        #[serde(rename = "kubeletEndpoint", deserialize_with = "null_is_default")]
        kubelet: Endpoint,
    }
    let endpoints: Endpoints = null_is_default(deserializer)?;
    Ok(Some(endpoints.kubelet.port).filter(|port| *port > 0))
}

/// All that a node has, what the system keeps for itself included.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct NodeCapacity {
    cpu: Option<MilliCpu>,
    /// Less the pools of huge pages, which nothing else can use.
    memory: Option<Bytes>,
}

impl<'de> Deserialize<'de> for NodeCapacity {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let told: BTreeMap<String, Option<Value>> = BTreeMap::deserialize(deserializer)?;
        let quantity = |name: &str| {
            let written = told.get(name)?.as_ref()?;
            let text = written
                .as_str()
                .map_or_else(|| written.to_string(), str::to_owned);
            text.parse::<Quantity>().ok()
        };
        let pools = told.keys().filter(|name| name.starts_with("hugepages-"));
        let pools = pools.filter_map(|name| Some(quantity(name)?.ceil()));
        let pools = pools.fold(0, u64::saturating_add);
        Ok(Self {
            cpu: quantity("cpu").map(|cpu| MilliCpu(cpu.milli_ceil())),
            memory: quantity("memory").map(|all| Bytes(all.ceil().saturating_sub(pools))),
        })
    }
}

fn is_ready<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Condition {
        #[serde(rename = "type", deserialize_with = "null_is_default")]
        kind: String,
        #[serde(deserialize_with = "null_is_default")]
        status: String,
    }
    let conditions: Vec<Condition> = list(deserializer)?;
    let mut ready = conditions
        .iter()
        .filter(|condition| condition.kind == "Ready");
    Ok(ready.any(|condition| condition.status == "True"))
}

impl Node {
    /// The name; empty where there is none.
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// True where new Pods may go: it is Ready, not cordoned and not being deleted.
    pub const fn is_schedulable(&self) -> bool {
        self.status.ready && !self.spec.unschedulable && self.metadata.deletion_timestamp.is_none()
    }

    /// True where the cluster's own parts run.
    pub fn is_of_control_plane(&self) -> bool {
        CONTROL_PLANE
            .iter()
            .any(|role| self.labels.contains_key(*role) || self.spec.taints.have(role))
    }
}

/// The node facts that placement reads, and the invalid annotations. T of disk, and of cpu and
/// memory without measurements, is what is allocatable; measurements of cpu and memory are of the
/// whole node, so their T is the node's capacity. T of network and disk I/O comes from annotations,
/// or else from `told`.
pub fn node_facts(node: &Node, told: &Capacities) -> (NodeFacts, Vec<InvalidAnnotation>) {
    let mut invalid = Vec::new();
    let allocatable = &node.status.allocatable;
    let mut rate = |key| annotations::rate(&node.metadata.annotations, key, &mut invalid);
    let own = Resources::new([
        allocatable.cpu().map(Amount::from),
        allocatable.memory().map(Amount::from),
        rate(NETWORK_CAPACITY),
        rate(DISK_IO_CAPACITY),
        allocatable.ephemeral_storage().map(Amount::from),
    ]);
    let labelled = told.of_labels(&node.labels);
    let own = Resources::from_fn(|resource| own[resource].or(labelled[resource]));
    let default = told.default_capacity();
    let facts = NodeFacts {
        capacity: Resources::from_fn(|resource| own[resource].or(default[resource])),
        whole: Resources::new([
            node.status.capacity.cpu.map(Amount::from),
            node.status.capacity.memory.map(Amount::from),
            None,
            None,
            None,
        ]),
        created: node.metadata.creation_timestamp,
        network_is_default: own[Resource::NetworkIo].is_none(),
        schedulable: node.is_schedulable(),
        tainted: node.spec.taints.repel(),
    };
    (facts, invalid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::capacities::LabelledCapacity;

    #[test]
    fn capacity_is_allocatable_or_annotated_or_the_default() {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "a", "annotations": {
                "evenkeel.dev/network-capacity": "10Gbps",
                "evenkeel.dev/disk-io-capacity": "fast",
            }},
            "status": {
                "allocatable": {"cpu": "3920m", "memory": "16Gi", "pods": "110",
                                "ephemeral-storage": "95491281146"},
                "capacity": {"cpu": "4", "memory": "20Gi", "hugepages-2Mi": "1Gi",
                             "hugepages-1Gi": "2Gi", "pods": 110, "example.com/odd": {}},
            },
        }))
        .unwrap();
        let amounts = |values: [Option<u64>; 5]| Resources::new(values).map(|t| t.map(Amount::new));
        let (disk, network) = (Some(95_491_281_146), Some(1_250_000_000));
        for (default, disk_io) in [(None, None), (Some(7), Some(7))] {
            let told = Capacities::new(Vec::new(), amounts([default; 5]));
            let (facts, invalid) = node_facts(&node, &told);
            let expected = amounts([Some(3920), Some(16 << 30), network, disk_io, disk]);
            assert_eq!(facts.capacity, expected);
            let whole = amounts([Some(4000), Some(17 << 30), None, None, None]);
            assert_eq!(facts.whole, whole);
            assert!(!facts.network_is_default && !facts.schedulable);
            assert_eq!(invalid.len(), 1);
            assert_eq!(invalid[0].key, DISK_IO_CAPACITY);
        }
    }

    #[test]
    fn a_type_of_machine_is_described_once_and_the_nodes_own_word_goes_first() {
        let rates = |network: Option<u64>, disk: Option<u64>| {
            let mut rates = Resources::default();
            rates[Resource::NetworkIo] = network.map(Amount::new);
            rates[Resource::DiskIo] = disk.map(Amount::new);
            rates
        };
        let of = |labels: &[(&str, &str)], capacity| LabelledCapacity {
            match_labels: labels
                .iter()
                .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()))
                .collect(),
            capacity,
        };
        let told = Capacities::new(
            vec![
                of(&[("type", "m5"), ("zone", "a")], rates(Some(1), None)),
                of(&[("type", "m5")], rates(Some(2), Some(3))),
            ],
            rates(Some(8), Some(9)),
        );
        for (labels, annotations, network, disk, is_default) in [
            (json!({"type": "m5", "zone": "a"}), json!({}), 1, 9, false),
            (json!({"type": "m5", "zone": "b"}), json!({}), 2, 3, false),
            (json!({"type": "c5"}), json!({}), 8, 9, true),
            (json!(null), json!(null), 8, 9, true),
            (
                json!({"type": "m5"}),
                json!({"evenkeel.dev/network-capacity": "7"}),
                7,
                3,
                false,
            ),
        ] {
            let node = json!({"metadata": {"labels": labels, "annotations": annotations}});
            let node: Node = serde_json::from_value(node).unwrap();
            let (facts, _) = node_facts(&node, &told);
            assert_eq!(facts.capacity, rates(Some(network), Some(disk)), "{labels}");
            assert_eq!(facts.network_is_default, is_default, "{labels}");
        }
    }

    #[test]
    fn addresses_and_port_of_the_kubelet_are_those_of_the_status() {
        let status = |status: serde_json::Value| {
            let node: Node = serde_json::from_value(json!({"status": status})).unwrap();
            (node.status.internal_ips, node.status.kubelet_port)
        };
        let addresses = json!([
            {"type": "Hostname", "address": "10.9.9.9"},
            {"type": "InternalIP", "address": "10.0.0.1"},
            {"type": "ExternalIP", "address": "192.0.2.1"},
            {"type": "InternalIP", "address": "fd00::1"},
            {"type": "InternalIP", "address": "10.1.0.1"},
            {"type": "InternalIP", "address": "172.16.0.1"},
        ]);
        let port = json!({"kubeletEndpoint": {"Port": 10250}});
        let ips = |texts: &[&str]| texts.iter().map(|text| text.parse().unwrap()).collect();
        assert_eq!(
            status(json!({"addresses": addresses, "daemonEndpoints": port})),
            (
                ips(&["10.0.0.1", "fd00::1", "10.1.0.1", "172.16.0.1"]),
                Some(10250)
            )
        );
        let odd = json!([{"type": "InternalIP", "address": "node-1"}]);
        assert_eq!(
            status(json!({"addresses": odd, "daemonEndpoints": {"kubeletEndpoint": null}})),
            (ips(&[]), None)
        );
        let nulls = json!({"addresses": null, "daemonEndpoints": null});
        assert_eq!(status(nulls), (ips(&[]), None));
    }

    #[test]
    fn a_node_is_schedulable_when_ready_and_not_cordoned_or_deleted() {
        for (ready, unschedulable, deleted, schedulable) in [
            (json!("True"), json!(null), json!(null), true),
            (json!("True"), json!(false), json!(null), true),
            (json!("False"), json!(false), json!(null), false),
            (json!("Unknown"), json!(false), json!(null), false),
            (json!(null), json!(false), json!(null), false),
            (json!("True"), json!(true), json!(null), false),
            (
                json!("True"),
                json!(false),
                json!("2026-01-01T00:00:00Z"),
                false,
            ),
        ] {
            let text = format!("{ready} {unschedulable} {deleted}");
            let node: Node = serde_json::from_value(json!({
                "metadata": {"deletionTimestamp": deleted},
                "spec": {"unschedulable": unschedulable},
                "status": {"conditions": [
                    {"type": "MemoryPressure", "status": "True"}, {"type": "Ready", "status": ready}
                ]},
            }))
            .unwrap();
            assert_eq!(node.is_schedulable(), schedulable, "{text}");
        }
        let nothing: Node = serde_json::from_value(json!({"spec": null, "status": null})).unwrap();
        assert_eq!(nothing, Node::default());
        assert!(!nothing.is_schedulable());
    }
}
