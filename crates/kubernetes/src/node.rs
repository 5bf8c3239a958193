//! Nodes, with the fields that scheduling reads, and what a node can give.

use serde::{Deserialize, Deserializer};

use super::annotations::{self, DISK_IO_CAPACITY, InvalidAnnotation, NETWORK_CAPACITY};
use super::json::{list, null_is_default};
use super::meta::Meta;
use super::resource_list::ResourceList;
use evenkeel_core::units::{Amount, Resources};

/// A node.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Name and annotations.
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    /// What its operator wants of it.
    #[serde(deserialize_with = "null_is_default")]
    pub spec: NodeSpec,
    /// What it is.
    #[serde(deserialize_with = "null_is_default")]
    pub status: NodeStatus,
}

/// What the operator wants of a node.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeSpec {
    /// Whether it is cordoned.
    #[serde(deserialize_with = "null_is_default")]
    pub unschedulable: bool,
    /// Whether a taint keeps Pods away that do not tolerate it.
    #[serde(rename = "taints", deserialize_with = "repels")]
    pub tainted: bool,
}

fn repels<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct Taint {
        #[serde(deserialize_with = "null_is_default")]
        effect: String,
    }
    let taints: Vec<Taint> = list(deserializer)?;
    Ok(taints
        .iter()
        .any(|taint| matches!(taint.effect.as_str(), "NoSchedule" | "NoExecute")))
}

/// What a node is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// What it has for Pods.
    #[serde(deserialize_with = "null_is_default")]
    pub allocatable: ResourceList,
    /// Whether its kubelet says that it can take Pods.
    #[serde(rename = "conditions", deserialize_with = "is_ready")]
    pub ready: bool,
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

    /// Whether new Pods may go there: Ready, not cordoned, not being deleted.
    #[must_use]
    pub const fn is_schedulable(&self) -> bool {
        self.status.ready && !self.spec.unschedulable && self.metadata.deletion_timestamp.is_none()
    }
}

/// T of each resource as far as the node tells it, and its annotations that are not accepted.
///
/// Cpu, memory and disk are the allocatable ones; network and disk I/O stand in annotations.
#[must_use]
pub fn node_capacity(node: &Node) -> (Resources<Option<Amount>>, Vec<InvalidAnnotation>) {
    let mut invalid = Vec::new();
    let allocatable = &node.status.allocatable;
    let mut rate = |key| annotations::rate(&node.metadata.annotations, key, &mut invalid);
    let capacity = Resources::new([
        allocatable.cpu().map(Amount::from),
        allocatable.memory().map(Amount::from),
        rate(NETWORK_CAPACITY),
        rate(DISK_IO_CAPACITY),
        allocatable.ephemeral_storage().map(Amount::from),
    ]);
    (capacity, invalid)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn capacity_is_allocatable_and_annotated() {
        let node: Node = serde_json::from_value(json!({
            "metadata": {"name": "a", "annotations": {
                "evenkeel.dev/network-capacity": "10Gbps",
                "evenkeel.dev/disk-io-capacity": "fast",
            }},
            "status": {
                "allocatable": {"cpu": "3920m", "memory": "16Gi", "pods": "110",
                                "ephemeral-storage": "95491281146"},
                "capacity": {"cpu": "4"},
            },
        }))
        .unwrap();
        let (capacity, invalid) = node_capacity(&node);
        let expected = [
            Some(3920),
            Some(16 << 30),
            Some(1_250_000_000),
            None,
            Some(95_491_281_146),
        ];
        assert_eq!(
            capacity,
            Resources::new(expected).map(|t| t.map(Amount::new))
        );
        assert_eq!(invalid.len(), 1);
        assert_eq!(invalid[0].key, DISK_IO_CAPACITY);
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
