//! Every recorded call of kube-scheduler gets the right answer from the real router.

#![allow(clippy::unwrap_used)] // helpers of tests

mod choices;
mod dashboard;

use std::collections::HashMap;
use std::sync::Arc;

use axum::http::StatusCode;
use evenkeel_clock as clock;
use evenkeel_metrics::usage::{NodeSample, UsageSample};
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::extender::REFUSAL;
use evenkeel_service::cluster::ClusterState;
use evenkeel_service::cluster::owners::Owner;
use evenkeel_service::config::{Config, ConfigSources};
use evenkeel_service::server::paths::{BIND, FILTER, PREEMPT, PRIORITIZE};
use evenkeel_units::{Amount, Resource, Resources};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::support::answering::{
    Answer, Asked, Certificates, EXTENDER_BODY, add_namespace, cluster, policy,
};
use crate::support::hostile;
use crate::support::recorded::{Recorded, requests};

const NAMESPACE: &str = "e2e-extender";

/// Nodes of the cluster; those of the recorded calls are among them.
const NODES: usize = 300;

/// Every fourth node has no network left: 85 % of 1 Gbit/s are used.
fn is_full(name: &str) -> bool {
    let number = name
        .strip_prefix("node-")
        .and_then(|number| number.parse::<usize>().ok());
    number.is_some_and(|number| number < NODES && number.is_multiple_of(4))
}

/// 300 nodes of 16 cores and 64 GiB, filled more the higher their number.
fn nodes() -> ClusterState {
    let cluster = cluster(true);
    let now = clock::now();
    let mut sample = UsageSample::default();
    for number in 0..NODES {
        let name = format!("node-{number:04}");
        let node = json!({
            "metadata": {"name": name, "annotations": {
                "evenkeel.dev/network-capacity": "1Gbps", "evenkeel.dev/disk-io-capacity": "100MB/s"}},
            "status": {
                "allocatable": {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi"},
                "conditions": [{"type": "Ready", "status": "True"}]},
        });
        cluster.apply_node(&serde_json::from_value(node).unwrap(), now);
        let number = u64::try_from(number).unwrap();
        let network = if is_full(&name) {
            106_250_000
        } else {
            10_000_000
        };
        let used = [1000 + 10 * number, 8 << 30, network, 5_000_000, 10 << 30];
        let used = Resources::new(used).map(|value| {
            let value = Amount::new(value);
            Some(NodeSample {
                value,
                at: now,
                window: SignedDuration::ZERO,
            })
        });
        sample.insert_node(name, &used);
    }
    cluster.apply_sample(Arc::new(sample), now);
    cluster
}

pub(super) fn opted_in() -> ClusterState {
    let cluster = nodes();
    add_namespace(&cluster, NAMESPACE, &[("evenkeel.dev/enabled", "true")]);
    cluster
}

/// From the file to the answers: the headroom of a priority class, and a profile of the operator's own.
#[tokio::test]
async fn priority_classes_and_profiles_of_the_configuration_reach_the_scheduler() {
    let file = "
        apiVersion: config.evenkeel.dev/v1alpha1
        kind: EvenkeelConfiguration
        scheduling:
          headroomByPriorityClass: {batch: 0.1}
          profiles:
            ingest: {weights: {cpu: 0, memory: 0, networkIo: 1, diskIo: 0, disk: 0}}";
    let sources = ConfigSources {
        file: Some("config.yaml".into()),
        ..ConfigSources::default()
    };
    let policy = Config::parse(file, &sources).unwrap().policy;
    let service = Asked::new(opted_in(), policy);
    // Of both an eighth of the memory is used, which is more than a tenth.
    let call = |name: &str, class: Value, profile: Value| {
        json!({"NodeNames": ["node-0001", "node-0002"], "Pod": {
            "metadata": {"name": name, "namespace": NAMESPACE, "uid": name,
                "annotations": {"evenkeel.dev/profile": profile}},
            "spec": {"priorityClassName": class, "containers": [
                {"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]}}})
    };
    for (class, passes) in [(json!(null), 2), (json!("web"), 2), (json!("batch"), 0)] {
        let call = call("classed", class.clone(), json!(null));
        let answer = service.post(FILTER, call.to_string()).await;
        assert_eq!(passed(&call, &answer).len(), passes, "{class}");
    }
    for (name, profile, used) in [("own", "ingest", "ingest"), ("unknown", "fast", "normal")] {
        let call = call(name, json!(null), json!(profile));
        let answer = service.post(PRIORITIZE, call.to_string()).await;
        assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
        let (_, explained) = service.explain(NAMESPACE, name).await;
        let explained: Value = serde_json::from_slice(&explained).unwrap();
        assert_eq!(explained["lastPrioritize"]["profile"], used, "{explained}");
    }
}

/// The Pods of a Deployment say nothing of what they need, and one of them has run for a while.
#[tokio::test]
async fn what_the_pods_of_a_workload_use_counts_for_new_ones_of_it() {
    let cluster = opted_in();
    let owner = Owner::new("apps/v1", "Deployment", "web");
    let replica_set = ControllerKey::new(NAMESPACE, "rs");
    cluster.apply_owner(Kind::ReplicaSet, &replica_set, Some(owner));
    let pod = |name: &str, spec: Value| {
        let owner = json!({"kind": "ReplicaSet", "name": "web-1", "uid": "rs", "controller": true});
        json!({"metadata": {"name": name, "namespace": NAMESPACE, "uid": name, "ownerReferences": [owner]}, "spec": spec})
    };
    let bound = |node: &str| json!({"nodeName": node, "containers": [{"name": "app"}]});
    let apply = |pod: Value| cluster.apply_pod(&serde_json::from_value(pod).unwrap(), clock::now());
    apply(pod("web-a", bound("node-0003")));
    let service = Asked::new(cluster.clone(), policy());
    let call = |name: &str, containers: Value| json!({"NodeNames": ["node-0001", "node-0002"], "Pod": pod(name, json!({"containers": containers}))});
    let new = call("web-b", json!([{"name": "app"}]));
    let before = service.post(FILTER, new.to_string()).await;
    assert_eq!(passed(&new, &before).len(), 2);
    let mut round = UsageSample::default();
    let used = Resources::new([Some(Amount::new(14_000)), None, None, None, None]);
    round.insert_pod(&PodName::new(NAMESPACE, "web-a"), &used);
    for _ in 0..12 {
        cluster.remember_usage(&round, clock::now());
    }
    let after = service.post(FILTER, new.to_string()).await;
    assert_eq!(passed(&new, &after), [""; 0]);
    let (_, explained) = service.explain(NAMESPACE, "web-b").await;
    let explained = String::from_utf8_lossy(&explained);
    assert!(explained.contains("\"history\""), "{explained}");
    // One that went to a node without being asked about counts there as well.
    apply(pod("web-c", bound("node-0002")));
    let requests = json!([{"resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]);
    let small = call("small", requests);
    let answer = service.post(FILTER, small.to_string()).await;
    assert_eq!(passed(&small, &answer), ["node-0001"]);
}

fn asked_names(call: &Value) -> Vec<String> {
    let text = |name: &Value| name.as_str().unwrap().to_owned();
    if let Some(names) = call["NodeNames"].as_array() {
        return names.iter().map(text).collect();
    }
    let items = call["Nodes"]["items"].as_array().unwrap();
    items
        .iter()
        .map(|node| text(&node["metadata"]["name"]))
        .collect()
}

/// The nodes that an answer to filter lets pass; the rest of it is held to the protocol.
fn passed(call: &Value, answer: &Answer) -> Vec<String> {
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert!(!answer.retry_after);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    let members: Vec<&String> = body.as_object().unwrap().keys().collect();
    let known = [
        "Error",
        "FailedAndUnresolvableNodes",
        "FailedNodes",
        "NodeNames",
        "Nodes",
    ];
    assert!(
        members
            .iter()
            .all(|member| known.contains(&member.as_str())),
        "{members:?}"
    );
    assert_eq!(body["FailedNodes"], json!({}));
    assert_eq!(body["Error"], "");
    let passed = asked_names(&body);
    let refused = body["FailedAndUnresolvableNodes"].as_object().unwrap();
    assert!(refused.values().all(|text| text == REFUSAL));
    assert!(!REFUSAL.contains('%') && !REFUSAL.contains(|c: char| c.is_ascii_digit()));
    // Each node is in one of the two, and those that pass stand in the order asked.
    let asked = asked_names(call);
    let kept: Vec<String> = asked
        .iter()
        .filter(|name| !refused.contains_key(*name))
        .cloned()
        .collect();
    assert_eq!(passed, kept);
    assert_eq!(asked.len(), passed.len() + refused.len());
    if call["NodeNames"].is_null() {
        assert_eq!(body["NodeNames"], Value::Null);
        let sent = call["Nodes"]["items"].as_array().unwrap().iter();
        let echoed: Vec<&Value> = sent
            .filter(|node| !refused.contains_key(node["metadata"]["name"].as_str().unwrap()))
            .collect();
        let items: Vec<&Value> = body["Nodes"]["items"].as_array().unwrap().iter().collect();
        assert_eq!(items, echoed, "nodes are echoed untouched");
    } else {
        assert_eq!(body["Nodes"], Value::Null);
    }
    passed
}

/// The scores of an answer to prioritize, in the order asked.
fn scores(call: &Value, answer: &Answer) -> Vec<u64> {
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    let body: Vec<Value> = serde_json::from_slice(&answer.body).unwrap();
    let hosts: Vec<&str> = body
        .iter()
        .map(|score| score["Host"].as_str().unwrap())
        .collect();
    assert_eq!(hosts, asked_names(call));
    let scores: Vec<u64> = body
        .iter()
        .map(|score| score["Score"].as_u64().unwrap())
        .collect();
    assert!(scores.iter().all(|score| *score <= 10), "{scores:?}");
    scores
}

async fn send(service: &Asked, recorded: &Recorded) -> Answer {
    let body = recorded.body.clone();
    service
        .send(&recorded.target, &recorded.headers, body)
        .await
}

fn calls(target: &str) -> Vec<Recorded> {
    let verb = target.rsplit('/').next();
    let calls = requests("extender")
        .into_iter()
        .filter(|call| call.target.rsplit('/').next() == verb);
    let calls: Vec<Recorded> = calls.collect();
    assert!(!calls.is_empty());
    calls
}

fn is_daemon_set(call: &Value) -> bool {
    let owners = call["Pod"]["metadata"]["ownerReferences"].as_array();
    owners.is_some_and(|owners| owners.iter().any(|owner| owner["kind"] == "DaemonSet"))
}

#[tokio::test]
async fn nodes_without_headroom_are_refused_in_both_forms() {
    for recorded in calls(FILTER) {
        let call = recorded.json();
        let service = Asked::new(opted_in(), policy());
        let passed = passed(&call, &send(&service, &recorded).await);
        let namespace = call["Pod"]["metadata"]["namespace"].as_str().unwrap();
        let judged = namespace == NAMESPACE && !is_daemon_set(&call);
        let asked = asked_names(&call);
        let expected: Vec<String> = asked
            .into_iter()
            .filter(|name| !(judged && is_full(name)))
            .collect();
        assert_eq!(passed, expected, "{}", recorded.name);
    }
}

#[tokio::test]
async fn every_asked_node_is_scored() {
    for recorded in calls(PRIORITIZE) {
        let call = recorded.json();
        let cluster = opted_in();
        let service = Asked::new(cluster.clone(), policy());
        let scores = scores(&call, &send(&service, &recorded).await);
        if call["Pod"]["metadata"]["namespace"] == NAMESPACE && scores.len() > 1 {
            let best = scores.iter().max();
            assert_eq!(best, Some(&10), "{}", recorded.name);
            assert!(scores.iter().min() < best, "{}", recorded.name);
            // The Pod is counted where it will most likely go.
            assert_eq!(cluster.in_flight(), 1, "{}", recorded.name);
        }
        // Asked once more, it is not counted twice, and the answer is the same.
        assert_eq!(
            self::scores(&call, &send(&service, &recorded).await),
            scores
        );
        assert!(cluster.in_flight() <= 1);
    }
}

#[tokio::test]
async fn elsewhere_every_node_passes_with_no_preference() {
    for annotations in [None, Some(vec![("evenkeel.dev/enabled", "yes")])] {
        let cluster = nodes();
        if let Some(annotations) = &annotations {
            add_namespace(&cluster, NAMESPACE, annotations);
        }
        let service = Asked::new(cluster.clone(), policy());
        for recorded in calls(FILTER) {
            let call = recorded.json();
            assert_eq!(
                passed(&call, &send(&service, &recorded).await),
                asked_names(&call)
            );
        }
        for recorded in calls(PRIORITIZE) {
            let scores = scores(&recorded.json(), &send(&service, &recorded).await);
            assert!(scores.iter().all(|score| *score == 0), "{}", recorded.name);
        }
        assert_eq!(cluster.in_flight(), 0);
    }
}

fn call_of(target: &str, name: &str) -> Value {
    let found = calls(target).into_iter().find(|call| call.name == name);
    found.unwrap_or_else(|| panic!("{name} is recorded")).json()
}

#[tokio::test]
async fn the_only_node_left_counts_the_pod_at_once() {
    let mut call = call_of(FILTER, "filter-3-node-names");
    call["NodeNames"] = json!(["node-0004", "node-0005", "node-0008"]);
    let cluster = opted_in();
    let service = Asked::new(cluster.clone(), policy());
    let answer = service.post(FILTER, call.to_string()).await;
    assert_eq!(passed(&call, &answer), ["node-0005"]);
    let detail = cluster.node_detail("node-0005").unwrap();
    assert_eq!(detail.pods_in_flight, 1);
    assert_eq!(detail.in_flight.values()[0], Amount::new(100));

    // Two that pass leave the choice to prioritize, and take back what was counted.
    call["NodeNames"] = json!(["node-0005", "node-0006"]);
    let answer = service.post(FILTER, call.to_string()).await;
    assert_eq!(passed(&call, &answer).len(), 2);
    assert_eq!(cluster.in_flight(), 0);
}

#[tokio::test]
async fn a_burst_does_not_overfill_the_node_that_looked_idle() {
    let cluster = opted_in();
    let service = Asked::new(cluster.clone(), policy());
    let mut chosen = HashMap::new();
    for pod in 0..12 {
        let mut call = call_of(PRIORITIZE, "prioritize-10-node-names");
        call["Pod"]["metadata"]["uid"] = format!("burst-{pod}").into();
        call["Pod"]["metadata"]["name"] = format!("burst-{pod}").into();
        // 5 of 16 cores: two of them fill a node.
        call["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "5".into();
        let filtered = service.post(FILTER, call.to_string()).await;
        let left = passed(&call, &filtered);
        if left.is_empty() {
            break;
        }
        call["NodeNames"] = json!(left);
        let scores = scores(&call, &service.post(PRIORITIZE, call.to_string()).await);
        let best = (0..left.len()).max_by_key(|node| scores[*node]).unwrap();
        *chosen.entry(left[best].clone()).or_insert(0) += 1;
    }
    assert!(chosen.len() >= 6, "{chosen:?}");
    assert!(chosen.values().all(|pods| *pods <= 2), "{chosen:?}");
}

/// Puts a Pod without requests and with a missing image onto every node: it claims 1 TB/s.
fn claim_everywhere(cluster: &ClusterState, namespace: &str, owner: &str, minutes: i64) {
    let now = clock::now();
    let bound = (now - SignedDuration::from_mins(minutes)).to_string();
    for number in 0..NODES {
        let name = format!("{namespace}-{owner}-{number}");
        let pod = json!({
            "metadata": {
                "name": name, "namespace": namespace, "uid": name,
                "annotations": {"evenkeel.dev/network-io": "1TB/s", "evenkeel.dev/disk-io": "1TB/s"},
                "ownerReferences": [
                    {"kind": owner, "name": "claims", "uid": "claims", "controller": true}],
            },
            "spec": {"nodeName": format!("node-{number:04}"), "containers": [{"name": "c"}]},
            "status": {
                "phase": "Pending",
                "conditions": [
                    {"type": "PodScheduled", "status": "True", "lastTransitionTime": bound}],
                "containerStatuses": [
                    {"name": "c", "state": {"waiting": {"reason": "ImagePullBackOff"}}}],
            },
        });
        cluster.apply_pod(&serde_json::from_value(pod).unwrap(), now);
    }
}

#[tokio::test]
async fn claims_that_nothing_runs_behind_refuse_nobody() {
    let call = call_of(FILTER, "filter-3-node-names");
    for (opted_in_as_well, owner, minutes, why) in [
        (false, "ReplicaSet", 0, "the namespace has not opted in"),
        (true, "DaemonSet", 0, "no rule has judged it"),
        (true, "ReplicaSet", 11, "it does not start"),
    ] {
        let cluster = opted_in();
        let service = Asked::new(cluster.clone(), policy());
        let before = passed(&call, &service.post(FILTER, call.to_string()).await);
        assert!(!before.is_empty());
        let enabled = if opted_in_as_well { "true" } else { "false" };
        add_namespace(&cluster, "tenant", &[("evenkeel.dev/enabled", enabled)]);
        claim_everywhere(&cluster, "tenant", owner, minutes);
        let after = passed(&call, &service.post(FILTER, call.to_string()).await);
        assert_eq!(after, before, "{why}");
        // With the measurements gone, loads are sums of demands.
        cluster.apply_sample(Arc::default(), clock::now());
        cluster.advance(clock::now() + SignedDuration::from_mins(4));
        let detail = cluster.node_detail("node-0001").unwrap();
        for claimed in [Resource::NetworkIo, Resource::DiskIo] {
            assert_eq!(detail.committed[claimed], Amount::ZERO, "{why}: {claimed}");
        }
    }
}

#[tokio::test]
async fn nodes_that_are_not_known_pass_and_are_scored_zero() {
    let mut call = call_of(FILTER, "filter-3-node-names");
    call["NodeNames"] = json!(["new-1", "node-0004", "node-0001", "node-0250"]);
    let service = Asked::new(opted_in(), policy());
    let answer = service.post(FILTER, call.to_string()).await;
    assert_eq!(passed(&call, &answer), ["new-1", "node-0001", "node-0250"]);
    let scores = scores(&call, &service.post(PRIORITIZE, call.to_string()).await);
    assert_eq!(scores[0], 0);
    assert!(scores.contains(&10));
}

#[tokio::test]
async fn only_the_scheduler_may_ask_where_its_authority_is_known() {
    let recorded = calls(FILTER)
        .into_iter()
        .find(|call| call.client_certificate)
        .unwrap();
    let certificates = Certificates::new(true);
    let scheduler = Asked::by(opted_in(), policy(), &certificates, true);
    let answer = send(&scheduler, &recorded).await;
    assert!(!passed(&recorded.json(), &answer).is_empty());

    let nobody = Asked::by(opted_in(), policy(), &certificates, false);
    let answer = send(&nobody, &recorded).await;
    assert_eq!(answer.status, StatusCode::UNAUTHORIZED);
    let stranger = Asked::by_client_of(
        &Certificates::new(true),
        opted_in(),
        policy(),
        &certificates,
    );
    let answer = send(&stranger, &recorded).await;
    assert_eq!(answer.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_notice_moves_the_pod_to_the_node_that_was_chosen_and_binds_nothing() {
    let cluster = opted_in();
    let service = Asked::new(cluster.clone(), policy());
    let recorded = calls(BIND).pop().unwrap();
    let notice = recorded.json();
    let (uid, node) = (
        notice["PodUID"].as_str().unwrap(),
        notice["Node"].as_str().unwrap(),
    );
    let outcome = |outcome: &str| format!(r#"verb="bind",outcome="{outcome}"}} 1"#);

    let answer = send(&service, &recorded).await;
    let said: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(answer.status, StatusCode::OK);
    assert!(
        !said["Error"].as_str().unwrap().is_empty(),
        "the scheduler binds"
    );
    assert_eq!(cluster.in_flight(), 0, "a Pod that nobody knows");
    assert!(
        service.page().contains(&outcome("unknown")),
        "{}",
        service.page()
    );

    let asked = ["node-0003", node, "node-0002"];
    let body = call(NAMESPACE, "p0008", uid, &asked);
    let scores = scores(
        &serde_json::from_str(&body).unwrap(),
        &service.post(PRIORITIZE, body).await,
    );
    let best = (0..asked.len()).max_by_key(|&at| scores[at]).unwrap();
    let on = |name: &str| cluster.node_detail(name).unwrap().pods_in_flight;
    assert_eq!(on(asked[best]), 1);
    let told = asked[(best + 1) % asked.len()];
    let told = json!({"PodName": "p0008", "PodNamespace": NAMESPACE, "PodUID": uid, "Node": told});
    service.post(BIND, told.to_string()).await;
    assert_eq!(
        (on(asked[best]), on(told["Node"].as_str().unwrap())),
        (0, 1)
    );
    assert!(service.page().contains(&outcome("noted")));
}

#[tokio::test]
async fn evictions_that_would_make_no_room_are_dropped_in_both_forms() {
    for recorded in calls(PREEMPT) {
        let sent = recorded.json();
        // Recorded node 0 has no network left; the cores of the victims are there anywhere.
        for (opted_in, kept) in [(false, 3), (true, 2)] {
            let cluster = nodes();
            let enabled = if opted_in { "true" } else { "false" };
            add_namespace(&cluster, NAMESPACE, &[("evenkeel.dev/enabled", enabled)]);
            let service = Asked::new(cluster, policy());
            let answer = send(&service, &recorded).await;
            assert_eq!(answer.status, StatusCode::OK);
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            let nodes = body["NodeNameToMetaVictims"].as_object().unwrap();
            assert_eq!(nodes.len(), kept, "{body}");
            assert_eq!(nodes.contains_key("node-0000"), !opted_in);
            let proposed = [&sent["NodeNameToMetaVictims"], &sent["NodeNameToVictims"]];
            let proposed = proposed.into_iter().find(|form| form.is_object()).unwrap();
            for (node, victims) in nodes {
                let uids = |form: &Value| -> Vec<Value> {
                    let pods = form["Pods"].as_array().unwrap().iter();
                    pods.map(|pod| pod.get("UID").unwrap_or(&pod["metadata"]["uid"]).clone())
                        .collect()
                };
                assert_eq!(uids(victims), uids(&proposed[node]));
            }
        }
    }
}

#[tokio::test]
async fn a_node_that_its_victims_leave_with_room_stays() {
    let cluster = opted_in();
    // It uses all that is over the line of the network of node-0000.
    let victim = json!({
        "metadata": {"name": "hog", "namespace": NAMESPACE, "uid": "hog"},
        "spec": {"nodeName": "node-0000", "containers": [{"name": "c"}]},
        "status": {"phase": "Running", "containerStatuses": [
            {"name": "c", "state": {"running": {"startedAt": "2026-01-01T00:00:00Z"}}}]},
    });
    let now = clock::now();
    cluster.apply_pod(&serde_json::from_value(victim).unwrap(), now);
    let mut sample = UsageSample::default();
    let used = |value| {
        let mut used = Resources::default();
        used[Resource::NetworkIo] = Some(Amount::new(value));
        used
    };
    let measured = used(106_250_000).map(|value| {
        value.map(|value| NodeSample {
            value,
            at: now,
            window: SignedDuration::ZERO,
        })
    });
    sample.insert_node("node-0000", &measured);
    sample.insert_pod(&PodName::new(NAMESPACE, "hog"), &used(90_000_000));
    cluster.apply_sample(Arc::new(sample), now);
    let service = Asked::new(cluster, policy());
    let mut question: Value = serde_json::from_str(&call(NAMESPACE, "p", "1", &[])).unwrap();
    for (uid, kept) in [("hog", 1), ("another", 0)] {
        question["NodeNameToMetaVictims"] =
            json!({"node-0000": {"Pods": [{"UID": uid}], "NumPDBViolations": 0}});
        let answer = service.post(PREEMPT, question.to_string()).await;
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(
            body["NodeNameToMetaVictims"].as_object().unwrap().len(),
            kept,
            "{uid}"
        );
    }
}

/// A call about a Pod with this name and UID.
fn call(namespace: &str, name: &str, uid: &str, nodes: &[&str]) -> String {
    let metadata = json!({"name": name, "namespace": namespace, "uid": uid});
    let container = json!({"resources": {"requests": {"cpu": "1"}}});
    json!({"Pod": {"metadata": metadata, "spec": {"containers": [container]}}, "NodeNames": nodes})
        .to_string()
}

#[tokio::test]
async fn what_is_explained_is_the_newest_pod_of_the_name_and_of_opted_in_namespaces_only() {
    let cluster = opted_in();
    add_namespace(&cluster, "elsewhere", &[]);
    let service = Asked::new(cluster, policy());
    let nodes = ["node-0001", "node-0002"];
    for path in [FILTER, PRIORITIZE] {
        for namespace in [NAMESPACE, "elsewhere", "never-seen"] {
            let answer = service.post(path, call(namespace, "p", "1", &nodes)).await;
            assert_eq!(answer.status, StatusCode::OK);
        }
    }
    for namespace in ["elsewhere", "never-seen"] {
        let (status, _) = service.explain(namespace, "p").await;
        assert_eq!(status, StatusCode::NOT_FOUND, "{namespace}");
    }
    let (_, body) = service.explain(NAMESPACE, "p").await;
    let scored: Value = serde_json::from_slice(&body).unwrap();
    assert!(scored["lastPrioritize"].is_object(), "{scored}");
    // A new filter begins a new attempt, of the same Pod or of another one.
    for uid in ["1", "2"] {
        service
            .post(FILTER, call(NAMESPACE, "p", uid, &nodes[..1]))
            .await;
        let (status, body) = service.explain(NAMESPACE, "p").await;
        assert_eq!(status, StatusCode::OK);
        let body: Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(body["lastFilter"]["asked"], 1, "{body}");
        assert_eq!(body["lastPrioritize"], Value::Null, "{body}");
    }
}

#[tokio::test]
async fn whoever_asks_about_what_is_no_pod_is_told_what_is_accepted() {
    let service = Asked::new(opted_in(), policy());
    for (body, why) in [
        ("kind: Pod\nmetadata: {name: a}\n", "is not a JSON object"),
        ("", "is not a JSON object"),
        ("[]", "is not a JSON object"),
        ("{\"spec\":", "EOF"),
        (r#"{"kind": "Deployment"}"#, "is a Deployment"),
        (r#"{"kind": "Pod", "spec": 7}"#, "spec"),
    ] {
        let (status, answer) = service.what_if_text("", body.to_owned()).await;
        assert_eq!(status, StatusCode::BAD_REQUEST, "{body}");
        assert_eq!(answer["reason"], "malformed", "{body}");
        let error = answer["error"].as_str().unwrap();
        for part in ["the body: ", why, "accepted: a Pod in JSON"] {
            assert!(error.contains(part), "{body}: {error}");
        }
    }
    for body in [r#" {"kind": "Pod"}"#, "{}"] {
        let (status, _) = service.what_if_text("", body.to_owned()).await;
        assert_eq!(status, StatusCode::OK, "{body}");
    }
}

/// The values of each node in the terms of a past answer.
fn told<T>(explained: &Value, answer: &str, of: impl Fn(&Value) -> T) -> HashMap<String, T> {
    let nodes = explained[answer]["terms"]["nodes"].as_array();
    let nodes = nodes.unwrap_or_else(|| panic!("{answer}: {explained}"));
    let named = |node: &Value| (node["name"].as_str().unwrap().to_owned(), of(node));
    nodes.iter().map(named).collect()
}

#[tokio::test]
async fn in_a_burst_each_pod_is_explained_by_the_figures_that_it_was_answered_by() {
    let cluster = opted_in();
    let service = Asked::new(cluster.clone(), policy());
    let mut answers = Vec::new();
    for pod in 0..12 {
        let mut call = call_of(PRIORITIZE, "prioritize-10-node-names");
        let name = format!("burst-{pod}");
        call["Pod"]["metadata"]["uid"] = name.clone().into();
        call["Pod"]["metadata"]["name"] = name.clone().into();
        call["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "5".into();
        let asked = asked_names(&call);
        let filtered = service.post(FILTER, call.to_string()).await;
        let left = passed(&call, &filtered);
        call["NodeNames"] = json!(left);
        let given = if left.len() > 1 {
            scores(&call, &service.post(PRIORITIZE, call.to_string()).await)
        } else {
            Vec::new()
        };
        answers.push((name, asked, left, given));
    }
    assert!(
        answers
            .iter()
            .any(|(_, asked, left, _)| left.len() < asked.len())
    );
    for (name, asked, left, given) in answers {
        let (status, body) = service.explain(NAMESPACE, &name).await;
        assert_eq!(status, StatusCode::OK, "{name}");
        let explained: Value = serde_json::from_slice(&body).unwrap();
        let passes = told(&explained, "lastFilter", |node| node["passes"] == true);
        assert_eq!(passes.len(), asked.len(), "{name}");
        for node in &asked {
            assert_eq!(passes[node], left.contains(node), "{name} on {node}");
        }
        if given.is_empty() {
            assert_eq!(explained["lastPrioritize"], Value::Null);
            continue;
        }
        let sent = told(&explained, "lastPrioritize", |node| node["score"].as_u64());
        for (node, score) in left.iter().zip(given) {
            assert_eq!(sent[node], Some(score), "{name} on {node}");
        }
        let best = &explained["lastPrioritize"]["best"];
        assert_eq!(best, &explained["lastPrioritize"]["terms"]["best"]);
        // Its loads include the Pods before it.
        let loads = told(&explained, "lastPrioritize", |node| {
            let cpu = &node["resources"]["cpu"];
            let parts = ["measured", "inFlight"].map(|part| cpu[part].as_u64().unwrap());
            (cpu["load"].as_u64().unwrap(), parts[0] + parts[1])
        });
        assert!(
            loads.values().all(|(load, parts)| load == parts),
            "{loads:?}"
        );
    }
}

#[tokio::test]
async fn what_would_become_of_a_pod_can_be_asked_of_some_nodes() {
    let service = Asked::new(opted_in(), policy());
    let pod: Value = serde_json::from_str(&call(NAMESPACE, "p", "1", &[])).unwrap();
    let ask = async |nodes: &str| {
        service
            .what_if(&format!("?nodes={nodes}"), &pod["Pod"])
            .await
    };
    let (status, found) = ask("node-0004,node-0002,node-0001").await;
    assert_eq!(status, StatusCode::OK, "{found}");
    let nodes = found["now"]["nodes"].as_array().unwrap();
    let passes = |name: &str| {
        let node = nodes.iter().find(|node| node["name"] == name).unwrap();
        (node["passes"].as_bool().unwrap(), node["score"].as_u64())
    };
    assert_eq!(nodes.len(), 3);
    assert_eq!(passes("node-0004"), (false, None));
    assert_eq!(passes("node-0001"), (true, Some(10)), "the emptier one");
    let (status, found) = ask("node-0001,elsewhere").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert!(found.to_string().contains("elsewhere"), "{found}");
}

#[tokio::test]
async fn nodes_that_are_not_known_are_counted_once_they_are_to_choose_from() {
    let service = Asked::new(opted_in(), policy());
    let counted = |count| format!("evenkeel_extender_nodes_unknown_total {count}\n");
    for (path, nodes, count) in [
        (FILTER, &["node-0001", "new", "newer"][..], 0),
        (PRIORITIZE, &["node-0001", "new", "newer"], 2),
        (PRIORITIZE, &["node-0001", "node-0002"], 2),
        // The only node that passes is not asked about again.
        (FILTER, &["node-0004", "new"], 3),
    ] {
        service.post(path, call(NAMESPACE, "p", "1", nodes)).await;
        let page = service.page();
        assert!(page.contains(&counted(count)), "{path} {nodes:?}: {page}");
    }
}

#[tokio::test]
async fn hostile_bodies_get_a_clear_refusal() {
    let service = Asked::new(opted_in(), policy());
    for path in [PREEMPT, BIND] {
        for (name, body) in hostile::no_requests() {
            let answer = service.post(path, body).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name}");
        }
    }
    for path in [FILTER, PRIORITIZE] {
        let wrong = [
            json!({"Pod": {}, "NodeNames": [1]}),
            json!({"Pod": {}, "NodeNames": "node"}),
            json!({"Pod": 5, "NodeNames": []}),
            json!({"Pod": {}, "Nodes": {"items": [{"metadata": {"name": 5}}]}}),
            json!({"Pod": {}, "Nodes": {"items": [5]}}),
            json!({"Pod": {}}),
        ];
        let wrong = wrong.map(|body| ("of the wrong type", body.to_string().into_bytes()));
        for (name, body) in hostile::no_requests().into_iter().chain(wrong) {
            let text = String::from_utf8_lossy(&body[..body.len().min(80)]).into_owned();
            let answer = service.post(path, body).await;
            assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name}: {text}");
            assert!(!answer.retry_after);
        }
        let large = vec![b' '; usize::try_from(EXTENDER_BODY).unwrap() + 1];
        assert_eq!(
            service.post(path, large).await.status,
            StatusCode::PAYLOAD_TOO_LARGE
        );
    }
}

#[tokio::test]
async fn what_no_rule_reads_may_be_odd() {
    let service = Asked::new(opted_in(), policy());
    let call = call_of(FILTER, "filter-3-node-names");
    let text = call.to_string();
    for (from, to) in [
        (
            r#""NodeNames":"#,
            format!(r#""Odd":{},"NodeNames":"#, hostile::nested()),
        ),
        (r#""NodeNames":"#, r#""Odd":1e400,"NodeNames":"#.to_owned()),
        (
            r#""spec":{"#,
            format!(r#""spec":{{"odd":{},"#, hostile::nested()),
        ),
    ] {
        let body = text.replacen(from, &to, 1);
        assert_ne!(body, text);
        let answer = service.post(FILTER, body).await;
        assert_eq!(passed(&call, &answer), ["node-0002", "node-0001"]);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn any_damage_gets_an_answer(damage in hostile::damage(), which: prop::sample::Index, verb in 0..4_usize) {
        thread_local! {
            static SERVICE: Asked = Asked::new(opted_in(), policy());
            static RECORDED: Vec<Recorded> = requests("extender")
                .into_iter()
                .filter(|recorded| recorded.body.len() < 20_000)
                .collect();
        }
        let body = RECORDED.with(|recorded| hostile::damaged(&which.get(recorded).body, &damage));
        let path = [FILTER, PRIORITIZE, PREEMPT, BIND][verb];
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let answer = SERVICE.with(|service| runtime.block_on(service.post(path, body)));
        prop_assert!(answer.status == StatusCode::OK || answer.status.is_client_error(), "{:?}", answer);
        prop_assert!(!answer.retry_after);
        if answer.status == StatusCode::OK {
            // Echoed text is JSON as it came, half a surrogate pair included.
            prop_assert!(serde_json::from_slice::<IgnoredAny>(&answer.body).is_ok());
        }
    }
}
