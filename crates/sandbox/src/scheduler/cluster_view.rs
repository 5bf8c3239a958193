//! The cluster as a scheduler sees it: nodes with the requests of their Pods, and whether it has
//! changed since a Pod was refused.

use std::collections::HashMap;
use std::collections::hash_map::DefaultHasher;
use std::hash::{Hash as _, Hasher as _};
use std::sync::Arc;

use evenkeel_objects as kubernetes;
use evenkeel_objects::pod_requests;
use evenkeel_objects::resource_list::ResourceList;
use evenkeel_units::{Amount, Resources};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt as _;

use crate::scheduler::plugins::{NodeRequest, PodRequest};

/// Digest of the state whose changes make kube-scheduler retry refused Pods, without heartbeats and
/// the progress of bound Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landscape(u64);

impl Landscape {
    pub(super) fn of(pods: &[Arc<Pod>], nodes: &[Arc<Node>]) -> Self {
        let mut hash = DefaultHasher::new();
        for pod in pods {
            let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            if let Some(node) = node {
                (pod.uid(), node, pod.metadata.deletion_timestamp.is_some()).hash(&mut hash);
            }
        }
        for node in nodes {
            node.name_any().hash(&mut hash);
            let spec = node.spec.as_ref();
            let status = node.status.as_ref();
            let seen = serde_json::json!([
                node.labels(),
                node.annotations(),
                spec.and_then(|spec| spec.taints.as_ref()),
                spec.and_then(|spec| spec.unschedulable),
                status.and_then(|status| status.allocatable.as_ref()),
            ]);
            seen.to_string().hash(&mut hash);
        }
        Self(hash.finish())
    }

    /// For one refused Pod: a new text in its own condition wakes it too.
    pub(super) fn with(self, pod: &Pod) -> Self {
        let mut hash = DefaultHasher::new();
        (self.0, condition(pod)).hash(&mut hash);
        Self(hash.finish())
    }
}

/// Reason and message of the condition that a Pod could not be scheduled.
pub(super) fn condition(pod: &Pod) -> Option<(&str, &str)> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let scheduled = conditions
        .iter()
        .find(|condition| condition.type_ == "PodScheduled" && condition.status == "False")?;
    Some((
        scheduled.reason.as_deref().unwrap_or_default(),
        scheduled.message.as_deref().unwrap_or_default(),
    ))
}

/// As the default plugins see it.
pub(super) fn request(pod: &Pod) -> PodRequest {
    let spec = pod.spec.clone().unwrap_or_default();
    PodRequest {
        requests: requested(&slim(pod)),
        node_name: None,
        selector: spec.node_selector.unwrap_or_default(),
        affinity: spec
            .affinity
            .and_then(|affinity| affinity.node_affinity)
            .unwrap_or_default(),
        tolerations: spec.tolerations.unwrap_or_default(),
        spread_with: match spec.topology_spread_constraints {
            Some(own) if !own.is_empty() => None,
            _ => spread_controller(pod),
        },
    }
}

/// The UID of the controller whose Pods kube-scheduler spreads by default.
fn spread_controller(pod: &Pod) -> Option<Arc<str>> {
    let mut owners = pod.owner_references().iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    let is_spread = matches!(
        (owner.api_version.as_str(), owner.kind.as_str()),
        ("apps/v1", "ReplicaSet" | "StatefulSet") | ("v1", "ReplicationController")
    );
    is_spread.then(|| owner.uid.as_str().into())
}

/// Computed once for each version of a Pod, because each placed Pod looks at all of many.
#[derive(Default)]
pub(super) struct PodRequestCache(HashMap<String, (String, Resources<Amount>)>);

impl PodRequestCache {
    pub(super) fn views(
        &mut self,
        nodes: &[Arc<Node>],
        pods: &[Arc<Pod>],
        assumed: &HashMap<String, (String, Timestamp)>,
    ) -> Vec<NodeRequest> {
        let mut views: Vec<NodeRequest> = nodes.iter().map(|node| view(node)).collect();
        let mut known = HashMap::new();
        for pod in pods {
            let phase = pod
                .status
                .as_ref()
                .and_then(|status| status.phase.as_deref());
            if matches!(phase, Some("Succeeded" | "Failed")) {
                continue;
            }
            let uid = pod.uid().unwrap_or_default();
            let bound = pod.spec.as_ref().and_then(|spec| spec.node_name.as_ref());
            let node = bound.or_else(|| assumed.get(&uid).map(|(node, _)| node));
            let Some(view) = node.and_then(|name| views.iter_mut().find(|view| view.name == *name))
            else {
                continue;
            };
            let version = pod.resource_version().unwrap_or_default();
            let asked = match self.0.remove(&uid) {
                Some((of, asked)) if of == version => asked,
                _ => requested(&slim(pod)),
            };
            let is_leaving = pod.metadata.deletion_timestamp.is_some();
            let spread_with = (!is_leaving).then(|| spread_controller(pod)).flatten();
            view.add(&asked, spread_with.as_ref());
            known.insert(uid, (version, asked));
        }
        self.0 = known;
        views
    }
}

fn view(node: &Node) -> NodeRequest {
    let value = serde_json::to_value(node).unwrap_or_default();
    let slim: kubernetes::node::Node = serde_json::from_value(value).unwrap_or_default();
    let spec = node.spec.clone().unwrap_or_default();
    let allocatable = node
        .status
        .as_ref()
        .and_then(|status| status.allocatable.as_ref());
    let pods = allocatable.and_then(|list| list.get("pods")?.0.parse().ok());
    NodeRequest {
        name: node.name_any(),
        labels: node.labels().clone(),
        taints: spec.taints.unwrap_or_default(),
        unschedulable: spec.unschedulable.unwrap_or(false),
        allocatable: amounts(&slim.status.allocatable),
        max_pods: pods.unwrap_or(0),
        ..NodeRequest::default()
    }
}

fn requested(pod: &kubernetes::pod::Pod) -> Resources<Amount> {
    amounts(&pod_requests::effective(&pod.spec))
}

fn amounts(list: &ResourceList) -> Resources<Amount> {
    let amount = |amount: Option<Amount>| amount.unwrap_or_default();
    Resources::new([
        amount(list.cpu().map(Amount::from)),
        amount(list.memory().map(Amount::from)),
        Amount::ZERO,
        Amount::ZERO,
        amount(list.ephemeral_storage().map(Amount::from)),
    ])
}

fn slim(pod: &Pod) -> kubernetes::pod::Pod {
    let value = serde_json::to_value(pod).unwrap_or_default();
    serde_json::from_value(value).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn pod(value: &Value) -> Arc<Pod> {
        let mut pod = json!({"metadata": {"name": "a", "uid": "u"}, "spec": {"containers": []}});
        json_patch::merge(&mut pod, value);
        Arc::new(serde_json::from_value(pod).unwrap())
    }

    fn node(value: &Value) -> Arc<Node> {
        let mut node = json!({"metadata": {"name": "n"}});
        json_patch::merge(&mut node, value);
        Arc::new(serde_json::from_value(node).unwrap())
    }

    #[test]
    fn bindings_and_changes_of_nodes_wake_refused_pods_and_heartbeats_do_not() {
        let (waiting, plain) = (pod(&json!({})), node(&json!({})));
        let before = Landscape::of(&[Arc::clone(&waiting)], &[Arc::clone(&plain)]);
        for (pods, nodes, wakes) in [
            (vec![], vec![node(&json!({}))], false),
            (
                vec![],
                vec![node(
                    &json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                )],
                false,
            ),
            (
                vec![],
                vec![node(&json!({"metadata": {"annotations": {"a": "b"}}}))],
                true,
            ),
            (
                vec![],
                vec![node(&json!({"spec": {"unschedulable": true}}))],
                true,
            ),
            (
                vec![pod(&json!({"spec": {"nodeName": "n"}}))],
                vec![node(&json!({}))],
                true,
            ),
        ] {
            assert_eq!(
                Landscape::of(&pods, &nodes) != before,
                wakes,
                "{pods:?} {nodes:?}"
            );
        }
    }

    #[test]
    fn a_pod_is_woken_by_its_own_condition_when_the_text_changes() {
        let told = |message: &str| {
            pod(&json!({"status": {"conditions": [
                {"type": "PodScheduled", "status": "False", "message": message},
            ]}}))
        };
        let landscape = Landscape::of(&[], &[]);
        assert_eq!(landscape.with(&told("x")), landscape.with(&told("x")));
        assert_ne!(landscape.with(&told("x")), landscape.with(&told("y")));
        assert_ne!(landscape.with(&told("x")), landscape.with(&pod(&json!({}))));
    }
}
