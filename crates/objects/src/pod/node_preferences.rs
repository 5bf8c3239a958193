//! The preferred node terms of a Pod's affinity, as far as score terms depend on them: their weights
//! and the labels that they read.

use serde::Deserialize;
use serde::de::Deserializer;

use crate::json::{lenient, list, null_is_default};

/// A term of `preferredDuringSchedulingIgnoredDuringExecution`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreferredNodeTerm {
    /// 1 to 100; the API server refuses all else.
    pub weight: i32,
    /// The node labels that its expressions read.
    pub keys: Vec<String>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Affinity {
    #[serde(deserialize_with = "null_is_default")]
    node_affinity: NodeAffinity,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct NodeAffinity {
    #[serde(
        rename = "preferredDuringSchedulingIgnoredDuringExecution",
        deserialize_with = "list"
    )]
    preferred: Vec<WeightedTerm>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct WeightedTerm {
    #[serde(deserialize_with = "null_is_default")]
    weight: i32,
    #[serde(deserialize_with = "null_is_default")]
    preference: NodeSelectorTerm,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct NodeSelectorTerm {
    #[serde(deserialize_with = "list")]
    match_expressions: Vec<KeyExpression>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct KeyExpression {
    #[serde(deserialize_with = "null_is_default")]
    key: String,
}

/// The terms; none of an affinity that is malformed, which the API server refuses.
pub(super) fn preferred_terms<'de, D: Deserializer<'de>>(
    affinity: D,
) -> Result<Box<[PreferredNodeTerm]>, D::Error> {
    let affinity: Affinity = lenient(affinity)?.unwrap_or_default();
    let terms = affinity.node_affinity.preferred.into_iter();
    let term = |term: WeightedTerm| {
        let expressions = term.preference.match_expressions.into_iter();
        PreferredNodeTerm {
            weight: term.weight,
            keys: expressions.map(|expression| expression.key).collect(),
        }
    };
    Ok(terms.map(term).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::Pod;

    #[test]
    fn weights_and_keys_of_preferred_node_terms_are_read() {
        let expressions = json!([{"key": "a", "operator": "Exists"}, {"key": "b", "operator": "In", "values": ["1"]}]);
        let preferred = |terms: Value| json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": terms}});
        let by_field =
            json!({"weight": 7, "preference": {"matchFields": [{"key": "metadata.name"}]}});
        let by_label = json!({"weight": 25, "preference": {"matchExpressions": expressions}});
        let both = [(7, vec![]), (25, vec!["a", "b"])];
        for (affinity, expected) in [
            (Value::Null, &[][..]),
            (json!({"podAffinity": {}, "nodeAffinity": null}), &[]),
            (preferred(Value::Null), &[]),
            (preferred(json!([by_field, by_label])), &both),
            (json!("malformed"), &[]),
        ] {
            let pod: Pod = serde_json::from_value(json!({"spec": {"affinity": affinity}})).unwrap();
            let term = |(weight, keys): &(i32, Vec<&str>)| PreferredNodeTerm {
                weight: *weight,
                keys: keys.iter().map(|key| (*key).to_owned()).collect(),
            };
            let expected: Vec<_> = expected.iter().map(term).collect();
            assert_eq!(*pod.spec.preferred_node_terms, *expected, "{affinity}");
        }
    }

    #[test]
    fn gates_and_groups_are_seen() {
        for (spec, gated, grouped) in [
            (json!({}), false, false),
            (
                json!({"schedulingGates": null, "schedulingGroup": null}),
                false,
                false,
            ),
            (json!({"schedulingGates": [{"name": "x"}]}), true, false),
            (
                json!({"schedulingGroup": {"podGroupName": "g"}}),
                false,
                true,
            ),
            (json!({"workloadRef": {"name": "g"}}), false, true),
            (
                json!({"workloadRef": {}, "schedulingGroup": {}}),
                false,
                true,
            ),
        ] {
            let pod: Pod = serde_json::from_value(json!({"spec": spec})).unwrap();
            let found = (pod.spec.has_scheduling_gates, pod.is_in_scheduling_group());
            assert_eq!(found, (gated, grouped), "{spec}");
        }
    }
}
