//! How a Pod is to be spread over domains such as zones: a `topologySpreadConstraint` cut down to
//! which Pods count, where, and how unevenly they may stand.

use evenkeel_label_selector::{LabelSelector, LabelSelectorRequirement, Selector};
use serde::Deserialize;

use crate::json::{list, null_is_default};
use crate::meta::AllLabels;
use crate::selector::WrittenSelector;

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "WrittenSpread")]
pub struct TopologySpread {
    /// The largest difference between two domains that is wanted.
    pub max_skew: u32,
    /// The label of nodes; each of its values is a domain.
    pub topology_key: String,
    /// True where a Pod that would break it is not scheduled at all.
    pub is_hard: bool,
    /// The Pods that count; without a selector none do.
    selector: Option<LabelSelector>,
    /// The keys of labels; the Pod's own values of them narrow the selector.
    match_label_keys: Vec<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct WrittenSpread {
    #[serde(deserialize_with = "null_is_default")]
    max_skew: i32,
    #[serde(deserialize_with = "null_is_default")]
    topology_key: String,
    #[serde(deserialize_with = "null_is_default")]
    when_unsatisfiable: String,
    label_selector: Option<WrittenSelector>,
    #[serde(deserialize_with = "list")]
    match_label_keys: Vec<String>,
}

impl Default for TopologySpread {
    fn default() -> Self {
        WrittenSpread::default().into()
    }
}

impl From<WrittenSpread> for TopologySpread {
    fn from(written: WrittenSpread) -> Self {
        let WrittenSpread {
            max_skew,
            topology_key,
            when_unsatisfiable,
            label_selector,
            match_label_keys,
        } = written;
        Self {
            // The API server accepts none below 1.
            max_skew: u32::try_from(max_skew).unwrap_or(0).max(1),
            topology_key,
            is_hard: when_unsatisfiable == "DoNotSchedule",
            selector: label_selector.map(LabelSelector::from),
            match_label_keys,
        }
    }
}

impl TopologySpread {
    /// True where the same Pods count beside one with these labels as beside the other.
    pub fn is_same_beside(&self, one: &AllLabels, other: &AllLabels) -> bool {
        let mut keys = self.match_label_keys.iter();
        keys.all(|key| one.get(key) == other.get(key))
    }

    /// The terms that a Pod's labels are compared with, values counted one by one.
    pub fn terms(&self) -> usize {
        let selector = self.selector.as_ref().map_or(0, |selector| {
            let values = selector.match_expressions.iter();
            let values = values.map(|expression| 1 + expression.values.len());
            selector.match_labels.len() + values.sum::<usize>()
        });
        selector + self.match_label_keys.len()
    }

    /// The selector of the Pods that count beside one with these labels. An invalid selector, which
    /// the API server refuses, selects nothing.
    pub fn selector(&self, labels: &AllLabels) -> Selector {
        let Some(mut selector) = self.selector.clone() else {
            return Selector::nothing();
        };
        // A key that the Pod does not have is left out, as kube-scheduler does.
        let known = self.match_label_keys.iter();
        let known = known.filter_map(|key| Some((key, labels.get(key)?)));
        let narrowed = known.map(|(key, value)| LabelSelectorRequirement {
            key: key.clone(),
            operator: "In".into(),
            values: vec![value.clone()],
        });
        selector.match_expressions.extend(narrowed);
        Selector::try_from(&selector).unwrap_or_else(|_| Selector::nothing())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn labels(of: &[(&str, &str)]) -> AllLabels {
        let owned = of
            .iter()
            .map(|(key, value)| ((*key).into(), (*value).into()));
        owned.collect()
    }

    #[test]
    fn who_counts_is_selected_and_narrowed_by_the_pods_own_labels() {
        let spread: TopologySpread = serde_json::from_value(json!({
            "maxSkew": 2, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "web"}},
            "matchLabelKeys": ["pod-template-hash", "absent"]}))
        .unwrap();
        assert_eq!((spread.max_skew, spread.is_hard), (2, true));
        let own = labels(&[("app", "web"), ("pod-template-hash", "1")]);
        let selector = spread.selector(&own);
        assert!(selector.matches(&own));
        assert!(!selector.matches(&labels(&[("app", "web"), ("pod-template-hash", "2")])));
        assert!(!selector.matches(&labels(&[("app", "db"), ("pod-template-hash", "1")])));
    }

    #[test]
    fn without_a_selector_nobody_counts() {
        let spread: TopologySpread =
            serde_json::from_value(json!({"topologyKey": "zone", "labelSelector": null})).unwrap();
        assert!(!spread.selector(&labels(&[])).matches(&labels(&[])));
        assert!(!spread.is_hard && spread.max_skew == 1);
    }
}
