//! Which labels a selector selects.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// True for labels that the selector selects; an empty selector selects all.
pub(super) fn selects(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let exact = selector.match_labels.iter().flatten();
    let expressions = selector.match_expressions.iter().flatten();
    exact
        .into_iter()
        .all(|(key, value)| labels.get(key) == Some(value))
        && expressions.into_iter().all(|one| fits(one, labels))
}

fn fits(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let listed = || {
        let values = requirement.values.as_deref().unwrap_or_default();
        value.is_some_and(|value| values.contains(value))
    };
    match requirement.operator.as_str() {
        "In" => listed(),
        "NotIn" => !listed(),
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_operator_is_known() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for (key, operator, values, expected) in [
            ("app", "In", json!(["web"]), true),
            ("app", "NotIn", json!(["web"]), false),
            ("tier", "NotIn", json!(["web"]), true),
            ("app", "Exists", json!(null), true),
            ("app", "DoesNotExist", json!(null), false),
            ("app", "Like", json!(["w*"]), false),
        ] {
            let expression = json!({"key": key, "operator": operator, "values": values});
            let selector = json!({"matchExpressions": [expression]});
            let selector: LabelSelector = serde_json::from_value(selector).unwrap();
            assert_eq!(selects(&selector, &labels), expected, "{key} {operator}");
        }
        assert!(selects(&LabelSelector::default(), &labels));
    }
}
