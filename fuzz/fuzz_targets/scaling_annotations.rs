//! Annotations of HPAs, ScaledObjects and workloads: every value is taken or named, none stops the
//! rest, and bounds never cross.

#![no_main]

use std::collections::BTreeMap;

use evenkeel_scaling::specs::scaling_policy::ScalingPolicy;
use evenkeel_scaling::targets::scaled_object::ScaledObject;
use libfuzzer_sys::fuzz_target;

/// One value a line, in this order.
const KEYS: [&str; 9] = [
    "evenkeel.dev/predict",
    "evenkeel.dev/scaling",
    "evenkeel.dev/min-replicas",
    "evenkeel.dev/max-replicas",
    "evenkeel.dev/target",
    "evenkeel.dev/scale-down",
    "autoscaling.keda.sh/paused",
    "autoscaling.keda.sh/paused-replicas",
    "evenkeel.dev/traffic",
];

fuzz_target!(|text: &str| {
    let lines = text.lines().map(str::to_owned);
    let keys = KEYS.iter().map(|key| (*key).to_owned());
    let annotations: BTreeMap<String, String> = keys.zip(lines).collect();
    let (policy, invalid) = ScalingPolicy::parse(&annotations);
    for problem in invalid {
        assert!(annotations.contains_key(problem.key));
        assert!(!problem.to_string().is_empty());
    }
    if let (Some(min), Some(max)) = (policy.min_replicas, policy.max_replicas) {
        assert!(min <= max, "{annotations:?}");
    }
    let object = serde_json::json!({"metadata": {"annotations": annotations}});
    let object: ScaledObject = serde_json::from_value(object).expect("texts are annotations");
    let _ = object.is_paused();
});
