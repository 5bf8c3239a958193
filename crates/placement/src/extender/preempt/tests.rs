use std::sync::Arc;

use evenkeel_objects::namespace_policy::NamespacePolicy;
use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::*;
use crate::extender::decide::tests::{call, policy, snapshot};
use crate::snapshot::{Namespaces, Snapshot};

const META: &str =
    include_str!("../../../../../tests/fixtures/extender/preempt-3-meta-victims.json");
const WHOLE: &str = include_str!("../../../../../tests/fixtures/extender/preempt-3-victims.json");

fn amounts(value: u64) -> Resources<Amount> {
    Resources::new([Amount::new(value); 5])
}

/// A Pod of 100 millicores, with one victim on each of two nodes, two on a third and none on a
/// fourth.
fn question() -> String {
    json!({
        "Pod": {
            "metadata": {"name": "p", "namespace": "shop", "uid": "1"},
            "spec": {"containers": [{"resources": {"requests": {"cpu": "100m"}}}]},
        },
        "NodeNameToVictims": null,
        "NodeNameToMetaVictims": {
            "a": {"Pods": [{"UID": "a1"}], "NumPDBViolations": 0},
            "b": {"Pods": [{"UID": "b1"}, {"UID": "b2"}], "NumPDBViolations": 1},
            "c": {"Pods": [{"UID": "c1"}], "NumPDBViolations": 0},
            "d": {"Pods": [], "NumPDBViolations": 0},
        },
    })
    .to_string()
}

fn answered(question: &str, call: &PlacementContext<'_>, each: u64) -> Value {
    let request = PreemptionRequest::parse(question.as_bytes()).unwrap();
    let found = preempt(&request, call, |_, uids| amounts(each * uids.len() as u64));
    serde_json::from_slice(&answer(&request, &found.kept)).unwrap()
}

fn nodes(answer: &Value) -> String {
    let nodes = answer["NodeNameToMetaVictims"].as_object().unwrap();
    nodes.keys().map(String::as_str).collect()
}

#[test]
fn nodes_that_stay_over_the_line_without_their_victims_are_dropped() {
    let snapshot = snapshot(&[("a", 900), ("b", 900), ("c", 740), ("d", 0)]);
    let policy = policy();
    let call = call(&snapshot, &policy);
    // 900 + 100 must come below 800: one victim of 150 is too little, two are enough.
    for (each, kept) in [(10, ""), (41, "c"), (101, "bc"), (201, "abc")] {
        assert_eq!(nodes(&answered(&question(), &call, each)), kept, "{each}");
    }
    let answer = answered(&question(), &call, 101);
    assert_eq!(
        answer["NodeNameToMetaVictims"]["b"],
        json!({"Pods": [{"UID": "b1"}, {"UID": "b2"}], "NumPDBViolations": 1}),
        "just what was proposed"
    );
}

#[test]
fn what_is_not_judged_stays_as_it_was_proposed() {
    let seen = snapshot(&[("a", 900), ("b", 900), ("c", 900), ("d", 0)]);
    let policy = policy();
    let mut out = Namespaces::default();
    out.insert("shop".into(), Arc::new(NamespacePolicy::default()));
    let out = Snapshot {
        namespaces: Arc::new(out),
        ..seen.clone()
    };
    let unknown = snapshot(&[("x", 900)]);
    let waited = PlacementContext {
        refused_since: Some(Timestamp::UNIX_EPOCH - SignedDuration::from_mins(5)),
        ..call(&seen, &policy)
    };
    for call in [call(&out, &policy), call(&unknown, &policy), waited] {
        let answer = answered(&question(), &call, 0);
        assert_eq!(nodes(&answer), "abc", "never a node without victims");
    }
}

#[test]
fn a_load_that_is_only_estimated_drops_nothing() {
    let mut seen = snapshot(&[("a", 900), ("b", 900), ("c", 900), ("d", 0)]);
    let mut table = crate::extender::decide::tests::table(&[("a", 900), ("b", 900)]);
    table.advance(Timestamp::UNIX_EPOCH + SignedDuration::from_mins(4));
    let facts = evenkeel_objects::node_facts::NodeFacts {
        capacity: amounts(1000).map(Some),
        schedulable: true,
        ..Default::default()
    };
    table.apply_node("fresh", facts, Timestamp::UNIX_EPOCH);
    seen.nodes = table.nodes().clone();
    seen.expects_metrics = false;
    let policy = policy();
    assert_eq!(
        nodes(&answered(&question(), &call(&seen, &policy), 0)),
        "abc"
    );
}

#[test]
fn both_forms_that_kube_scheduler_sends_are_read_and_answered_by_uid() {
    for body in [META, WHOLE] {
        let sent: Value = serde_json::from_str(body).unwrap();
        let request = PreemptionRequest::parse(body.as_bytes()).unwrap();
        assert_eq!(
            Some(request.pod.uid()),
            sent["Pod"]["metadata"]["uid"].as_str()
        );
        let kept = vec![true; request.nodes.len()];
        let answer: Value = serde_json::from_slice(&answer(&request, &kept)).unwrap();
        assert_eq!(
            answer["NodeNameToMetaVictims"].as_object().unwrap().len(),
            3
        );
        let (meta, whole) = (&sent["NodeNameToMetaVictims"], &sent["NodeNameToVictims"]);
        for (node, victims) in answer["NodeNameToMetaVictims"].as_object().unwrap() {
            let expected = if meta.is_null() {
                whole[node]["Pods"][0]["metadata"]["uid"].clone()
            } else {
                meta[node]["Pods"][0]["UID"].clone()
            };
            assert_eq!(victims["Pods"][0]["UID"], expected);
            assert!(victims["NumPDBViolations"].is_number());
        }
    }
    for body in [
        "",
        "{}",
        r#"{"Pod":{},"NodeNameToMetaVictims":{"a":{"Pods":[{}]}}}"#,
    ] {
        assert_eq!(
            PreemptionRequest::parse(body.as_bytes())
                .unwrap_err()
                .reason(),
            "malformed"
        );
    }
}
