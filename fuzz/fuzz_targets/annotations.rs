//! Annotations of namespaces and Pods: every value is taken or named, none stops the rest.

#![no_main]

use std::collections::BTreeMap;

use evenkeel_objects::annotations::{
    DISK_IO, DISK_IO_LIMIT, EGRESS_BANDWIDTH, ENABLED, HEADROOM, INGRESS_BANDWIDTH, NETWORK_IO,
    NO_HEADROOM, PROFILE_THRESHOLD, RELAX_AFTER, SKIP,
};
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::pod::Pod;
use evenkeel_placement::demand::demand;
use libfuzzer_sys::fuzz_target;

/// One value a line, in this order.
const KEYS: [&str; 11] = [
    ENABLED,
    HEADROOM,
    PROFILE_THRESHOLD,
    NO_HEADROOM,
    RELAX_AFTER,
    NETWORK_IO,
    DISK_IO,
    SKIP,
    INGRESS_BANDWIDTH,
    EGRESS_BANDWIDTH,
    DISK_IO_LIMIT,
];

fuzz_target!(|text: &str| {
    let annotations: BTreeMap<String, String> = KEYS
        .iter()
        .map(|key| (*key).to_owned())
        .zip(text.lines().map(str::to_owned))
        .collect();
    let (_, invalid) = NamespacePolicy::parse(&annotations);
    for problem in invalid {
        assert!(!problem.to_string().is_empty());
    }
    let pod = serde_json::json!({"metadata": {"annotations": annotations}, "spec": {}});
    if let Ok(pod) = serde_json::from_value::<Pod>(pod) {
        for caps_as_demand in [false, true] {
            for problem in demand(&pod, caps_as_demand).invalid {
                assert!(!problem.to_string().is_empty());
            }
        }
    }
});
