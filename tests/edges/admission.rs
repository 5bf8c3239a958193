//! Every recorded AdmissionReview gets the right answer from the real router, checked by applying
//! the patch to the object as the API server does.

#![allow(clippy::unwrap_used)] // helpers of tests

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use axum::http::StatusCode;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use evenkeel_clock as clock;
use evenkeel_metrics::usage::UsageSample;
use evenkeel_objects::controller_key::ControllerKey;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::lease::LeaseRecord;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::admission::{
    AdmissionContext, AdmissionOutcome, AdmissionRequestView, nothing_carried, review, ungated,
};
use evenkeel_placement::demand::DemandSource;
use evenkeel_placement::snapshot::Snapshot;
use evenkeel_placement::{SchedulingPolicy, demand};
use evenkeel_service::cluster::ClusterState;
use evenkeel_service::cluster::owners::Owner;
use evenkeel_service::server::paths::MUTATE;
use evenkeel_units::{Amount, Resource, Resources};
use proptest::prelude::*;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::support::answering::{ADMISSION_BODY, Answer, Asked, add_namespace, cluster, policy};
use crate::support::hostile;
use crate::support::hostile::Damage;
use crate::support::recorded::{Recorded, requests};

const NAMESPACE: &str = "e2e-admission";
const PREFIX: &str = "evenkeel.dev/";

/// The results for the recorded Pods: profile, then cpu, memory, network I/O, disk I/O and disk.
///
/// By hand, for nodes of 2 cores and 1 GiB: a share of 15 % makes cpu dominant from 300m; memory
/// decides where nothing else does, from 154 MiB.
const EXPECTED: [(&str, &str, [u64; 5]); 20] = [
    // The bandwidth annotations are caps, no demand.
    (
        "pod-create-bandwidth-annotations",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    // Three containers of 10m and 16Mi.
    ("pod-create-big", "normal", [30, 50_331_648, 0, 0, 0]),
    ("pod-create-dry-run", "normal", [100, 134_217_728, 0, 0, 0]),
    (
        "pod-create-from-cronjob",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    (
        "pod-create-from-daemonset",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    (
        "pod-create-from-deployment",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    ("pod-create-from-job", "normal", [100, 134_217_728, 0, 0, 0]),
    (
        "pod-create-from-statefulset",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    // The init container (500m, 512Mi) is more than the container with its sidecar (150m, 192Mi).
    (
        "pod-create-init-and-sidecar",
        "compute",
        [500, 536_870_912, 0, 0, 0],
    ),
    ("pod-create-kubectl-run", "normal", [0; 5]),
    // The LimitRange's defaults are requests like any other: 200m and 256Mi.
    (
        "pod-create-limit-range-defaults",
        "memory",
        [200, 268_435_456, 0, 0, 0],
    ),
    (
        "pod-create-limits-only",
        "compute",
        [2000, 1_073_741_824, 0, 0, 0],
    ),
    ("pod-create-minimal", "normal", [0; 5]),
    ("pod-create-plain", "normal", [100, 134_217_728, 0, 0, 0]),
    // The Pod's own 1 and 1Gi, whatever the containers say.
    (
        "pod-create-pod-level-resources",
        "compute",
        [1000, 1_073_741_824, 0, 0, 0],
    ),
    // 1500m, 1e9 and 512Mi of ephemeral storage.
    (
        "pod-create-quantities",
        "compute",
        [1500, 1_000_000_000, 0, 0, 536_870_912],
    ),
    (
        "pod-create-reinvocation-1",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    (
        "pod-create-reinvocation-2",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    (
        "pod-create-scheduling-rich",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
    (
        "pod-create-server-side-apply",
        "normal",
        [100, 134_217_728, 0, 0, 0],
    ),
];

fn expected(name: &str) -> Option<(&'static str, [u64; 5])> {
    // Recorded through a Service; the Pod is the plain one.
    let name = if name == "pod-create-through-service" {
        "pod-create-plain"
    } else {
        name
    };
    let found = EXPECTED.iter().find(|(known, _, _)| *known == name);
    found.map(|(_, profile, demand)| (*profile, *demand))
}

/// Three nodes of 2 cores, 1 GiB, 1 Gbit/s, 100 MB/s and 100 GiB.
fn nodes() -> ClusterState {
    let cluster = cluster(false);
    for name in ["a", "b", "c"] {
        let node = json!({
            "metadata": {"name": name, "annotations": {
                "evenkeel.dev/network-capacity": "1Gbps", "evenkeel.dev/disk-io-capacity": "100MB/s"}},
            "status": {
                "allocatable": {"cpu": "2", "memory": "1Gi", "ephemeral-storage": "100Gi"},
                "conditions": [{"type": "Ready", "status": "True"}]},
        });
        cluster.apply_node(
            &serde_json::from_value(node).unwrap(),
            jiff::Timestamp::UNIX_EPOCH,
        );
    }
    cluster
}

fn opted_in(policy: SchedulingPolicy) -> Asked {
    let cluster = nodes();
    add_namespace(&cluster, NAMESPACE, &[("evenkeel.dev/enabled", "true")]);
    renewed(&cluster, &[4, 2]);
    Asked::new(cluster, policy)
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap()
}

/// The reaction of the API server to an answer.
#[derive(Debug)]
struct Reviewed {
    /// The object with the patch applied; `None` where there is no patch.
    patched: Option<Value>,
    warnings: Vec<String>,
}

/// Holds an answer to the protocol, and applies its patch.
fn reviewed(review: &Value, answer: &Answer) -> Reviewed {
    assert_eq!(answer.status, StatusCode::OK, "{answer:?}");
    assert!(!answer.retry_after);
    let body: Value = serde_json::from_slice(&answer.body).unwrap();
    assert_eq!(body["apiVersion"], "admission.k8s.io/v1");
    assert_eq!(body["kind"], "AdmissionReview");
    let response = body["response"].as_object().unwrap();
    let known = ["uid", "allowed", "patchType", "patch", "warnings"];
    assert!(
        response.keys().all(|key| known.contains(&key.as_str())),
        "{response:?}"
    );
    assert_eq!(response["uid"], review["request"]["uid"]);
    assert_eq!(response["allowed"], true);
    let warnings = response
        .get("warnings")
        .map(|warnings| serde_json::from_value::<Vec<String>>(warnings.clone()).unwrap());
    let patch = response.get("patch").map(|patch| {
        assert_eq!(response["patchType"], "JSONPatch");
        STANDARD.decode(patch.as_str().unwrap()).unwrap()
    });
    assert_eq!(patch.is_some(), response.contains_key("patchType"));
    let patched = patch.map(|patch| {
        let operations: Vec<Value> = serde_json::from_slice(&patch).unwrap();
        assert!(!operations.is_empty());
        assert!(
            operations.iter().all(|operation| operation["op"] == "add"),
            "{operations:?}"
        );
        let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
        let mut object = review["request"]["object"].clone();
        json_patch::patch(&mut object, &patch).unwrap();
        object
    });
    Reviewed {
        patched,
        warnings: warnings.unwrap_or_default(),
    }
}

async fn ask(service: &Asked, review: &Value) -> Reviewed {
    let answer = service.post(MUTATE, review.to_string()).await;
    reviewed(review, &answer)
}

/// Only our annotations may differ, and `spec.schedulerName` where that is configured.
fn without_ours(object: &Value) -> Value {
    let mut object = object.clone();
    let annotations = &mut object["metadata"]["annotations"];
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.retain(|key, _| !key.starts_with(PREFIX));
    }
    if annotations.is_null()
        || annotations
            .as_object()
            .is_some_and(serde_json::Map::is_empty)
    {
        object["metadata"]
            .as_object_mut()
            .unwrap()
            .remove("annotations");
    }
    object
}

fn ours(object: &Value) -> BTreeMap<String, String> {
    let annotations = object["metadata"]["annotations"].as_object();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    annotations
        .into_iter()
        .flatten()
        .filter(|(key, _)| key.starts_with(PREFIX))
        .map(|(key, value)| (key.clone(), text(value)))
        .collect()
}

fn creates_pod(review: &Value) -> bool {
    let request = &review["request"];
    request["operation"] == "CREATE"
        && request["resource"] == json!({"group": "", "version": "v1", "resource": "pods"})
        && request["subResource"].is_null()
}

/// The properties of every annotated Pod.
fn well_annotated(review: &Value, patched: &Value) {
    let object = &review["request"]["object"];
    assert_eq!(without_ours(patched), without_ours(object));
    let ours = ours(patched);
    let profile = &ours["evenkeel.dev/profile"];
    let known = ["compute", "memory", "io", "network", "normal"];
    assert!(known.contains(&profile.as_str()), "{profile}");
    assert!(["requests", "declared"].contains(&ours["evenkeel.dev/profile-source"].as_str()));
    let demand: BTreeMap<String, u64> = serde_json::from_str(&ours["evenkeel.dev/demand"]).unwrap();
    let resources = ["cpu", "disk", "diskIo", "memory", "networkIo"];
    assert!(demand.keys().eq(resources), "{demand:?}");
}

/// Some were recorded with two webhooks installed, each under a path of its own.
async fn send(service: &Asked, recorded: &Recorded) -> Reviewed {
    let query = recorded
        .target
        .split_once('?')
        .map_or("", |(_, query)| query);
    let target = format!("{MUTATE}?{query}");
    let body = recorded.body.clone();
    let answer = service.send(&target, &recorded.headers, body).await;
    reviewed(&recorded.json(), &answer)
}

#[tokio::test]
async fn recorded_requests_are_answered_as_computed_by_hand() {
    let service = opted_in(policy());
    let mut checked = BTreeSet::new();
    for recorded in requests("admission") {
        let review = recorded.json();
        let Reviewed { patched, warnings } = send(&service, &recorded).await;
        assert_eq!(warnings, Vec::<String>::new(), "{}", recorded.name);
        if !creates_pod(&review) {
            assert_eq!(patched, None, "{}", recorded.name);
            continue;
        }
        let patched = patched.unwrap_or_else(|| panic!("{} is not patched", recorded.name));
        well_annotated(&review, &patched);
        if let Some((profile, [cpu, memory, network, disk_io, disk])) = expected(&recorded.name) {
            let demand = format!(
                r#"{{"cpu":{cpu},"memory":{memory},"networkIo":{network},"diskIo":{disk_io},"disk":{disk}}}"#
            );
            let wanted = [
                ("evenkeel.dev/demand", demand.as_str()),
                ("evenkeel.dev/profile", profile),
                ("evenkeel.dev/profile-source", "requests"),
            ];
            let wanted = wanted.map(|(key, value)| (key.to_owned(), value.to_owned()));
            assert_eq!(ours(&patched), BTreeMap::from(wanted), "{}", recorded.name);
            checked.insert(recorded.name);
        }
    }
    assert_eq!(checked.len(), EXPECTED.len() + 1, "{checked:?}");
}

/// True for what is left to the cluster's own scheduler.
fn is_clusters_own(pod: &Value) -> bool {
    let class = pod["spec"]["priorityClassName"]
        .as_str()
        .unwrap_or_default();
    let owners = pod["metadata"]["ownerReferences"].as_array();
    let is_daemon = |owner: &Value| owner["kind"] == "DaemonSet";
    class.starts_with("system-") || owners.is_some_and(|owners| owners.iter().any(is_daemon))
}

/// The Lease of the second scheduler, renewed at these seconds before now.
fn renewed(cluster: &ClusterState, ago: &[i64]) {
    for &ago in ago {
        let at = cluster.now() - jiff::SignedDuration::from_secs(ago);
        let record = LeaseRecord {
            holder: Some("a".to_owned()),
            resource_version: ago.to_string(),
            duration: std::time::Duration::from_secs(15),
            renewed: Some(at),
            transitions: 0,
        };
        cluster.apply_scheduler_lease(&record, at);
    }
}

/// A member of the request, and what it is set to.
type Change = (&'static str, Value);

/// Requests that differ from that of a plain Pod, and whether the second scheduler may have it.
fn for_schedulers() -> [(Option<Change>, bool); 8] {
    let class = |name: &str| ("/object/spec/priorityClassName", json!(name));
    let daemon = json!([{"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "a", "uid": "a",
                         "controller": true}]);
    let mirror = json!({"kubernetes.io/config.mirror": "a"});
    [
        (None, true),
        (Some(("/object/spec/schedulerName", json!(""))), true),
        (
            Some(("/object/spec/schedulerName", json!("volcano"))),
            false,
        ),
        (Some(class("system-node-critical")), false),
        (Some(class("system-cluster-critical")), false),
        (Some(("/object/metadata/ownerReferences", daemon)), false),
        (Some(("/object/metadata/annotations", mirror)), false),
        (Some(("/namespace", json!("kube-system"))), false),
    ]
}

/// The harm of a second scheduler that is gone: a Pod that is given to it waits for ever.
#[tokio::test]
async fn pods_are_given_to_the_second_scheduler_while_it_is_alive_and_the_clusters_own_never() {
    for (leases, is_alive) in [
        (&[][..], false),
        (&[2], false),
        (&[4, 2], true),
        (&[40, 20], false),
        (&[14, 1], true),
        (&[40, 2], false),
    ] {
        let cluster = nodes();
        for namespace in [NAMESPACE, "kube-system"] {
            add_namespace(&cluster, namespace, &[("evenkeel.dev/enabled", "true")]);
        }
        renewed(&cluster, leases);
        let second = SchedulingPolicy {
            scheduler_name: Some("evenkeel-scheduler".to_owned()),
            ..policy()
        };
        let service = Asked::new(cluster, second);
        for (change, may_go) in for_schedulers() {
            let mut review = recorded("pod-create-plain");
            let changed = format!("{leases:?} {change:?}");
            if let Some((path, value)) = change {
                let (parent, member) = path.rsplit_once('/').unwrap();
                review["request"].pointer_mut(parent).unwrap()[member] = value;
            }
            let patched = ask(&service, &review).await.patched.unwrap();
            let before = &review["request"]["object"]["spec"]["schedulerName"];
            let second = json!("evenkeel-scheduler");
            let expected = if may_go && is_alive { &second } else { before };
            assert_eq!(&patched["spec"]["schedulerName"], expected, "{changed}");
        }
    }
}

/// The harm: the ReplicaSet controller creates up to 256 Pods at once, and most of them got neither
/// annotations nor score terms.
#[tokio::test]
async fn every_pod_of_a_large_rollout_is_reviewed() {
    let (service, review) = (opted_in(policy()), recorded("pod-create-plain"));
    let body = Bytes::from(review.to_string());
    let answers = (0..256).map(|_| service.post(MUTATE, body.clone()));
    for answer in futures::future::join_all(answers).await {
        let patched = reviewed(&review, &answer).patched.unwrap();
        assert!(!ours(&patched).is_empty());
    }
}

#[tokio::test]
async fn a_second_review_changes_nothing() {
    for policy in [
        policy(),
        SchedulingPolicy {
            scheduler_name: Some("evenkeel-scheduler".to_owned()),
            ..policy()
        },
        // The name that the API server enters by itself.
        SchedulingPolicy {
            scheduler_name: Some("default-scheduler".to_owned()),
            ..policy()
        },
    ] {
        let scheduler = policy.scheduler_name.clone();
        let service = opted_in(policy);
        for recorded in requests("admission") {
            let mut review = recorded.json();
            let Some(patched) = send(&service, &recorded).await.patched else {
                continue;
            };
            if let Some(scheduler) = &scheduler {
                let pod = &review["request"]["object"];
                let expected = if is_clusters_own(pod) {
                    "default-scheduler"
                } else {
                    scheduler.as_str()
                };
                assert_eq!(
                    patched["spec"]["schedulerName"], expected,
                    "{}",
                    recorded.name
                );
            }
            review["request"]["object"] = patched;
            review["request"]["uid"] = "another".into();
            assert_eq!(
                ask(&service, &review).await.patched,
                None,
                "{}",
                recorded.name
            );
        }
    }
}

#[tokio::test]
async fn pods_elsewhere_are_left_alone() {
    for annotations in [
        None,
        Some(vec![]),
        Some(vec![("evenkeel.dev/enabled", "false")]),
    ] {
        let cluster = nodes();
        if let Some(annotations) = &annotations {
            add_namespace(&cluster, NAMESPACE, annotations);
        }
        let service = Asked::new(cluster, policy());
        for recorded in requests("admission") {
            let found = send(&service, &recorded).await;
            assert_eq!(found.patched, None, "{} {annotations:?}", recorded.name);
            assert_eq!(found.warnings, Vec::<String>::new(), "{}", recorded.name);
        }
    }
}

#[test]
fn nothing_is_decided_on_a_cluster_that_was_never_listed() {
    let cluster = nodes();
    add_namespace(&cluster, NAMESPACE, &[("evenkeel.dev/enabled", "true")]);
    let body = recorded("pod-create-plain").to_string();
    let request = AdmissionRequestView::parse(body.as_bytes()).unwrap();
    let mut snapshot = Snapshot::clone(&cluster.snapshot());
    for (synced, outcome) in [
        (true, AdmissionOutcome::Patched),
        (false, AdmissionOutcome::NotSynced),
    ] {
        snapshot.synced = synced;
        let known = AdmissionContext {
            snapshot: &snapshot,
            policy: &policy(),
            gates: &ungated,
            score_terms: &nothing_carried,
            now: clock::now(),
        };
        let reviewed = review(&request, &known);
        assert_eq!(reviewed.outcome, outcome);
        let answer: Value = serde_json::from_slice(&reviewed.body).unwrap();
        assert_eq!(answer["response"]["allowed"], true);
        assert_eq!(answer["response"]["patch"].is_string(), synced);
    }
}

fn recorded(name: &str) -> Value {
    let found = requests("admission")
        .into_iter()
        .find(|recorded| recorded.name == name);
    found.unwrap_or_else(|| panic!("{name} is recorded")).json()
}

#[tokio::test]
async fn caps_are_demand_where_that_is_configured() {
    let service = opted_in(SchedulingPolicy {
        caps_as_demand: true,
        ..policy()
    });
    let review = recorded("pod-create-bandwidth-annotations");
    let patched = ask(&service, &review).await.patched.unwrap();
    let ours = ours(&patched);
    // 1 Gbit/s and 100 Mbit/s are 137.5 MB/s, more than a node's network.
    assert!(
        ours["evenkeel.dev/demand"].contains(r#""networkIo":137500000"#),
        "{ours:?}"
    );
    assert_eq!(ours["evenkeel.dev/profile"], "network");
}

/// A running Pod of the ReplicaSet with this UID.
fn running(name: &str, replica_set: &str) -> Value {
    let owner = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1",
        "uid": replica_set, "controller": true});
    json!({"metadata": {"name": name, "namespace": NAMESPACE, "uid": name,
            "ownerReferences": [owner]},
        "spec": {"nodeName": "a", "containers": [{"name": "app"}]},
        "status": {"phase": "Running"}})
}

/// A Deployment of which a Pod runs, and a review of a Pod of its next rollout, which says of nothing what it needs.
fn of_a_deployment(cluster: &ClusterState) -> Value {
    add_namespace(cluster, NAMESPACE, &[("evenkeel.dev/enabled", "true")]);
    let mut review = recorded("pod-create-from-deployment");
    let next = review["request"]["object"]["metadata"]["ownerReferences"][0]["uid"].clone();
    for replica_set in ["rs-1", next.as_str().unwrap()] {
        let owner = Owner::new("apps/v1", "Deployment", "web");
        let replica_set = ControllerKey::new(NAMESPACE, replica_set);
        cluster.apply_owner(Kind::ReplicaSet, &replica_set, Some(owner));
    }
    let pod = serde_json::from_value(running("web-1-a", "rs-1")).unwrap();
    cluster.apply_pod(&pod, clock::now());
    let object = &mut review["request"]["object"];
    object["spec"]["containers"][0]["resources"] = json!({});
    review
}

/// The harm: by a made-up review, any client in the cluster learnt what the Pods of any workload use.
#[tokio::test]
async fn a_review_is_told_nothing_of_what_other_pods_use() {
    let cluster = nodes();
    let mut review = of_a_deployment(&cluster);
    let mut round = UsageSample::default();
    let used = [300, 64 << 20, 1 << 26, 5_000_000, 1 << 30].map(|used| Some(Amount::new(used)));
    round.insert_pod(&PodName::new(NAMESPACE, "web-1-a"), &Resources::new(used));
    let service = Asked::new(cluster.clone(), policy());
    let forged = r#"{"cpu":999999,"history":["cpu"]}"#;
    review["request"]["object"]["metadata"]["annotations"] = json!({"evenkeel.dev/demand": forged});
    let before = ask(&service, &review).await.patched.unwrap();
    for _ in 0..12 {
        cluster.remember_usage(&round, clock::now());
    }
    let after = ask(&service, &review).await.patched.unwrap();
    assert_eq!(after, before);
    let ours = ours(&after);
    let demand = r#"{"cpu":0,"memory":0,"networkIo":0,"diskIo":0,"disk":0}"#;
    assert_eq!(ours["evenkeel.dev/demand"], demand);
    assert_eq!(ours["evenkeel.dev/profile-source"], "requests");
    // Where the Pod is asked about by kube-scheduler, or watched, it is known.
    let mut pod: Pod = serde_json::from_value(after).unwrap();
    cluster.add_history(&mut pod);
    let counted = demand::demand(&pod, false);
    let cpu = counted.amounts[Resource::Cpu].get();
    assert!((300..320).contains(&cpu), "{cpu}");
    assert_eq!(counted.sources, Resources::new([DemandSource::History; 5]));
}

/// The harm: ten seconds after a made-up review of a Pod that never came, no new Pod was given a readiness gate.
#[tokio::test]
async fn a_review_of_a_pod_that_never_comes_shuts_no_readiness_gate() {
    let cluster = nodes();
    let review = of_a_deployment(&cluster);
    let profile = json!({"metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}, "onlineReplicas": 1}});
    cluster.apply_profile(&serde_json::from_value(profile).unwrap());
    let now = clock::instant();
    cluster.condition_written(true, now);
    let service = Asked::new(cluster.clone(), policy());
    let patched = ask(&service, &review).await.patched.unwrap();
    let gates = patched["spec"]["readinessGates"].as_array();
    assert_eq!(gates.map(Vec::len), Some(1), "{patched}");
    let later = now + Duration::from_secs(20);
    assert!(cluster.is_gate_open(later));
    // kube-scheduler asks about Pods that are there.
    let mut asked = patched;
    asked["metadata"]["uid"] = json!("real");
    cluster.ask(&serde_json::from_value(asked).unwrap(), clock::now());
    assert!(!cluster.is_gate_open(later));
}

#[tokio::test]
async fn a_dry_run_is_answered_as_the_real_thing() {
    let service = opted_in(policy());
    let mut review = recorded("pod-create-dry-run");
    assert_eq!(review["request"]["dryRun"], true);
    let dry = ask(&service, &review).await.patched;
    review["request"]["dryRun"] = false.into();
    assert_eq!(ask(&service, &review).await.patched, dry);
    assert!(dry.is_some());
}

#[tokio::test]
async fn what_the_user_says_counts_and_what_is_not_understood_is_told() {
    let service = opted_in(policy());
    for (annotations, profile, source, warnings) in [
        (json!({"evenkeel.dev/profile": "io"}), "io", "declared", 0),
        (
            json!({"evenkeel.dev/profile": "fast"}),
            "normal",
            "requests",
            1,
        ),
        // A profile that admission itself found is found again.
        (
            json!({"evenkeel.dev/profile": "io", "evenkeel.dev/profile-source": "requests"}),
            "normal",
            "requests",
            0,
        ),
        (
            json!({"evenkeel.dev/network-io": "500Mbps"}),
            "network",
            "requests",
            0,
        ),
        (
            json!({"evenkeel.dev/network-io": "much"}),
            "normal",
            "requests",
            1,
        ),
        (
            json!({"evenkeel.dev/demand": "{\"cpu\":1}", "evenkeel.dev/disk-io": "50MB/s"}),
            "io",
            "requests",
            0,
        ),
        (json!(null), "normal", "requests", 0),
    ] {
        let mut review = recorded("pod-create-plain");
        review["request"]["object"]["metadata"]["annotations"] = annotations.clone();
        let found = ask(&service, &review).await;
        assert_eq!(
            found.warnings.len(),
            warnings,
            "{annotations} {:?}",
            found.warnings
        );
        let patched = found.patched.unwrap();
        well_annotated(&review, &patched);
        assert_eq!(
            ours(&patched)["evenkeel.dev/profile"],
            profile,
            "{annotations}"
        );
        assert_eq!(
            ours(&patched)["evenkeel.dev/profile-source"],
            source,
            "{annotations}"
        );
        review["request"]["object"] = patched;
        assert_eq!(ask(&service, &review).await.patched, None, "{annotations}");
    }
}

#[tokio::test]
async fn a_pod_that_asks_for_it_is_left_alone() {
    let mut review = recorded("pod-create-plain");
    review["request"]["object"]["metadata"]["annotations"] = json!({"evenkeel.dev/skip": "true"});
    assert_eq!(ask(&opted_in(policy()), &review).await.patched, None);
}

#[tokio::test]
async fn an_object_that_is_no_pod_is_allowed_as_it_is_and_the_user_told() {
    let service = opted_in(policy());
    for object in [
        json!(null),
        json!("text"),
        json!([]),
        json!({"metadata": {"name": 5}}),
        json!({"metadata": {}, "spec": {"containers": 5}}),
        json!({"metadata": {}, "spec": {"containers": [{"resources": {"requests": {"cpu": "x"}}}]}}),
        json!({"metadata": "text", "spec": {}}),
    ] {
        let mut review = recorded("pod-create-plain");
        review["request"]["object"] = object.clone();
        let found = ask(&service, &review).await;
        assert_eq!(found.patched, None, "{object}");
        assert_eq!(found.warnings.len(), 1, "{object}");
    }
}

fn plain_with(member: &str) -> String {
    let review = recorded("pod-create-plain").to_string();
    review.replacen(r#""spec":{"#, &format!(r#""spec":{{{member},"#), 1)
}

#[tokio::test]
async fn hostile_bodies_get_a_clear_refusal() {
    let service = opted_in(policy());
    for (name, body) in hostile::no_requests() {
        let answer = service.post(MUTATE, body).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{name}");
        assert!(!answer.retry_after);
        let told: Value = serde_json::from_slice(&answer.body).unwrap();
        assert!(
            told["message"].is_string() || told["error"].is_string(),
            "{name}: {told}"
        );
    }
    let large = vec![b' '; usize::try_from(ADMISSION_BODY).unwrap() + 1];
    let answer = service.post(MUTATE, large).await;
    assert_eq!(answer.status, StatusCode::PAYLOAD_TOO_LARGE);
    let headers = [("content-type".to_owned(), "text/plain".to_owned())];
    let answer = service
        .send(MUTATE, &headers, Bytes::from_static(b"{}"))
        .await;
    assert_eq!(answer.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

/// Otherwise few bodies would become many long answers that the sender does not have to take.
#[tokio::test]
async fn what_a_stranger_sends_is_not_sent_back_at_length() {
    let service = opted_in(policy());
    let long = "x".repeat(1 << 20);
    let mut unnamed = recorded("pod-create-plain");
    unnamed["request"]["uid"] = json!(long);
    let mut other = recorded("pod-create-plain");
    other["apiVersion"] = json!(long);
    let mut text = recorded("pod-create-plain");
    text["request"] = json!(long);
    for (field, review) in [
        ("request.uid", unnamed),
        ("apiVersion", other),
        ("body", text),
    ] {
        let answer = service.post(MUTATE, review.to_string()).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{field}");
        let told = String::from_utf8(answer.body.to_vec()).unwrap();
        assert!(told.contains(field), "{field}: {told}");
        assert!(told.len() < 2048, "{field}: {} bytes", told.len());
    }
    let mut review = recorded("pod-create-plain");
    review["request"]["object"] = json!({"metadata": long});
    let found = ask(&service, &review).await;
    assert_eq!(found.warnings.len(), 1);
    assert!(found.warnings[0].chars().count() <= 301);
}

#[tokio::test]
async fn a_pod_with_odd_parts_is_allowed() {
    let service = opted_in(policy());
    for member in [
        format!(r#""odd":{}"#, hostile::nested()),
        r#""odd":1e400"#.to_owned(),
        r#""odd":-99999999999999999999999999999999"#.to_owned(),
        r#""odd":"\u0000""#.to_owned(),
    ] {
        let body = plain_with(&member);
        let answer = service.post(MUTATE, body).await;
        let review = recorded("pod-create-plain");
        assert_eq!(
            answer.status,
            StatusCode::OK,
            "{}",
            &member[..30.min(member.len())]
        );
        let body: Value = serde_json::from_slice(&answer.body).unwrap();
        assert_eq!(body["response"]["uid"], review["request"]["uid"]);
        assert_eq!(body["response"]["allowed"], true);
    }
    for member in [r#""containers":[]"#, r#""containers":[],"containers":null"#] {
        let answer = service.post(MUTATE, plain_with(member)).await;
        assert!(
            [200, 400].contains(&answer.status.as_u16()),
            "a key that stands there twice"
        );
    }
}

fn quantity() -> impl Strategy<Value = Value> {
    let suffix = prop::sample::select(&["", "m", "k", "M", "Gi", "Ki", "e3", "E", "x", "u"][..]);
    prop_oneof![
        (0_u32..5000, suffix).prop_map(|(number, suffix)| format!("{number}{suffix}").into()),
        (0_u32..100).prop_map(Value::from),
        (0_u32..100).prop_map(|tenths| Value::from(f64::from(tenths) / 10.0)),
        Just(Value::Null),
    ]
}

fn resources() -> impl Strategy<Value = Value> {
    let names = &["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu"][..];
    let list = || prop::collection::btree_map(prop::sample::select(names), quantity(), 0..4);
    (list(), prop::option::of(list()))
        .prop_map(|(requests, limits)| json!({"requests": requests, "limits": limits}))
}

fn container() -> impl Strategy<Value = Value> {
    let restart = prop::option::of(Just("Always"));
    (resources(), restart)
        .prop_map(|(resources, restart)| json!({"resources": resources, "restartPolicy": restart}))
}

fn pod() -> impl Strategy<Value = Value> {
    let keys = &[
        "evenkeel.dev/profile",
        "evenkeel.dev/profile-source",
        "evenkeel.dev/demand",
        "evenkeel.dev/network-io",
        "evenkeel.dev/disk-io",
        "kubernetes.io/egress-bandwidth",
        "example.com/a~b",
    ][..];
    let values = &[
        "io", "requests", "declared", "10MB/s", "1G", "5", "", "nonsense", "{}",
    ][..];
    let annotations = prop::collection::btree_map(
        prop::sample::select(keys),
        prop::sample::select(values),
        0..5,
    );
    let containers = || prop::collection::vec(container(), 0..3);
    (
        prop::option::of(annotations),
        containers(),
        containers(),
        prop::option::of(resources()),
        prop::option::of(prop::sample::select(&["default-scheduler", "other"][..])),
    )
        .prop_map(|(annotations, init, containers, resources, scheduler)| {
            json!({
                "metadata": {"generateName": "web-", "annotations": annotations},
                "spec": {"initContainers": init, "containers": containers,
                         "resources": resources, "schedulerName": scheduler},
            })
        })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn any_pod_is_reviewed_once(pod in pod(), caps_as_demand: bool, scheduler in prop::option::of(Just("own".to_owned()))) {
        let set_scheduler = scheduler.is_some();
        let service = opted_in(SchedulingPolicy { caps_as_demand, scheduler_name: scheduler, ..policy() });
        let mut review = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "u", "operation": "CREATE", "namespace": NAMESPACE,
                        "resource": {"group": "", "version": "v1", "resource": "pods"},
                        "object": pod},
        });
        let runtime = runtime();
        if let Some(patched) = runtime.block_on(ask(&service, &review)).patched {
            if !set_scheduler {
                well_annotated(&review, &patched);
            }
            review["request"]["object"] = patched;
            prop_assert_eq!(runtime.block_on(ask(&service, &review)).patched, None);
        }
    }

    #[test]
    fn any_damage_gets_an_answer(damage in hostile::damage(), which: prop::sample::Index) {
        thread_local! {
            static RECORDED: Vec<Recorded> = requests("admission")
                .into_iter()
                .filter(|recorded| recorded.body.len() < 20_000)
                .collect();
        }
        let body = RECORDED.with(|recorded| damaged(which.get(recorded), &damage));
        let answer = runtime().block_on(opted_in(policy()).post(MUTATE, body));
        prop_assert!(answer.status == StatusCode::OK || answer.status.is_client_error(), "{:?}", answer);
        prop_assert!(!answer.retry_after);
        if answer.status == StatusCode::OK {
            let body: Value = serde_json::from_slice(&answer.body).unwrap();
            prop_assert_eq!(&body["response"]["allowed"], &Value::from(true));
        }
    }
}

fn damaged(recorded: &Recorded, damage: &[Damage]) -> Vec<u8> {
    hostile::damaged(&recorded.body, damage)
}
