//! Nodes, with the fields that scheduling reads, and the capacity that they give.

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::annotations::{
    self, CONTROL_PLANE, DISK_IO_CAPACITY, InvalidAnnotation, NETWORK_CAPACITY,
};
use super::json::{list, null_is_default};
use super::meta::Meta;
use super::resource_list::ResourceList;
use super::taint::Taints;
use evenkeel_core::placement::node_table::NodeFacts;
use evenkeel_core::units::{Amount, Bytes, MilliCpu, Quantity, Resource, Resources};

/// A node, cut down to the fields that rules read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Node {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    pub spec: NodeSpec,
    #[serde(deserialize_with = "null_is_default")]
    pub status: NodeStatus,
}

/// The specification of a node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// True while it is cordoned.
    #[serde(deserialize_with = "null_is_default")]
    pub unschedulable: bool,
    #[serde(deserialize_with = "null_is_default")]
    pub taints: Taints,
}

/// The state of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// The resources that it has for Pods.
    #[serde(deserialize_with = "null_is_default")]
    pub allocatable: ResourceList,
    /// All that it has.
    #[serde(deserialize_with = "null_is_default")]
    pub capacity: NodeCapacity,
    /// True while its kubelet says that it can take Pods.
    #[serde(rename = "conditions", deserialize_with = "is_ready")]
    pub ready: bool,
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
    #[must_use]
    pub fn name(&self) -> &str {
        self.metadata.name.as_deref().unwrap_or_default()
    }

    /// True where new Pods may go: it is Ready, not cordoned and not being deleted.
    #[must_use]
    pub const fn is_schedulable(&self) -> bool {
        self.status.ready && !self.spec.unschedulable && self.metadata.deletion_timestamp.is_none()
    }

    /// True where the cluster's own parts run.
    #[must_use]
    pub fn is_of_control_plane(&self) -> bool {
        CONTROL_PLANE
            .iter()
            .any(|role| self.metadata.labels.contains_key(*role) || self.spec.taints.have(role))
    }
}

/// The facts about a node that placement reads, and its annotations that are not accepted.
///
/// The capacity T of cpu, memory and disk is what the node can allocate, and where cpu and memory are
/// measured, which is of the node as a whole, what it has; that of network and disk I/O stands in
/// annotations. `defaults` applies where the node says nothing.
#[must_use]
pub fn node_facts(
    node: &Node,
    defaults: &Resources<Option<Amount>>,
) -> (NodeFacts, Vec<InvalidAnnotation>) {
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
    let facts = NodeFacts {
        capacity: Resources::from_fn(|resource| own[resource].or(defaults[resource])),
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
            let (facts, invalid) = node_facts(&node, &amounts([default; 5]));
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
