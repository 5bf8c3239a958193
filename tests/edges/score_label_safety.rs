//! Score labels never count beside the extender's scores or after their end, and no forged object
//! makes them say more than they should.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::sync::Arc;

use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_service::cluster::ClusterState;
use evenkeel_service::controller::Writes;
use evenkeel_service::server::paths::PRIORITIZE;
use evenkeel_units::{Amount, Resource, Resources};
use jiff::SignedDuration;
use serde_json::{Value, json};

use super::score_terms::{SHOP, admitted, label, plain, pod, service, shape};
use crate::support::answering::{Asked, add_namespace, policy};

fn apply(cluster: &ClusterState, pod: &Value) {
    let pod: Pod = serde_json::from_value(pod.clone()).unwrap();
    cluster.apply_pod(&pod, cluster.now());
}

/// A Pod with score terms of a shape.
fn carrying(name: &str, replica_set: &str, shape: &str) -> Value {
    let mut pod = pod(name, replica_set);
    let key = format!("score.evenkeel.dev/{shape}");
    pod["spec"]["affinity"] = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
        {"weight": 25, "preference": {"matchExpressions": [{"key": key, "operator": "NotIn", "values": ["0"]}]}}]}});
    pod
}

/// Measures that node `b` uses more CPU than `a`.
fn measure(cluster: &ClusterState) {
    let now = cluster.now();
    let mut sample = UsageSample::default();
    for (name, cpu) in [("a", 100), ("b", 2000)] {
        let mut row = Resources::default();
        row[Resource::Cpu] = Some(NodeSample {
            value: Amount::new(cpu),
            at: now,
            window: SignedDuration::ZERO,
        });
        sample.insert_node(name, &row);
    }
    cluster.apply_sample(Arc::new(sample), now);
}

async fn scores(service: &Asked, pod: &Value) -> Vec<i64> {
    let call = json!({"Pod": pod, "Nodes": null, "NodeNames": ["a", "b"]});
    let answer = service.post(PRIORITIZE, call.to_string()).await;
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    let scores = answer.as_array().unwrap().iter();
    scores.map(|node| node["Score"].as_i64().unwrap()).collect()
}

#[tokio::test]
async fn the_extender_scores_no_pod_that_reads_score_labels() {
    let (service, cluster) = service(&[]);
    measure(&cluster);
    let with_terms = admitted(&service, &pod("p", "web-1"), false).await;
    let unlabelled = scores(&service, &with_terms).await;
    assert!(
        unlabelled[0] > unlabelled[1],
        "no node has the label: {unlabelled:?}"
    );
    label(&cluster, &[&plain().0]);
    measure(&cluster);
    assert_eq!(scores(&service, &with_terms).await, [0, 0]);
    let line = "evenkeel_extender_calls_total{verb=\"prioritize\",outcome=\"score_terms\"} 1";
    assert!(service.page().contains(line), "{}", service.page());
    let without = scores(&service, &pod("q", "web-1")).await;
    assert!(without[0] > without[1], "{without:?}");
    // A call of the extender changes nothing for new Pods.
    let next = admitted(&service, &pod("r", "web-1"), false).await;
    assert_eq!(shape(&next), Some(plain()));
    let off = Asked::new(cluster, policy());
    let scored = scores(&off, &with_terms).await;
    assert!(
        scored[0] > scored[1],
        "without labels the terms say nothing"
    );
}

#[tokio::test]
async fn while_labels_are_not_written_no_pod_gets_terms() {
    let (service, _) = service(&[]);
    for (writes, expected) in [
        (Writes::Disabled, None),
        (Writes::Restore, None),
        (Writes::Enabled, Some(plain())),
    ] {
        service.set_writes(writes);
        let found = admitted(&service, &pod("p", "web-1"), false).await;
        assert_eq!(shape(&found), expected, "{writes}");
    }
    let line = "evenkeel_score_terms_total{outcome=\"writes_disabled\"} 2";
    assert!(service.page().contains(line));
}

/// A replica that has just started knows no usage yet.
#[tokio::test]
async fn without_history_new_pods_carry_what_the_others_carry() {
    let (service, cluster) = service(&[]);
    apply(&cluster, &carrying("p", "web-1", "normal-n3-c3-m3"));
    let found = admitted(&service, &pod("q", "web-1"), false).await;
    assert_eq!(shape(&found), Some(("normal-n3-c3-m3".to_owned(), 4)));
}

#[tokio::test]
async fn a_profile_that_is_not_configured_is_not_carried_on() {
    let (service, cluster) = service(&[]);
    apply(&cluster, &carrying("p", "web-1", "gone-c3-m3"));
    let found = admitted(&service, &pod("q", "web-1"), false).await;
    assert_eq!(shape(&found), Some(plain()));
}

#[tokio::test]
async fn pods_of_kube_system_get_no_terms() {
    let (service, cluster) = service(&[]);
    add_namespace(&cluster, "kube-system", &[("evenkeel.dev/enabled", "true")]);
    let mut pod = pod("p", "web-1");
    pod["metadata"]["namespace"] = json!("kube-system");
    assert_eq!(shape(&admitted(&service, &pod, false).await), None);
}

/// The UID of one controller does not open the usage of another one.
#[tokio::test]
async fn a_known_uid_with_another_name_reveals_no_usage() {
    let (service, cluster) = service(&[]);
    for (name, replica_set) in [("r", "db"), ("s", "web-1")] {
        let mut running = pod(name, replica_set);
        running["spec"]["nodeName"] = json!("a");
        apply(&cluster, &running);
    }
    let mut sample = UsageSample::default();
    let mut used = Resources::default();
    used[Resource::NetworkIo] = Some(Amount::new(1_000_000));
    sample.insert_pod(&PodName::new(SHOP, "r"), &used);
    for _ in 0..12 {
        cluster.remember_usage(&sample, cluster.now());
    }
    let known = admitted(&service, &pod("p", "db"), false).await;
    assert_eq!(shape(&known), Some(("normal-n3-c3-m3".to_owned(), 4)));
    let mut forged = pod("p", "db");
    forged["metadata"]["ownerReferences"][0]["uid"] = json!("web-1");
    assert_eq!(
        shape(&admitted(&service, &forged, false).await),
        Some(plain())
    );
}

#[tokio::test]
async fn an_explanation_names_the_reason_of_admission() {
    let many: Vec<String> = (1..=32).map(|class| format!("io-d{class}")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (full, _) = service(&many);
    let (service, cluster) = service(&[]);
    let mut bound = carrying("p", "web-1", "normal-c3-m3");
    bound["spec"]["nodeName"] = json!("a");
    let mut own = carrying("p", "web-1", "normal-c3-m3");
    let preferred = "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";
    let terms = own.pointer_mut(preferred).unwrap();
    *terms = json!([{"weight": 1, "preference": {"matchExpressions": [{"key": "zone", "operator": "Exists"}]}}]);
    let mut skipped = pod("p", "web-1");
    skipped["metadata"]["annotations"] = json!({"evenkeel.dev/skip": "true"});
    let mut other = pod("p", "web-1");
    other["metadata"]["namespace"] = json!("other");
    for (service, pod, expected) in [
        (&service, &bound, None),
        (&service, &own, Some("preferred node terms")),
        (&service, &skipped, Some("evenkeel.dev/skip")),
        (&service, &other, Some("not known")),
        (&full, &pod("p", "web-1"), Some("are smaller")),
    ] {
        assert_eq!(reason(service, pod).await.is_some(), expected.is_some());
        let found = reason(service, pod).await.unwrap_or_default();
        assert!(found.contains(expected.unwrap_or_default()), "{found}");
    }
    service.set_writes(Writes::Disabled);
    let found = reason(&service, &bound).await.unwrap();
    assert!(found.contains("writes"), "{found}");
    service.set_writes(Writes::Enabled);
    let out = [
        ("evenkeel.dev/enabled", "true"),
        ("evenkeel.dev/score-labels", "off"),
    ];
    add_namespace(&cluster, SHOP, &out);
    let found = reason(&service, &bound).await.unwrap();
    assert!(found.contains("evenkeel.dev/score-labels"), "{found}");
}

/// The reason for which a new Pod gets no terms, in an explanation.
async fn reason(service: &Asked, pod: &Value) -> Option<String> {
    let (_, explained) = service.what_if("", pod).await;
    assert!(explained["scoreLabels"]["shape"].is_string(), "{explained}");
    let reason = explained["scoreLabels"]["withoutTerms"].as_str();
    reason.map(str::to_owned)
}
