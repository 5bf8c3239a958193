//! The effective request of a Pod against what Kubernetes itself computes.

use evenkeel_objects::pod::PodSpec;
use evenkeel_objects::pod_requests::effective;
use evenkeel_units::{Bytes, MilliCpu};
use serde::Deserialize;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Case {
    spec: PodSpec,
    cpu: Option<u64>,
    memory: Option<u64>,
    ephemeral_storage: Option<u64>,
}

#[test]
fn requests_are_those_of_kubernetes() {
    let cases: Vec<Case> = serde_json::from_str(include_str!(
        "../../../../tests/fixtures/requests/cases.json"
    ))
    .expect("the fixture");
    assert!(cases.len() >= 100);
    for (number, case) in cases.iter().enumerate() {
        let found = effective(&case.spec);
        assert_eq!(found.cpu(), case.cpu.map(MilliCpu), "case {number}");
        assert_eq!(found.memory(), case.memory.map(Bytes), "case {number}");
        let disk = case.ephemeral_storage.map(Bytes);
        assert_eq!(found.ephemeral_storage(), disk, "case {number}");
    }
}
