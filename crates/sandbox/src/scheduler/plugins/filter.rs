//! Why a node does not take a Pod, in kube-scheduler's words.

use std::borrow::Cow;

use evenkeel_units::{Amount, Resource};
use k8s_openapi::api::core::v1::{Taint, Toleration};

use super::{NodeRequest, PodRequest, affinity};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct NodeRefusal {
    pub text: Cow<'static, str>,
    /// Evicting Pods could change it.
    pub resolvable: bool,
}

impl NodeRefusal {
    /// No eviction changes it.
    pub fn unresolvable(text: impl Into<Cow<'static, str>>) -> Self {
        Self {
            text: text.into(),
            resolvable: false,
        }
    }

    fn resolvable(text: &'static str) -> Self {
        Self {
            text: text.into(),
            resolvable: true,
        }
    }
}

/// Reasons of the first plugin that refuses; empty if the node takes the Pod.
pub fn refusals(pod: &PodRequest, node: &NodeRequest) -> Vec<NodeRefusal> {
    if node.unschedulable && !is_tolerated(&cordon(), &pod.tolerations) {
        return vec![NodeRefusal::unresolvable("node(s) were unschedulable")];
    }
    let named = pod.node_name.as_deref();
    if named.is_some_and(|name| name != node.name) {
        let text = "node(s) didn't match the requested node name";
        return vec![NodeRefusal::unresolvable(text)];
    }
    if let Some(taint) = untolerated(pod, node) {
        let value = taint.value.as_deref().unwrap_or_default();
        let text = format!("node(s) had untolerated taint {{{}: {value}}}", taint.key);
        return vec![NodeRefusal::unresolvable(text)];
    }
    if !affinity::required(pod, node) {
        let text = "node(s) didn't match Pod's node affinity/selector";
        return vec![NodeRefusal::unresolvable(text)];
    }
    fit(pod, node)
}

/// Stands for `unschedulable`.
fn cordon() -> Taint {
    Taint {
        key: "node.kubernetes.io/unschedulable".to_owned(),
        effect: "NoSchedule".to_owned(),
        ..Taint::default()
    }
}

fn fit(pod: &PodRequest, node: &NodeRequest) -> Vec<NodeRefusal> {
    let crowded = node.pods >= node.max_pods;
    let crowded = crowded.then(|| NodeRefusal::resolvable("Too many pods"));
    let lacking = [
        (Resource::Cpu, "Insufficient cpu"),
        (Resource::Memory, "Insufficient memory"),
        (Resource::Disk, "Insufficient ephemeral-storage"),
    ];
    let lacking = lacking
        .into_iter()
        .filter(|(resource, _)| {
            let free = node.allocatable[*resource].saturating_sub(node.requested[*resource]);
            let asked = pod.requests[*resource];
            asked > Amount::ZERO && asked > free
        })
        .map(|(_, text)| NodeRefusal::resolvable(text));
    crowded.into_iter().chain(lacking).collect()
}

fn untolerated<'n>(pod: &PodRequest, node: &'n NodeRequest) -> Option<&'n Taint> {
    node.taints.iter().find(|taint| {
        matches!(&*taint.effect, "NoSchedule" | "NoExecute")
            && !is_tolerated(taint, &pod.tolerations)
    })
}

pub(super) fn is_tolerated(taint: &Taint, tolerations: &[Toleration]) -> bool {
    tolerations.iter().any(|toleration| {
        let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
        let effect = given(&toleration.effect).is_none_or(|effect| effect == taint.effect);
        let key = given(&toleration.key).is_none_or(|key| key == taint.key);
        let any_value = toleration.operator.as_deref() == Some("Exists");
        let value = toleration.value.as_deref().unwrap_or_default()
            == taint.value.as_deref().unwrap_or_default();
        effect && key && (any_value || (given(&toleration.key).is_some() && value))
    })
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Resources;
    use serde_json::{Value, json};

    use super::*;

    fn node() -> NodeRequest {
        NodeRequest {
            name: "a".to_owned(),
            labels: [("disk".to_owned(), "ssd".to_owned())].into(),
            allocatable: Resources::from_fn(|_| Amount::new(1000)),
            max_pods: 1,
            ..NodeRequest::default()
        }
    }

    fn texts(pod: &PodRequest, node: &NodeRequest) -> Vec<String> {
        let refusals = refusals(pod, node);
        refusals
            .iter()
            .map(|refusal| refusal.text.to_string())
            .collect()
    }

    #[test]
    fn each_plugin_refuses_in_the_words_of_kubernetes() {
        let fits = PodRequest::default();
        assert!(texts(&fits, &node()).is_empty());
        let cordoned = NodeRequest {
            unschedulable: true,
            ..node()
        };
        assert_eq!(texts(&fits, &cordoned), ["node(s) were unschedulable"]);
        let named = PodRequest {
            node_name: Some("b".to_owned()),
            ..PodRequest::default()
        };
        assert_eq!(
            texts(&named, &node()),
            ["node(s) didn't match the requested node name"]
        );
        let selects = PodRequest {
            selector: [("disk".to_owned(), "hdd".to_owned())].into(),
            ..PodRequest::default()
        };
        assert_eq!(
            texts(&selects, &node()),
            ["node(s) didn't match Pod's node affinity/selector"]
        );
        let taints = vec![
            serde_json::from_value(json!({"key": "gpu", "value": "yes", "effect": "NoSchedule"}))
                .unwrap(),
        ];
        let tainted = NodeRequest { taints, ..node() };
        assert_eq!(
            texts(&fits, &tainted),
            ["node(s) had untolerated taint {gpu: yes}"]
        );
    }

    #[test]
    fn what_is_lacking_is_named_each() {
        let mut full = node();
        full.add(&Resources::from_fn(|_| Amount::new(900)), None);
        let pod = PodRequest {
            requests: Resources::from_fn(|resource| {
                Amount::new(if resource == Resource::Memory {
                    100
                } else {
                    101
                })
            }),
            ..PodRequest::default()
        };
        let expected = [
            "Too many pods",
            "Insufficient cpu",
            "Insufficient ephemeral-storage",
        ];
        assert_eq!(texts(&pod, &full), expected);
        assert!(
            refusals(&pod, &full)
                .iter()
                .all(|refusal| refusal.resolvable)
        );
    }

    #[test]
    fn tolerations_are_matched_as_documented() {
        let taint: Taint =
            serde_json::from_value(json!({"key": "k", "value": "v", "effect": "NoSchedule"}))
                .unwrap();
        let tolerates = |toleration: Value| {
            is_tolerated(&taint, &[serde_json::from_value(toleration).unwrap()])
        };
        for (toleration, expected) in [
            (json!({"operator": "Exists"}), true),
            (json!({"key": "k", "operator": "Exists"}), true),
            (
                json!({"key": "k", "operator": "Exists", "effect": "NoExecute"}),
                false,
            ),
            (json!({"key": "k", "value": "v"}), true),
            (
                json!({"key": "k", "operator": "Equal", "value": "w"}),
                false,
            ),
            (json!({"key": "l", "operator": "Exists"}), false),
            (json!({"value": "v"}), false),
        ] {
            assert_eq!(tolerates(toleration.clone()), expected, "{toleration}");
        }
    }
}
