//! `spec.behavior`, from its JSON to the completed rules. A rule of an unknown form, which only a
//! newer Kubernetes sends, allows no change: a floor must not outrun it. The object is never
//! refused for it.

use evenkeel_objects::json::{lenient, list};
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::{Behavior, BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, SelectPolicy};

/// The policy that stands for one that is not understood.
const NO_CHANGE: ScalingPolicy = ScalingPolicy {
    policy_type: PolicyType::Pods,
    value: 0,
    period_seconds: 15,
};

/// The complete rules; `None` where the object has none.
pub(super) fn read<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Behavior>, D::Error> {
    let written: Option<HpaBehaviorJson> = lenient(deserializer)?;
    Ok(written.map(
        |HpaBehaviorJson {
             scale_up,
             scale_down,
         }| {
            let spec = BehaviorSpec {
                scale_up: scale_up.map(HpaRulesJson::spec),
                scale_down: scale_down.map(HpaRulesJson::spec),
            };
            spec.defaulted()
        },
    ))
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaBehaviorJson {
    #[serde(default, deserialize_with = "lenient")]
    scale_up: Option<HpaRulesJson>,
    #[serde(default, deserialize_with = "lenient")]
    scale_down: Option<HpaRulesJson>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaRulesJson {
    #[serde(default, deserialize_with = "lenient")]
    stabilization_window_seconds: Option<i32>,
    #[serde(default)]
    select_policy: Option<Value>,
    #[serde(default, deserialize_with = "lenient")]
    policies: Option<Policies>,
    #[serde(default, deserialize_with = "lenient")]
    tolerance: Option<YamlText>,
}

#[derive(Deserialize)]
struct Policies(#[serde(deserialize_with = "list")] Vec<Value>);

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HpaPolicyJson {
    #[serde(rename = "type")]
    kind: String,
    value: i32,
    period_seconds: i32,
}

impl HpaRulesJson {
    fn spec(self) -> RulesSpec {
        let Self {
            stabilization_window_seconds,
            select_policy,
            policies,
            tolerance,
        } = self;
        RulesSpec {
            stabilization_window_seconds,
            select_policy: select_policy.map(|given| select(&given)),
            policies: policies.map(|Policies(policies)| policies.into_iter().map(policy).collect()),
            tolerance: tolerance.and_then(|YamlText(text)| text.parse::<Quantity>().ok()),
        }
    }
}

fn select(given: &Value) -> SelectPolicy {
    match given.as_str() {
        Some("Max") => SelectPolicy::Max,
        Some("Min") => SelectPolicy::Min,
        _ => SelectPolicy::Disabled,
    }
}

fn policy(given: Value) -> ScalingPolicy {
    let Ok(HpaPolicyJson {
        kind,
        value,
        period_seconds,
    }) = HpaPolicyJson::deserialize(given)
    else {
        return NO_CHANGE;
    };
    let policy_type = match kind.as_str() {
        "Pods" => PolicyType::Pods,
        "Percent" => PolicyType::Percent,
        _ => return NO_CHANGE,
    };
    ScalingPolicy {
        policy_type,
        value,
        period_seconds,
    }
}
