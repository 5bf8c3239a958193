//! Bodies of both callers: whatever comes, the answer is an error or a body that is valid JSON.

#![no_main]

use std::sync::{Arc, LazyLock};

use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_placement::extender::wire::{filter_answer, prioritize_answer};
use evenkeel_placement::snapshot::Snapshot;
use evenkeel_placement::{SchedulingPolicy, admission, extender};
use evenkeel_service::config::{Config, ConfigSources};
use libfuzzer_sys::fuzz_target;

static POLICY: LazyLock<SchedulingPolicy> = LazyLock::new(|| {
    let config = Config::load(&ConfigSources::default());
    config.expect("the defaults are accepted").policy
});

fuzz_target!(|body: &[u8]| {
    if let Ok(request) = admission::AdmissionRequestView::parse(body) {
        let known = admission::AdmissionContext {
            snapshot: &opted_in(),
            policy: &POLICY,
            gates: &admission::ungated,
            score_terms: &admission::nothing_carried,
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let reviewed = admission::review(&request, &known);
        assert_json(&reviewed.body);
    }
    if let Ok(request) = extender::ExtenderRequest::parse(body) {
        assert_json(&filter_answer(&request, |position| position % 2 == 0));
        assert_json(&prioritize_answer(&request, |_| 10));
    }
});

/// A cluster in which the namespace `default` has opted in, so that reviews go all the way.
fn opted_in() -> Snapshot {
    let mut snapshot = Snapshot {
        synced: true,
        ..Snapshot::default()
    };
    let policy = NamespacePolicy {
        enabled: true,
        ..NamespacePolicy::default()
    };
    Arc::make_mut(&mut snapshot.namespaces).insert("default".into(), Arc::new(policy));
    snapshot
}

fn assert_json(body: &[u8]) {
    serde_json::from_slice::<serde_json::Value>(body).expect("answers are JSON");
}
