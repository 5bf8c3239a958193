//! New Pods get preferred node terms that read the score labels, from the real router.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::node::Node;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_service::cluster::ClusterState;
use evenkeel_service::server::paths::MUTATE;
use evenkeel_units::{Amount, Resource, Resources};
use serde_json::{Value, json};

use crate::support::answering::{Asked, add_namespace, policy, with_score_labels};

pub(crate) const SHOP: &str = "shop";
const PREFERRED: &str =
    "/spec/affinity/nodeAffinity/preferredDuringSchedulingIgnoredDuringExecution";

pub(crate) fn pod(name: &str, replica_set: &str) -> Value {
    json!({
        "metadata": {
            "name": name, "namespace": SHOP, "uid": name,
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": replica_set,
                "uid": replica_set, "controller": true}],
        },
        "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}]},
    })
}

/// The watch shows the nodes `a` and `b` with score labels of these shapes.
pub(crate) fn label(cluster: &ClusterState, shapes: &[&str]) {
    let labels: serde_json::Map<String, Value> = shapes
        .iter()
        .map(|shape| (format!("score.evenkeel.dev/{shape}"), json!("2")))
        .collect();
    for name in ["a", "b"] {
        let node = json!({
            "metadata": {"name": name, "labels": labels, "annotations": {"evenkeel.dev/network-capacity": "1Gbps"}},
            "status": {"allocatable": {"cpu": "4", "memory": "8Gi"},
                "conditions": [{"type": "Ready", "status": "True"}]},
        });
        let node: Node = serde_json::from_value(node).unwrap();
        cluster.apply_node(&node, cluster.now());
    }
}

/// The service and its cluster with two nodes that have these score labels.
pub(crate) fn service(labels: &[&str]) -> (Asked, ClusterState) {
    let (cluster, policy) = with_score_labels();
    label(&cluster, labels);
    add_namespace(&cluster, SHOP, &[("evenkeel.dev/enabled", "true")]);
    (Asked::new(cluster.clone(), policy), cluster)
}

/// The Pod after admission, as it was if there is no patch.
pub(crate) async fn admitted(service: &Asked, pod: &Value, dry_run: bool) -> Value {
    let review = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "1", "namespace": pod["metadata"]["namespace"], "operation": "CREATE", "dryRun": dry_run,
            "resource": {"group": "", "version": "v1", "resource": "pods"}, "object": pod,
        },
    });
    let answer = service.post(MUTATE, review.to_string()).await;
    let answer: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer["response"]["allowed"], true);
    let mut pod = pod.clone();
    if let Some(patch) = answer["response"]["patch"].as_str() {
        let patch = STANDARD.decode(patch).unwrap();
        let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
        json_patch::patch(&mut pod, &patch).unwrap();
    }
    pod
}

fn terms(pod: &Value) -> Vec<Value> {
    let terms = pod.pointer(PREFERRED).and_then(Value::as_array);
    terms.cloned().unwrap_or_default()
}

/// The shape in the terms of a Pod, and their number.
pub(crate) fn shape(pod: &Value) -> Option<(String, usize)> {
    let terms = terms(pod);
    let keys: BTreeSet<&str> = terms
        .iter()
        .filter_map(|term| term["preference"]["matchExpressions"][0]["key"].as_str())
        .filter_map(|key| key.strip_prefix("score.evenkeel.dev/"))
        .collect();
    let mut keys = keys.into_iter();
    let found = keys.next().map(|key| (key.to_owned(), terms.len()));
    assert_eq!(keys.next(), None, "one shape a Pod");
    found
}

/// The shape of Pods without history, and the number of their terms.
pub(crate) fn plain() -> (String, usize) {
    ("normal-c3-m3".to_owned(), 4)
}

#[tokio::test]
async fn a_new_pod_gets_four_terms_once() {
    let (service, _) = service(&[]);
    let admitted_once = admitted(&service, &pod("p", "web-1"), false).await;
    assert_eq!(shape(&admitted_once), Some(plain()));
    let again = admitted(&service, &admitted_once, false).await;
    assert_eq!(again, admitted_once);
    let page = service.page();
    for outcome in ["added", "present"] {
        let line = format!("evenkeel_score_terms_total{{outcome=\"{outcome}\"}} 1");
        assert!(page.contains(&line), "{page}");
    }
}

#[tokio::test]
async fn each_rule_keeps_terms_away() {
    let (service, cluster) = service(&[]);
    for (change, dry_run, reason) in [
        (json!({}), true, "dry_run"),
        (json!({"spec": {"nodeName": "a"}}), false, "node_named"),
        (
            json!({"spec": {"schedulerName": "volcano"}}),
            false,
            "other_scheduler",
        ),
        (
            json!({"spec": {"schedulingGates": [{"name": "g"}]}}),
            false,
            "scheduling_gates",
        ),
        (
            json!({"spec": {"schedulingGroup": {"podGroupName": "g"}}}),
            false,
            "scheduling_group",
        ),
        (
            json!({"metadata": {"labels": {"kueue.x-k8s.io/queue-name": "q"}}}),
            false,
            "kueue_queue",
        ),
        (
            json!({"metadata": {"ownerReferences": null}}),
            false,
            "controller",
        ),
        (
            json!({"spec": {"priorityClassName": "system-node-critical"}}),
            false,
            "exempt",
        ),
    ] {
        let mut pod = pod("p", "web-1");
        json_patch::merge(&mut pod, &change);
        let found = admitted(&service, &pod, dry_run).await;
        assert_eq!(shape(&found), None, "{reason}");
        assert!(
            found["metadata"]["annotations"].is_object(),
            "{reason}: the rest is written"
        );
        let line = format!("evenkeel_score_terms_total{{outcome=\"{reason}\"}} 1");
        assert!(service.page().contains(&line), "{reason}");
    }
    let opted_out = [
        ("evenkeel.dev/enabled", "true"),
        ("evenkeel.dev/score-labels", "off"),
    ];
    add_namespace(&cluster, SHOP, &opted_out);
    assert_eq!(
        shape(&admitted(&service, &pod("p", "web-1"), false).await),
        None
    );
    add_namespace(&cluster, SHOP, &[]);
    let foreign = pod("p", "web-1");
    assert_eq!(admitted(&service, &foreign, false).await, foreign);
}

#[tokio::test]
async fn terms_of_the_pod_itself_keep_their_say() {
    let (service, _) = service(&[]);
    for (weight, expected) in [(100, 12), (2, 1), (1, 0)] {
        let own = json!({"weight": weight, "preference": {"matchExpressions": [
            {"key": "zone", "operator": "In", "values": ["a"]}]}});
        let mut pod = pod("p", "web-1");
        pod["spec"]["affinity"] =
            json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [own]}});
        let found = terms(&admitted(&service, &pod, false).await);
        assert_eq!(found[0], own);
        let weights: i64 = found[1..]
            .iter()
            .map(|term| term["weight"].as_i64().unwrap())
            .sum();
        assert!(weights * 2 <= weight);
        assert_eq!(
            found.get(1).map_or(json!(0), |term| term["weight"].clone()),
            json!(expected)
        );
    }
}

#[tokio::test]
async fn without_score_labels_no_pod_gets_terms() {
    let (_, cluster) = service(&[]);
    let off = Asked::new(cluster, policy());
    assert_eq!(
        shape(&admitted(&off, &pod("p", "web-1"), false).await),
        None
    );
    assert!(!off.page().contains("score_terms_total{"));
}

/// The next Pod of a workload is known by what others used, if its controller is real.
#[tokio::test]
async fn usage_counts_for_pods_of_a_known_controller_alone() {
    let (service, cluster) = service(&[]);
    let now = cluster.now();
    let mut running = pod("r", "web-1");
    running["spec"]["nodeName"] = json!("a");
    let running: Pod = serde_json::from_value(running).unwrap();
    cluster.apply_pod(&running, now);
    let mut sample = UsageSample::default();
    let mut used = Resources::default();
    used[Resource::NetworkIo] = Some(Amount::new(1_000_000));
    sample.insert_pod(&PodName::new(SHOP, "r"), &used);
    for _ in 0..12 {
        cluster.remember_usage(&sample, now);
    }
    let with_network = Some(("normal-n3-c3-m3".to_owned(), 4));
    let found = admitted(&service, &pod("p", "web-1"), false).await;
    assert_eq!(shape(&found), with_network);
    let mut forged = pod("p", "web-1");
    forged["metadata"]["ownerReferences"][0]["uid"] = json!("guessed");
    assert_eq!(
        shape(&admitted(&service, &forged, false).await),
        Some(plain())
    );
}

/// With changing usage, a Pod of a controller still carries the terms of the others.
#[tokio::test]
async fn pods_of_a_controller_carry_the_same_terms() {
    let (service, cluster) = service(&[]);
    let now = cluster.now();
    let carried = |name: &str, cpu: &str| {
        let mut pod = pod(name, "web-1");
        pod["spec"]["containers"][0]["resources"]["requests"]["cpu"] = json!(cpu);
        pod
    };
    let first = admitted(&service, &carried("p", "300m"), false).await;
    assert_eq!(shape(&first), Some(("normal-c4-m3".to_owned(), 4)));
    let first: Pod = serde_json::from_value(first).unwrap();
    cluster.apply_pod(&first, now);
    for (cpu, expected) in [
        ("200m", "normal-c4-m3"),
        ("60m", "normal-c2-m3"),
        ("3", "compute-c5-m3"),
    ] {
        let next = admitted(&service, &carried("q", cpu), false).await;
        assert_eq!(shape(&next), Some((expected.to_owned(), 4)), "{cpu}");
    }
    cluster.remove_pod("p", now);
    let found = admitted(&service, &carried("q", "200m"), false).await;
    assert_eq!(shape(&found), Some(plain()), "the first is gone");
}

#[tokio::test]
async fn where_all_shapes_are_taken_the_nearest_is_read() {
    let many: Vec<String> = (1..=32).map(|class| format!("io-d{class}-c9-m9")).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let (full, cluster) = service(&many);
    let found = admitted(&full, &pod("p", "web-1"), false).await;
    assert_eq!(shape(&found), Some(("io-d1-c9-m9".to_owned(), 4)));
    label(&cluster, &[]);
    assert_eq!(
        shape(&admitted(&full, &pod("p", "web-1"), false).await),
        Some(plain())
    );
    let small: Vec<String> = (1..=32).map(|class| format!("io-d{class}")).collect();
    let (service, _) = service(&small.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(
        shape(&admitted(&service, &pod("p", "web-1"), false).await),
        None
    );
    assert!(
        service
            .page()
            .contains("evenkeel_score_terms_total{outcome=\"no_shape\"} 1")
    );
}
