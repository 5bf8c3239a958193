//! `behavior` as the JSON of an annotation, held to what the API server accepts in an HPA. No API
//! server has checked the text: an unreadable part is named and counts as absent, and the rest
//! holds.

use std::collections::BTreeMap;

use evenkeel_objects::annotations::{BEHAVIOR, InvalidAnnotation};
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use serde_json::{Map, Value};

use crate::{Behavior, BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, SelectPolicy};

const ACCEPTED: &str = "the JSON of behavior in an autoscaling/v2 HorizontalPodAutoscaler, \
    such as {\"scaleDown\": {\"policies\": [{\"type\": \"Pods\", \"value\": 1, \"periodSeconds\": 60}]}}";
const ACCEPTED_POLICY: &str =
    "a policy with type Pods or Percent, value from 1 and periodSeconds from 1 to 1800";

/// The longest stabilisation window, and the longest period of a policy, in seconds.
const LONGEST_WINDOW: i32 = 3600;
const LONGEST_PERIOD: i32 = 1800;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadablePart {
    /// The path below the behavior, such as `.scaleUp.tolerance`; empty for all of it.
    pub path: String,
    pub given: String,
    pub accepted: &'static str,
}

/// The complete rules of an annotation; `None` where it is absent or is no JSON object.
pub fn annotated(
    annotations: &BTreeMap<String, String>,
    invalid: &mut Vec<InvalidAnnotation>,
) -> Option<Behavior> {
    let text = annotations.get(BEHAVIOR)?;
    let written: Option<Value> = serde_json::from_str(text).ok();
    let Some(written) = written.filter(Value::is_object) else {
        invalid.push(InvalidAnnotation::new(BEHAVIOR, text, ACCEPTED));
        return None;
    };
    let (behavior, parts) = read(&written);
    invalid.extend(parts.into_iter().map(|part| {
        let given = format!("{}: {}", part.path.trim_start_matches('.'), part.given);
        InvalidAnnotation::new(BEHAVIOR, &given, part.accepted)
    }));
    Some(behavior)
}

pub fn read(written: &Value) -> (Behavior, Vec<UnreadablePart>) {
    let mut reading = BehaviorParser(Vec::new());
    let known = ["scaleUp", "scaleDown"];
    let fields = reading.fields("", written, &known, ACCEPTED);
    let mut rules = |name: &str| {
        let given = fields?.get(name).filter(|given| !given.is_null())?;
        reading.rules(&format!(".{name}"), given)
    };
    let spec = BehaviorSpec {
        scale_up: rules("scaleUp"),
        scale_down: rules("scaleDown"),
    };
    (spec.defaulted(), reading.0)
}

/// The parts that could not be read so far.
struct BehaviorParser(Vec<UnreadablePart>);

impl BehaviorParser {
    fn refuse(&mut self, path: String, given: &Value, accepted: &'static str) {
        self.0.push(UnreadablePart {
            path,
            given: given.to_string(),
            accepted,
        });
    }

    /// The fields of an object. Those that an HPA does not have are named.
    fn fields<'a>(
        &mut self,
        path: &str,
        given: &'a Value,
        known: &[&str],
        accepted: &'static str,
    ) -> Option<&'a Map<String, Value>> {
        let Some(fields) = given.as_object() else {
            self.refuse(path.to_owned(), given, accepted);
            return None;
        };
        for (name, given) in fields {
            if !known.contains(&&**name) {
                self.refuse(
                    format!("{path}.{name}"),
                    given,
                    "the fields of behavior alone",
                );
            }
        }
        Some(fields)
    }

    /// One field of an object; `None` where it is absent, null or not accepted.
    fn field<T>(
        &mut self,
        (path, fields): (&str, &Map<String, Value>),
        name: &str,
        accepted: &'static str,
        read: impl Fn(&Value) -> Option<T>,
    ) -> Option<T> {
        let given = fields.get(name).filter(|given| !given.is_null())?;
        let found = read(given);
        if found.is_none() {
            self.refuse(format!("{path}.{name}"), given, accepted);
        }
        found
    }

    fn rules(&mut self, path: &str, given: &Value) -> Option<RulesSpec> {
        const KNOWN: [&str; 4] = [
            "stabilizationWindowSeconds",
            "selectPolicy",
            "policies",
            "tolerance",
        ];
        let accepted = "an object with the rules of a direction";
        let of = (path, self.fields(path, given, &KNOWN, accepted)?);
        let window = "a whole number from 0 to 3600";
        let tolerances = "a quantity from 0, such as 0.05";
        Some(RulesSpec {
            stabilization_window_seconds: self.field(of, KNOWN[0], window, |given| {
                number(given).filter(|seconds| (0..=LONGEST_WINDOW).contains(seconds))
            }),
            select_policy: self.field(of, KNOWN[1], "Max, Min or Disabled", select),
            policies: self.policies(of),
            tolerance: self.field(of, KNOWN[3], tolerances, tolerance),
        })
    }

    fn policies(&mut self, of: (&str, &Map<String, Value>)) -> Option<Vec<ScalingPolicy>> {
        let given = self.field(of, "policies", "a list of at least one policy", |given| {
            given.as_array().filter(|all| !all.is_empty()).cloned()
        })?;
        let mut policies = Vec::new();
        for (place, given) in given.iter().enumerate() {
            match policy(given) {
                Some(policy) => policies.push(policy),
                None => self.refuse(
                    format!("{}.policies[{place}]", of.0),
                    given,
                    ACCEPTED_POLICY,
                ),
            }
        }
        (!policies.is_empty()).then_some(policies)
    }
}

fn number(given: &Value) -> Option<i32> {
    given.as_i64().and_then(|number| i32::try_from(number).ok())
}

fn select(given: &Value) -> Option<SelectPolicy> {
    match given.as_str()? {
        "Max" => Some(SelectPolicy::Max),
        "Min" => Some(SelectPolicy::Min),
        "Disabled" => Some(SelectPolicy::Disabled),
        _ => None,
    }
}

fn tolerance(given: &Value) -> Option<Quantity> {
    let YamlText(text) = serde_json::from_value(given.clone()).ok()?;
    let quantity: Quantity = text.parse().ok()?;
    (quantity.approximate_f64() >= 0.0).then_some(quantity)
}

fn policy(given: &Value) -> Option<ScalingPolicy> {
    let fields = given.as_object().filter(|fields| fields.len() == 3)?;
    let policy_type = match fields.get("type")?.as_str()? {
        "Pods" => PolicyType::Pods,
        "Percent" => PolicyType::Percent,
        _ => return None,
    };
    let value = number(fields.get("value")?).filter(|&value| value > 0)?;
    let period_seconds = number(fields.get("periodSeconds")?)?;
    (1..=LONGEST_PERIOD)
        .contains(&period_seconds)
        .then_some(ScalingPolicy {
            policy_type,
            value,
            period_seconds,
        })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::autoscaler::AutoscalerSpec;

    #[test]
    fn what_an_hpa_may_have_is_read_as_in_an_hpa() {
        for behavior in [
            json!({}),
            json!({"scaleUp": {}}),
            json!({"scaleUp": null, "scaleDown": {"selectPolicy": null, "tolerance": null}}),
            json!({"scaleDown": {"selectPolicy": "Disabled"}}),
            json!({"scaleUp": {"tolerance": 0.05}, "scaleDown": {"tolerance": 1}}),
            json!({"scaleUp": {"tolerance": 0}, "scaleDown": {"tolerance": 1e-3}}),
            json!({"scaleUp": {"stabilizationWindowSeconds": 3600, "tolerance": "0.05",
                    "selectPolicy": "Min", "policies": [
                        {"type": "Pods", "value": 2, "periodSeconds": 15},
                        {"type": "Percent", "value": 50, "periodSeconds": 1800}]},
                "scaleDown": {"stabilizationWindowSeconds": 0, "tolerance": "200m"}}),
        ] {
            let hpa: AutoscalerSpec =
                serde_json::from_value(json!({"behavior": behavior})).unwrap();
            let (found, parts) = read(&behavior);
            assert_eq!(Some(found), hpa.behavior, "{behavior}");
            assert_eq!(parts, [], "{behavior}");
        }
        let tolerance = |given: Value| {
            let (found, _) = read(&json!({"scaleUp": {"tolerance": given}}));
            found.scale_up.tolerance.unwrap().milli_value()
        };
        assert_eq!((tolerance(json!(0.05)), tolerance(json!("0.05"))), (50, 50));
    }

    /// The harm: a number for a tolerance took the whole behavior away.
    #[test]
    fn a_part_that_an_api_server_would_refuse_is_named_and_the_rest_holds() {
        let policy = |kind: &str, value: i32, period: i32| json!({"policies": [{"type": kind, "value": value, "periodSeconds": period}]});
        for (rules, path) in [
            (
                json!({"stabilizationWindowSeconds": -1}),
                "stabilizationWindowSeconds",
            ),
            (
                json!({"stabilizationWindowSeconds": 3601}),
                "stabilizationWindowSeconds",
            ),
            (
                json!({"stabilizationWindowSeconds": "60"}),
                "stabilizationWindowSeconds",
            ),
            (json!({"selectPolicy": "Fastest"}), "selectPolicy"),
            (json!({"policies": []}), "policies"),
            (json!({"policies": 5}), "policies"),
            (json!({"tolerance": "-0.1"}), "tolerance"),
            (json!({"tolerance": "a tenth"}), "tolerance"),
            (json!({"tolerance": true}), "tolerance"),
            (json!({"window": 5}), "window"),
            (policy("Pods", 0, 15), "policies[0]"),
            (policy("Pods", 1, 0), "policies[0]"),
            (policy("Pods", 1, 1801), "policies[0]"),
            (policy("Nodes", 1, 15), "policies[0]"),
        ] {
            let good = json!({"stabilizationWindowSeconds": 60, "tolerance": 0.2});
            let (whole, _) = read(&json!({"scaleDown": good}));
            let (found, parts) = read(&json!({"scaleUp": rules, "scaleDown": good}));
            let paths: Vec<_> = parts.iter().map(|part| &*part.path).collect();
            assert_eq!(paths, [format!(".scaleUp.{path}")], "{rules}");
            assert_eq!(found.scale_down, whole.scale_down, "{rules}");
        }
        let (found, parts) = read(&json!({"scaleup": {}, "scaleDown": 5}));
        assert_eq!(parts.len(), 2);
        assert_eq!(found, BehaviorSpec::default().defaulted());
    }

    #[test]
    fn a_text_that_is_no_object_is_refused_as_a_whole() {
        for text in ["", "[]", "fast", "5"] {
            let mut invalid = Vec::new();
            let annotations = BTreeMap::from([(BEHAVIOR.to_owned(), text.to_owned())]);
            assert_eq!(annotated(&annotations, &mut invalid), None, "{text}");
            assert_eq!(invalid.len(), 1, "{text}");
        }
        let mut invalid = Vec::new();
        let text = r#"{"scaleUp": {"tolerance": "much"}}"#;
        let annotations = BTreeMap::from([(BEHAVIOR.to_owned(), text.to_owned())]);
        assert!(annotated(&annotations, &mut invalid).is_some());
        let told = invalid[0].to_string();
        assert!(told.contains("scaleUp.tolerance"), "{told}");
    }
}
