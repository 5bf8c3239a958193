//! PodDisruptionBudgets, as far as they say which Pods may go now.

use std::collections::BTreeMap;

use evenkeel_label_selector::{LabelSelector, Selector};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde::Deserialize;

use crate::json::{lenient, null_is_default};
use crate::meta::Meta;
use crate::selector::WrittenSelector;

#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(from = "DisruptionBudgetJson")]
pub struct DisruptionBudget {
    pub metadata: Meta,
    /// The Pods that it is about; `None` where it selects none.
    selector: Option<Selector>,
    /// The Pods that may still go, as its controller last saw; 0 while that was another version.
    allowed: u32,
    /// The Pods that are to be healthy, of how many that it is about.
    wanted: Option<[u32; 2]>,
    /// True where its spec lets none go, however many there are.
    is_absolute: bool,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct DisruptionBudgetJson {
    #[serde(deserialize_with = "null_is_default")]
    metadata: Meta,
    #[serde(deserialize_with = "null_is_default")]
    spec: DisruptionBudgetSpec,
    #[serde(deserialize_with = "null_is_default")]
    status: DisruptionBudgetStatus,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DisruptionBudgetSpec {
    #[serde(deserialize_with = "lenient")]
    selector: Option<WrittenSelector>,
    #[serde(deserialize_with = "lenient")]
    max_unavailable: Option<IntOrString>,
    #[serde(deserialize_with = "lenient")]
    min_available: Option<IntOrString>,
}

#[derive(Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DisruptionBudgetStatus {
    observed_generation: Option<i64>,
    #[serde(deserialize_with = "lenient")]
    disruptions_allowed: Option<i32>,
    #[serde(deserialize_with = "lenient")]
    desired_healthy: Option<u32>,
    #[serde(deserialize_with = "lenient")]
    expected_pods: Option<u32>,
}

impl From<DisruptionBudgetJson> for DisruptionBudget {
    fn from(written: DisruptionBudgetJson) -> Self {
        let DisruptionBudgetJson {
            metadata,
            spec,
            status,
        } = written;
        let selector = spec.selector.map(LabelSelector::from);
        let selector = selector.and_then(|selector| Selector::try_from(&selector).ok());
        let is = |found: Option<IntOrString>, of: [&str; 2]| {
            let text = found.map(|found| match found {
                IntOrString::Int(number) => number.to_string(),
                IntOrString::String(text) => text,
            });
            text.is_some_and(|text| of.contains(&text.as_str()))
        };
        let is_absolute =
            is(spec.max_unavailable, ["0", "0%"]) || is(spec.min_available, ["100%"; 2]);
        let is_current = status.observed_generation >= metadata.generation;
        let allowed = status.disruptions_allowed.filter(|_| is_current);
        Self {
            metadata,
            selector,
            allowed: u32::try_from(allowed.unwrap_or(0)).unwrap_or(0),
            wanted: status
                .desired_healthy
                .zip(status.expected_pods)
                .map(Into::into),
            is_absolute,
        }
    }
}

impl DisruptionBudget {
    /// True where it is about a Pod of its namespace with these labels.
    pub fn covers(&self, labels: &BTreeMap<String, String>) -> bool {
        let selector = self.selector.as_ref();
        selector.is_some_and(|selector| selector.matches(labels))
    }

    /// True where it never lets a Pod go.
    pub const fn is_absolute(&self) -> bool {
        self.is_absolute
    }

    pub const fn allowed(&self) -> u32 {
        self.allowed
    }

    /// The most Pods that may be evicted, given `ready` of `own` Pods now: the budget's controller
    /// may see that late, or not at all while there is none. Pods of others count as ready.
    pub fn room(&self, ready: u32, own: u32) -> u32 {
        self.wanted.map_or(u32::MAX, |[desired, expected]| {
            let healthy = ready.saturating_add(expected.saturating_sub(own));
            healthy.saturating_sub(desired)
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn budget(value: Value) -> DisruptionBudget {
        serde_json::from_value(value).unwrap()
    }

    #[test]
    fn what_its_controller_has_not_seen_yet_lets_nothing_go() {
        let of = |observed: Value, allowed: Value| {
            budget(json!({"metadata": {"generation": 2},
                "status": {"observedGeneration": observed, "disruptionsAllowed": allowed}}))
            .allowed()
        };
        for (observed, allowed, left) in [
            (json!(2), json!(3), 3),
            (json!(1), json!(3), 0),
            (json!(null), json!(3), 0),
            (json!(2), json!(-1), 0),
            (json!(2), json!(null), 0),
        ] {
            assert_eq!(
                of(observed.clone(), allowed.clone()),
                left,
                "{observed} {allowed}"
            );
        }
    }

    #[test]
    fn what_is_ready_now_counts_where_its_controller_has_seen_more() {
        let found = budget(
            json!({"status": {"disruptionsAllowed": 3, "desiredHealthy": 7,
            "expectedPods": 10}}),
        );
        for (ready, own, room) in [
            (10, 10, 3),
            (8, 10, 1),
            (7, 10, 0),
            (5, 10, 0),
            (3, 4, 2),
            (9, 12, 2),
        ] {
            assert_eq!(found.room(ready, own), room, "{ready} of {own}");
        }
        assert_eq!(DisruptionBudget::default().room(0, 9), u32::MAX);
    }

    #[test]
    fn one_that_never_lets_a_pod_go_says_so_by_its_spec() {
        for (spec, is_absolute) in [
            (json!({"maxUnavailable": 0}), true),
            (json!({"maxUnavailable": "0%"}), true),
            (json!({"minAvailable": "100%"}), true),
            (json!({"maxUnavailable": 1}), false),
            (json!({"minAvailable": 100}), false),
            (json!({}), false),
        ] {
            let found = budget(json!({"spec": spec}));
            assert_eq!(found.is_absolute(), is_absolute, "{spec}");
        }
    }

    #[test]
    fn an_empty_selector_is_about_all_pods_and_none_about_none() {
        let labels = BTreeMap::from([("app".to_owned(), "web".to_owned())]);
        for (selector, covers) in [
            (json!({"matchLabels": {"app": "web"}}), true),
            (json!({"matchLabels": {"app": "db"}}), false),
            (json!({}), true),
            (json!(null), false),
        ] {
            let found = budget(json!({"spec": {"selector": selector}}));
            assert_eq!(found.covers(&labels), covers, "{selector}");
        }
    }
}
