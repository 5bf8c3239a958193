//! The status that an object holds, which its tenant can overwrite: what is read is written again as
//! the same status, and each condition is found by its type.

#![no_main]

use evenkeel_objects::plan::status_writer::Status as _;
use evenkeel_scaling::status::TargetStatus;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(status) = serde_json::from_str::<TargetStatus>(text) else {
        return;
    };
    let written = serde_json::to_string(&status).expect("a status prints");
    let again: TargetStatus = serde_json::from_str(&written).expect("what was written is read");
    assert_eq!(again, status);
    for condition in &status.conditions {
        assert!(status.condition(&condition.kind).is_some());
    }
});
