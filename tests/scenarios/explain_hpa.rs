//! The explained count of HPAs in random situations against the decision of kube-controller-manager.
//! The targets are ReplicationControllers without their controller: a count that changes makes and
//! deletes no Pod, so both decide on the same Pods.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::extract::{Path, Query, State};
use axum::response::Json;
use axum::routing::get;
use evenkeel_clock as clock;
use evenkeel_hpa::explanation::HpaExplanation;
use evenkeel_service::cluster::server_time;
use evenkeel_service::hpa_reader;
use jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use tokio::net::TcpListener;

use super::hpa_situations::HpaSituation;
use super::resource_metrics::{aggregate, resources, serve};
use crate::support::control_plane;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{objects, with_control_plane};
use crate::support::dev_api::{ask, create, get as read, patch};
use crate::support::trial::Requirement;

const NAMESPACE: &str = "why";
const HPAS: &str = "/apis/autoscaling/v2/namespaces/why/horizontalpodautoscalers";
const TARGETS: &str = "/api/v1/namespaces/why/replicationcontrollers";
const PODS: &str = "/api/v1/namespaces/why/pods";
const SITUATIONS: usize = 50;

/// The usage of each Pod in millicores, with the time of all measurements.
type Usage = Arc<Mutex<BTreeMap<String, i64>>>;

fn the_explained_count_is_that_of_kube_controller_manager() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        objects::create_namespace(client, NAMESPACE, &[]).await;
        let usage = Usage::default();
        let server = serve_metrics(client, Arc::clone(&usage)).await;
        let situations: Vec<_> = (0..SITUATIONS).map(HpaSituation::new).collect();
        for situation in &situations {
            make_target(client, situation, &usage).await;
        }
        let (explained, statuses) =
            tokio::join!(explain_new(client, &situations), first_statuses(client));
        let compared = compare_first(&situations, &explained, &statuses);
        assert!(compared * 2 > SITUATIONS, "only {compared} in time");
        compare_next(client, &situations).await;
        server.abort();
    });
}

async fn explain(client: &Client, name: &str) -> HpaExplanation {
    let now = server_time(client).await.expect("a date");
    let read = hpa_reader::read(client, NAMESPACE, name, now).await;
    let snapshot = read.unwrap_or_else(|error| panic!("{name}: {error}"));
    snapshot.explain()
}

/// Creates the HPAs, and explains each before the controller decides on it: that looks at a new HPA
/// after its period.
async fn explain_new(client: &Client, situations: &[HpaSituation]) -> Vec<HpaExplanation> {
    let mut explained = Vec::new();
    for situation in situations {
        create(client, HPAS, &situation.hpa()).await;
        explained.push(explain(client, &situation.name).await);
    }
    explained
}

/// The first status of each HPA that the controller decided on.
async fn first_statuses(client: &Client) -> BTreeMap<String, Value> {
    let mut first = BTreeMap::new();
    eventually("a decision on each HPA", async || {
        let list = read(client, HPAS).await;
        for hpa in list["items"].as_array().into_iter().flatten() {
            let name = hpa["metadata"]["name"].as_str().unwrap_or_default();
            if hpa["status"]["conditions"].is_array() {
                let status = || hpa["status"].clone();
                first.entry(name.to_owned()).or_insert_with(status);
            }
        }
        holds(first.len() == SITUATIONS, || format!("{}", first.len()))
    })
    .await;
    first
}

/// Compares the first decisions, and answers how many were explained before they were made.
fn compare_first(
    situations: &[HpaSituation],
    explained: &[HpaExplanation],
    statuses: &BTreeMap<String, Value>,
) -> usize {
    let mut compared = 0;
    for (situation, explained) in situations.iter().zip(explained) {
        let status = &statuses[&situation.name];
        if !explained.conditions.is_empty() {
            continue;
        }
        compared += 1;
        let told = format!("{situation:?}\n{status}\n{}", explained.summary.join("\n"));
        let desired = status["desiredReplicas"].as_i64();
        match explained.decided_replicas {
            Some(decided) => assert_eq!(desired, Some(i64::from(decided)), "{told}"),
            None => assert_eq!(desired.unwrap_or(0), 0, "{told}"),
        }
        let current = &status["currentMetrics"][0]["resource"]["current"];
        if let Some(percent) = current["averageUtilization"].as_i64() {
            let found = explained.metrics[0].current.clone();
            assert_eq!(found, Some(format!("{percent}%")), "{told}");
        }
    }
    compared
}

/// Explains decided HPAs from their status and Events. The next count that the controller decides is
/// the explained one.
async fn compare_next(client: &Client, situations: &[HpaSituation]) {
    let mut explained = Vec::new();
    for situation in situations {
        let found = explain(client, &situation.name).await;
        let before = found.reported_replicas;
        explained.push((situation, found, before));
    }
    // More than one look of the controller at each HPA.
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let list = read(client, HPAS).await;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        explained.retain(|(situation, found, before)| {
            let named = |item: &&Value| item["metadata"]["name"] == *situation.name;
            let hpa = items.iter().find(named).expect("the HPA is listed");
            let desired = hpa["status"]["desiredReplicas"].as_i64().unwrap_or(0);
            if desired == i64::from(*before) {
                return true;
            }
            let told = format!("{situation:?}\n{hpa}\n{}", found.summary.join("\n"));
            assert_leads_to(found, *before, desired, &told);
            false
        });
    }
    for (situation, found, before) in explained {
        let told = format!("{situation:?}\n{}", found.summary.join("\n"));
        assert_leads_to(&found, before, i64::from(before), &told);
    }
}

/// The controller comes to the explained count. Earlier changes that Events do not show can only slow it down: these
/// name the count that a change led to, and not the one before the first.
fn assert_leads_to(found: &HpaExplanation, before: i32, desired: i64, told: &str) {
    let (before, decided) = (
        i64::from(before),
        i64::from(found.decided_replicas.unwrap_or(before)),
    );
    if found.directions.iter().all(|one| one.is_certain) {
        assert_eq!(desired, decided, "{told}");
    } else {
        let between = before.min(decided)..=before.max(decided);
        assert!(
            between.contains(&desired),
            "{desired} of {between:?}: {told}"
        );
    }
}

async fn make_target(client: &Client, situation: &HpaSituation, usage: &Usage) {
    let now = clock::now();
    create(client, TARGETS, &situation.target()).await;
    let status = json!({"status": {"replicas": situation.replicas}});
    let path = format!("{TARGETS}/{}/status", situation.name);
    patched(client, &path, &status).await;
    for (index, pod) in situation.pods.iter().enumerate() {
        let name = situation.pod_name(index);
        create(client, PODS, &situation.pod(index)).await;
        patched(client, &format!("{PODS}/{name}/status"), &pod.status(now)).await;
        if pod.is_deleted() {
            let (code, told) = ask(client, "DELETE", &format!("{PODS}/{name}"), &Value::Null).await;
            assert_eq!(code, 200, "{told}");
        }
        if let Some(milli) = pod.measured {
            usage.lock().expect("no panic").insert(name, milli);
        }
    }
}

async fn patched(client: &Client, path: &str, body: &Value) {
    let (code, told) = patch(client, path, "strategic-merge", body).await;
    assert_eq!(code, 200, "{path}: {told}");
}

async fn serve_metrics(client: &Client, usage: Usage) -> tokio::task::JoinHandle<()> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let port = listener.local_addr().expect("it is bound").port();
    let path = "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods";
    let router = Router::new()
        .route("/apis/metrics.k8s.io/v1beta1", get(resources))
        .route(path, get(measured))
        .with_state((usage, clock::now()));
    let server = tokio::spawn(serve(listener, router));
    let probe = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";
    aggregate(client, ("metrics.k8s.io", "v1beta1"), port, probe).await;
    server
}

/// The usage of the Pods whose names begin with the value that the selector asks for.
async fn measured(
    State((usage, at)): State<(Usage, Timestamp)>,
    Path(namespace): Path<String>,
    Query(query): Query<BTreeMap<String, String>>,
) -> Json<Value> {
    let selector = query.get("labelSelector").cloned().unwrap_or_default();
    let prefix = selector.trim_start_matches("app=").to_owned() + "-";
    let usage = usage.lock().expect("no panic");
    let ours = usage.iter().filter(|(name, _)| name.starts_with(&prefix));
    let items = ours.map(|(name, milli)| {
        json!({"metadata": {"name": name, "namespace": namespace},
            "timestamp": format!("{at:.0}"), "window": "15s", "containers": [
                {"name": "app", "usage": {"cpu": format!("{milli}m"), "memory": "64Mi"}}]})
    });
    Json(
        json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {},
        "items": items.collect::<Vec<_>>()}),
    )
}

crate::support::trial::suite!([Requirement::Condition(control_plane::check)] => [
    the_explained_count_is_that_of_kube_controller_manager,
]);
