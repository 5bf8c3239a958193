//! `behavior` as the JSON of an annotation, held to what the API server takes in an HPA.
//!
//! Nobody has looked at it before, so that a word or a field that is not known is refused as a whole:
//! a slip would give other rules than those that were meant.

use serde::Deserialize;
use serde_json::Value;

use evenkeel_core::scaling::hpa::{
    Behavior, BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, SelectPolicy,
};
use evenkeel_core::units::Quantity;

/// The accepted texts, for messages.
pub(super) const ACCEPTED: &str = "the JSON of behavior in an autoscaling/v2 HorizontalPodAutoscaler, \
    such as {\"scaleDown\": {\"policies\": [{\"type\": \"Pods\", \"value\": 1, \"periodSeconds\": 60}]}}";

/// The longest stabilisation window, and the longest period of a policy, in seconds.
const LONGEST_WINDOW: i32 = 3600;
const LONGEST_PERIOD: i32 = 1800;

/// The complete rules in a text; `None` where it is not accepted.
pub(super) fn parse(text: &str) -> Option<Behavior> {
    read(&serde_json::from_str(text).ok()?)
}

/// The complete rules in the JSON of an object; `None` where it is not accepted.
pub(super) fn read(written: &Value) -> Option<Behavior> {
    let Written {
        scale_up,
        scale_down,
    } = Written::deserialize(written).ok()?;
    let rules = |given: Option<Rules>| given.map(Rules::spec).transpose();
    let spec = BehaviorSpec {
        scale_up: rules(scale_up).ok()?,
        scale_down: rules(scale_down).ok()?,
    };
    Some(spec.defaulted())
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    scale_up: Option<Rules>,
    scale_down: Option<Rules>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Rules {
    stabilization_window_seconds: Option<i32>,
    select_policy: Option<Select>,
    policies: Option<Vec<Policy>>,
    tolerance: Option<String>,
}

#[derive(Deserialize)]
enum Select {
    Max,
    Min,
    Disabled,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Policy {
    #[serde(rename = "type")]
    kind: PolicyKind,
    value: i32,
    period_seconds: i32,
}

#[derive(Deserialize)]
enum PolicyKind {
    Pods,
    Percent,
}

/// A value that the API server does not take.
struct Refused;

impl Rules {
    fn spec(self) -> Result<RulesSpec, Refused> {
        let Self {
            stabilization_window_seconds: window,
            select_policy,
            policies,
            tolerance,
        } = self;
        if window.is_some_and(|seconds| !(0..=LONGEST_WINDOW).contains(&seconds)) {
            return Err(Refused);
        }
        let policies = policies.map(|given| {
            let checked: Result<Vec<_>, _> = given.into_iter().map(Policy::checked).collect();
            checked.and_then(|all| {
                if all.is_empty() {
                    Err(Refused)
                } else {
                    Ok(all)
                }
            })
        });
        let tolerance = tolerance.map(|text| {
            let quantity = text.parse::<Quantity>().map_err(|_| Refused)?;
            let is_negative = quantity.approximate_f64() < 0.0;
            if is_negative {
                Err(Refused)
            } else {
                Ok(quantity)
            }
        });
        Ok(RulesSpec {
            stabilization_window_seconds: window,
            select_policy: select_policy.map(|select| match select {
                Select::Max => SelectPolicy::Max,
                Select::Min => SelectPolicy::Min,
                Select::Disabled => SelectPolicy::Disabled,
            }),
            policies: policies.transpose()?,
            tolerance: tolerance.transpose()?,
        })
    }
}

impl Policy {
    fn checked(self) -> Result<ScalingPolicy, Refused> {
        let Self {
            kind,
            value,
            period_seconds,
        } = self;
        if value <= 0 || !(1..=LONGEST_PERIOD).contains(&period_seconds) {
            return Err(Refused);
        }
        Ok(ScalingPolicy {
            policy_type: match kind {
                PolicyKind::Pods => PolicyType::Pods,
                PolicyKind::Percent => PolicyType::Percent,
            },
            value,
            period_seconds,
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::autoscaler::AutoscalerSpec;

    #[test]
    fn what_an_hpa_may_have_is_read_as_in_an_hpa() {
        for behavior in [
            json!({}),
            json!({"scaleUp": {}}),
            json!({"scaleDown": {"selectPolicy": "Disabled"}}),
            json!({"scaleUp": {"stabilizationWindowSeconds": 3600, "tolerance": "0.05",
                    "selectPolicy": "Min", "policies": [
                        {"type": "Pods", "value": 2, "periodSeconds": 15},
                        {"type": "Percent", "value": 50, "periodSeconds": 1800}]},
                "scaleDown": {"stabilizationWindowSeconds": 0, "tolerance": "200m"}}),
        ] {
            let hpa: AutoscalerSpec =
                serde_json::from_value(json!({"behavior": behavior})).unwrap();
            assert_eq!(parse(&behavior.to_string()), hpa.behavior, "{behavior}");
        }
    }

    #[test]
    fn what_an_api_server_would_refuse_is_refused() {
        let up = |rules: Value| json!({ "scaleUp": rules }).to_string();
        let policy = |kind: &str, value: i32, period: i32| {
            up(json!({"policies": [{"type": kind, "value": value, "periodSeconds": period}]}))
        };
        for text in [
            String::new(),
            "[]".to_owned(),
            "fast".to_owned(),
            json!({"scaleup": {}}).to_string(),
            up(json!({"stabilizationWindowSeconds": -1})),
            up(json!({"stabilizationWindowSeconds": 3601})),
            up(json!({"stabilizationWindowSeconds": "60"})),
            up(json!({"selectPolicy": "Fastest"})),
            up(json!({"policies": []})),
            up(json!({"tolerance": "-0.1"})),
            up(json!({"tolerance": "a tenth"})),
            up(json!({"window": 5})),
            policy("Pods", 0, 15),
            policy("Pods", 1, 0),
            policy("Pods", 1, 1801),
            policy("Nodes", 1, 15),
        ] {
            assert_eq!(parse(&text), None, "{text}");
        }
    }
}
