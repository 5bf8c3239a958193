//! Node selectors and node affinity.

use std::collections::BTreeMap;

use evenkeel_label_selector::Requirement;
use k8s_openapi::api::core::v1::{NodeSelectorRequirement, NodeSelectorTerm};

use super::{NodeRequest, PodRequest};

pub(super) fn required(pod: &PodRequest, node: &NodeRequest) -> bool {
    let selected = pod
        .selector
        .iter()
        .all(|(key, value)| node.labels.get(key) == Some(value));
    let required = &pod
        .affinity
        .required_during_scheduling_ignored_during_execution;
    let wanted = required.as_ref().is_none_or(|selector| {
        let mut terms = selector.node_selector_terms.iter();
        terms.any(|term| matches_term(term, node))
    });
    selected && wanted
}

/// Sum of the weights of met preferences.
pub(super) fn preferred(pod: &PodRequest, node: &NodeRequest) -> i64 {
    let preferences = &pod
        .affinity
        .preferred_during_scheduling_ignored_during_execution;
    let met = preferences
        .iter()
        .flatten()
        .filter(|term| matches_term(&term.preference, node));
    met.map(|term| i64::from(term.weight)).sum()
}

/// A term without any requirement matches nothing.
fn matches_term(term: &NodeSelectorTerm, node: &NodeRequest) -> bool {
    let fields: BTreeMap<String, String> = [("metadata.name".to_owned(), node.name.clone())].into();
    let expressions = term.match_expressions.as_deref().unwrap_or_default();
    let names = term.match_fields.as_deref().unwrap_or_default();
    let meets = |requirements: &[NodeSelectorRequirement], labels| {
        requirements
            .iter()
            .all(|requirement| meets(requirement, labels))
    };
    !(expressions.is_empty() && names.is_empty())
        && meets(expressions, &node.labels)
        && meets(names, &fields)
}

/// An unknown operator is not met.
fn meets(requirement: &NodeSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let NodeSelectorRequirement {
        key,
        operator,
        values,
    } = requirement;
    let values = values.as_deref().unwrap_or_default();
    Requirement::of_node(key, operator, values).is_ok_and(|requirement| requirement.matches(labels))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn operators_mean_what_kubernetes_documents() {
        let labels = [("zone", "a"), ("cores", "8")];
        let node = NodeRequest {
            name: "n1".to_owned(),
            labels: labels
                .map(|(key, value)| (key.to_owned(), value.to_owned()))
                .into(),
            ..NodeRequest::default()
        };
        let matches = |term: Value| matches_term(&serde_json::from_value(term).unwrap(), &node);
        for (key, operator, values, expected) in [
            ("zone", "In", vec!["a", "b"], true),
            ("zone", "In", vec!["b"], false),
            ("zone", "NotIn", vec!["b"], true),
            ("rack", "NotIn", vec!["b"], true),
            ("zone", "Exists", vec![], true),
            ("rack", "DoesNotExist", vec![], true),
            ("cores", "Gt", vec!["7"], true),
            ("cores", "Gt", vec!["8"], false),
            ("cores", "Lt", vec!["9"], true),
            ("zone", "Lt", vec!["9"], false),
        ] {
            let requirement = json!({"key": key, "operator": operator, "values": values});
            let term = json!({"matchExpressions": [requirement]});
            assert_eq!(matches(term), expected, "{key} {operator} {values:?}");
        }
        let named = |name: &str| {
            let field = json!({"key": "metadata.name", "operator": "In", "values": [name]});
            matches(json!({"matchFields": [field]}))
        };
        assert!(named("n1") && !named("n2") && !matches(json!({})));
    }
}
