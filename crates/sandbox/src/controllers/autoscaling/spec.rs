//! An HPA's spec as the rules read it.

use jiff::SignedDuration;
use k8s_openapi::api::autoscaling::v2::{
    HPAScalingPolicy, HPAScalingRules, HorizontalPodAutoscalerBehavior, HorizontalPodAutoscalerSpec,
};

use crate::simulate::hpa::{Limits, Tolerance};
use evenkeel_core::scaling::hpa::{
    Behavior, BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, SelectPolicy,
};
use evenkeel_core::units::{Amount, Quantity};

/// How long a recommendation holds up scaling down, unless the HPA says otherwise.
const DOWNSCALE_WINDOW: SignedDuration = SignedDuration::from_mins(5);
/// The tolerance, unless the HPA says otherwise.
const TOLERANCE: f64 = 0.1;

/// Bounds and behaviour.
pub(super) fn limits(spec: &HorizontalPodAutoscalerSpec) -> Limits {
    Limits {
        min: spec.min_replicas.unwrap_or(1),
        max: spec.max_replicas,
        behavior: spec.behavior.as_ref().map(behavior),
        downscale_window: DOWNSCALE_WINDOW,
    }
}

/// The tolerance of each direction.
pub(super) fn tolerance(limits: &Limits) -> Tolerance {
    let of = |quantity: Option<Quantity>| {
        quantity.map_or(TOLERANCE, |quantity| {
            Amount::new(quantity.milli_ceil()).as_f64() / 1000.0
        })
    };
    let rules = limits.behavior.as_ref();
    Tolerance {
        up: of(rules.and_then(|rules| rules.scale_up.tolerance)),
        down: of(rules.and_then(|rules| rules.scale_down.tolerance)),
    }
}

fn behavior(given: &HorizontalPodAutoscalerBehavior) -> Behavior {
    let spec = BehaviorSpec {
        scale_up: given.scale_up.as_ref().map(rules),
        scale_down: given.scale_down.as_ref().map(rules),
    };
    spec.defaulted()
}

fn rules(given: &HPAScalingRules) -> RulesSpec {
    let select = given.select_policy.as_deref().map(|word| match word {
        "Min" => SelectPolicy::Min,
        "Disabled" => SelectPolicy::Disabled,
        _ => SelectPolicy::Max,
    });
    let policies = given.policies.as_ref();
    RulesSpec {
        stabilization_window_seconds: given.stabilization_window_seconds,
        select_policy: select,
        policies: policies.map(|all| all.iter().map(policy).collect()),
        tolerance: given
            .tolerance
            .as_ref()
            .and_then(|quantity| quantity.0.parse().ok()),
    }
}

fn policy(given: &HPAScalingPolicy) -> ScalingPolicy {
    ScalingPolicy {
        policy_type: if given.type_ == "Pods" {
            PolicyType::Pods
        } else {
            PolicyType::Percent
        },
        value: given.value,
        period_seconds: given.period_seconds,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn behaviour_is_read_in_both_directions() {
        let spec: HorizontalPodAutoscalerSpec = serde_json::from_value(json!({
            "maxReplicas": 9, "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "behavior": {
                "scaleUp": {"tolerance": "50m", "selectPolicy": "Min",
                    "policies": [{"type": "Pods", "value": 2, "periodSeconds": 30}]},
                "scaleDown": {"stabilizationWindowSeconds": 7},
            },
        }))
        .unwrap();
        let limits = limits(&spec);
        let Tolerance { up, down } = tolerance(&limits);
        assert_eq!(((up * 1e3).round(), (down * 1e3).round()), (50.0, 100.0));
        let behavior = limits.behavior.unwrap();
        assert_eq!(behavior.scale_up.select_policy, SelectPolicy::Min);
        assert_eq!(behavior.scale_up.policies[0].value, 2);
        assert_eq!(behavior.scale_down.stabilization_window_seconds, Some(7));
        assert_eq!((limits.min, limits.max), (1, 9));
    }
}
