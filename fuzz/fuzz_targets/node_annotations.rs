//! Annotations and amounts of nodes: what says nothing gets the default, and what is not accepted is
//! named.

#![no_main]

use evenkeel_objects::capacities::Capacities;
use evenkeel_objects::node::{Node, node_facts};
use evenkeel_units::{Amount, Resources};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let mut lines = text.lines();
    let mut line = || lines.next().unwrap_or_default();
    let node = serde_json::json!({
        "metadata": {"name": "a", "annotations": {
            "evenkeel.dev/network-capacity": line(),
            "evenkeel.dev/disk-io-capacity": line(),
        }},
        "status": {"allocatable": {
            "cpu": line(), "memory": line(), "ephemeral-storage": line(),
        }},
    });
    // A quantity that is none makes the whole object unreadable, and the watch leaves it out.
    let Ok(node) = serde_json::from_value::<Node>(node) else {
        return;
    };
    let defaults = Resources::new([Some(Amount::new(7)); 5]);
    let (facts, invalid) = node_facts(&node, &Capacities::new(Vec::new(), defaults));
    assert!(facts.capacity.values().iter().all(Option::is_some));
    for problem in invalid {
        assert!(!problem.to_string().is_empty());
    }
});
