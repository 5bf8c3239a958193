//! The embedded cluster with the real service: Pods are classified by the webhook over TLS, placed
//! through the extender over HTTPS, and scaled by the HPA controller, all through the API.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

mod checks;
mod commands;
mod configuration;
mod faults;
mod profiles;
mod score_labels;
mod signals;
mod tuning;

use std::collections::BTreeMap;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use evenkeel_lab::dev::cluster::{
    DevCluster, DevClusterOptions, DevEvent, DevEventBus, TimedEvent,
};
use evenkeel_lab::dev::embedded_service;
use evenkeel_service::dashboard::ReplayBoard;
use evenkeel_units::Ratio;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Node, Pod, Service};
use k8s_openapi::api::discovery::v1::{Endpoint, EndpointSlice};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use kube::api::{EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt as _};
use serde_json::{Value, json};
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::RecvError;
use tokio::time::timeout;

/// However busy the machine is.
const PATIENCE: Duration = Duration::from_mins(4);

/// The profile that workloads of the shipped scenario are made for. The web workload's depends on
/// how full the nodes are when it comes.
const PROFILES: [(&str, &str); 5] = [
    ("frontend", "normal"),
    ("stream", "network"),
    ("store", "io"),
    ("encode", "compute"),
    ("cache", "memory"),
];

async fn start(
    folder: &std::path::Path,
    change: impl FnOnce(&mut DevClusterOptions),
) -> (DevCluster, Receiver<TimedEvent>) {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut options = DevClusterOptions::new(folder.to_owned());
    // A Pod that a stalled machine admits without the webhook has no profile. No webhook may wait longer;
    // kube-scheduler waits as long for the extender.
    options.patience = Some(Duration::from_secs(30));
    change(&mut options);
    let serve = async |wiring| {
        embedded_service::run(wiring, ReplayBoard::default())
            .await
            .map_err(Into::into)
    };
    let events = DevEventBus::default();
    let happened = events.subscribe();
    let cluster = DevCluster::start(options, events, serve).await;
    let cluster = cluster.unwrap_or_else(|error| panic!("{error}"));
    (cluster, happened)
}

/// Reads events until `done` is content.
async fn until(
    cluster: &mut DevCluster,
    events: &mut Receiver<TimedEvent>,
    mut done: impl FnMut(DevEvent) -> bool,
) {
    let reading = async {
        loop {
            match events.recv().await {
                Ok(happened) if done(happened.event.clone()) => return,
                Ok(_) | Err(RecvError::Lagged(_)) => {}
                Err(RecvError::Closed) => panic!("the events have ended"),
            }
        }
    };
    tokio::select! {
        read = timeout(PATIENCE, reading) => read.expect("what was waited for has happened"),
        error = cluster.failed() => panic!("the service ended: {error}"),
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_workload_is_classified_placed_and_the_web_is_scaled() {
    let folder = tempfile::tempdir().unwrap();
    let (mut cluster, mut events) = start(folder.path(), |options| {
        options.speed = Ratio::new(60.0).unwrap();
    })
    .await;
    let mut placed: BTreeMap<String, String> = BTreeMap::new();
    let mut failed_open = Vec::new();
    let (mut scored, mut scaled) = (false, false);
    until(&mut cluster, &mut events, |event| {
        match event {
            DevEvent::PodPlaced {
                pod,
                profile,
                score,
                ..
            } => {
                let workload = pod
                    .name()
                    .rsplitn(3, '-')
                    .last()
                    .unwrap_or_default()
                    .to_owned();
                scored |= score.is_some_and(|score| score > 0);
                placed.insert(workload, profile.unwrap_or_default());
            }
            DevEvent::Scaled { workload, to, .. } => scaled |= workload == "web" && to > 2,
            DevEvent::FailedOpen { call, pod } => failed_open.push(format!("{call}: {pod}")),
            _ => {}
        }
        scored && scaled && placed.len() == PROFILES.len() + 1
    })
    .await;
    for (workload, profile) in PROFILES {
        assert_eq!(
            placed.get(workload).map(String::as_str),
            Some(profile),
            "{workload}; failed open: {failed_open:?}"
        );
    }
    let pods: Api<Pod> = Api::all(cluster.client.clone());
    for pod in pods.list(&ListParams::default()).await.unwrap() {
        assert!(
            pod.annotations().contains_key("evenkeel.dev/demand"),
            "{}; failed open: {failed_open:?}",
            pod.name_any()
        );
    }
    let autoscalers: Api<HorizontalPodAutoscaler> = Api::namespaced(cluster.client.clone(), "shop");
    // A measurement that came late on a busy machine makes it false for a moment.
    await_condition(
        &autoscalers,
        "web",
        ("ScalingActive", "True", "ValidMetricFound"),
    )
    .await;
    assert!(std::fs::metadata(cluster.kubeconfig()).unwrap().len() > 0);
    let summary = cluster.stop().await;
    assert!(summary.seconds > 0.0);
}

/// Runs `evenkeel doctor` on the cluster: its exit code, and the checks by severity.
async fn examine(cluster: &DevCluster) -> (i32, BTreeMap<String, Vec<String>>, String) {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .args(["doctor", "-o", "json", "--kubeconfig"])
        .arg(cluster.kubeconfig());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    let output = output.await.unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let report: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {text}"));
    let mut found: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for finding in report["findings"].as_array().unwrap() {
        let word = |field: &str| finding[field].as_str().unwrap().to_owned();
        found.entry(word("severity")).or_default().push(word("id"));
    }
    (output.status.code().unwrap(), found, text)
}

/// Runs doctor until it finds that this check is wrong, and nothing else is.
async fn await_fault(cluster: &DevCluster, check: &str, mut plant: impl AsyncFnMut()) {
    let found = timeout(PATIENCE, async {
        loop {
            plant().await;
            let (code, found, text) = examine(cluster).await;
            let errors = found.get("error").cloned().unwrap_or_default();
            assert_eq!(code, i32::from(!errors.is_empty()), "{text}");
            if errors.iter().any(|id| id == check) {
                return;
            }
        }
    });
    found
        .await
        .unwrap_or_else(|_| panic!("{check} is not found"));
}

/// Waits until Events of these reasons were told of in a namespace.
async fn await_events(cluster: &DevCluster, namespace: &str, reasons: &[&str]) {
    let events: Api<k8s_openapi::api::core::v1::Event> =
        Api::namespaced(cluster.client.clone(), namespace);
    eventually(reasons, async || {
        let told = events.list(&ListParams::default()).await.unwrap();
        let told = |reason: &&str| {
            let mut told = told.items.iter();
            told.any(|event| event.reason.as_deref() == Some(*reason))
        };
        reasons.iter().all(told).then_some(())
    })
    .await;
}

/// Asks until there is an answer.
async fn eventually<T>(what: impl std::fmt::Debug, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asking = async {
        loop {
            if let Some(found) = ask().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let found = timeout(PATIENCE, asking).await;
    found.unwrap_or_else(|_| panic!("{what:?} did not come about"))
}

fn of<T: serde::de::DeserializeOwned>(object: Value) -> T {
    serde_json::from_value(object).unwrap()
}

/// Applies by hand a Deployment of four Pods with everything around it.
async fn apply_by_hand(cluster: &DevCluster) {
    let client = &cluster.client;
    let (post, labels) = (PostParams::default(), json!({"app": "hand"}));
    let containers = json!([
        {"name": "one", "image": "registry.example/app:1",
            "resources": {"requests": {"cpu": "30m", "memory": "30Mi"}}},
        {"name": "two", "image": "registry.example/app:1",
            "resources": {"requests": {"cpu": "10m", "memory": "10Mi"}}},
    ]);
    let deployment = of(json!({"metadata": {"name": "hand"}, "spec": {
        "replicas": 4, "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}}}}));
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), "default");
    deployments.create(&post, &deployment).await.unwrap();
    let service = of(json!({"metadata": {"name": "hand"},
        "spec": {"selector": labels, "ports": [{"name": "web", "port": 80}]}}));
    let services: Api<Service> = Api::namespaced(client.clone(), "default");
    services.create(&post, &service).await.unwrap();
    let budget = of(json!({"metadata": {"name": "hand"},
        "spec": {"maxUnavailable": 1, "selector": {"matchLabels": labels}}}));
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), "default");
    budgets.create(&post, &budget).await.unwrap();
}

fn autoscaler(metric: &Value) -> HorizontalPodAutoscaler {
    of(json!({"metadata": {"name": "hand"}, "spec": {
        "minReplicas": 4, "maxReplicas": 6, "metrics": [metric],
        "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "hand"}}}))
}

async fn await_condition(
    hpas: &Api<HorizontalPodAutoscaler>,
    name: &str,
    (kind, status, reason): (&str, &str, &str),
) {
    eventually(reason, async || {
        let status_now = hpas.get(name).await.unwrap().status?;
        let mut conditions = status_now.conditions?.into_iter();
        let holds = conditions.find(|is| {
            is.type_ == kind && is.status == status && is.reason.as_deref() == Some(reason)
        });
        holds.map(drop)
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_applied_by_hand_fares_as_on_a_real_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, _events) = start(folder.path(), |options| {
        options.scenario.workloads.clear();
    })
    .await;
    apply_by_hand(&cluster).await;
    what_is_around_follows(&cluster).await;
    replicas_follow_memory(&cluster).await;
    let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), "default");
    new_versions_roll_out(&deployments).await;
    let reasons = [
        "Scheduled",
        "Pulled",
        "Started",
        "Killing",
        "SuccessfulCreate",
        "SuccessfulDelete",
        "ScalingReplicaSet",
        "SuccessfulRescale",
        "FailedGetPodsMetric",
    ];
    await_events(&cluster, "default", &reasons).await;
    containers_are_measured(&cluster).await;
    writers_are_known(&deployments).await;
    cluster.stop().await;
}

/// Endpoints, the disruption budget, and the Leases of nodes.
async fn what_is_around_follows(cluster: &DevCluster) {
    let client = &cluster.client;
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), "default");
    eventually("four endpoints", async || {
        let slice = slices.get_opt("hand-pods").await.unwrap()?;
        let ready = |one: &&Endpoint| {
            let conditions = one.conditions.as_ref();
            conditions.is_some_and(|conditions| conditions.ready == Some(true))
        };
        (slice.endpoints.iter().filter(ready).count() == 4).then_some(())
    })
    .await;
    let budgets: Api<PodDisruptionBudget> = Api::namespaced(client.clone(), "default");
    let status = eventually("a counted budget", async || {
        let status = budgets.get("hand").await.unwrap().status?;
        (status.current_healthy == 4).then_some(status)
    })
    .await;
    let counts = (
        status.desired_healthy,
        status.expected_pods,
        status.disruptions_allowed,
    );
    assert_eq!(counts, (3, 4, 1));
    let pods: Api<Pod> = Api::namespaced(client.clone(), "default");
    let hand = ListParams::default().labels("app=hand");
    let first = pods.list(&hand).await.unwrap().items[0].name_any();
    pods.evict(&first, &EvictParams::default()).await.unwrap();
    let leases: Api<Lease> = Api::namespaced(client.clone(), "kube-node-lease");
    let nodes: Api<Node> = Api::all(client.clone());
    eventually("a Lease of each node", async || {
        let leases = leases.list(&ListParams::default()).await.unwrap();
        let nodes = nodes.list(&ListParams::default()).await.unwrap();
        (leases.items.len() == nodes.items.len()).then_some(())
    })
    .await;
}

/// An HPA reports a metric that no server has. One on memory scales up to the maximum, and a raised
/// minimum acts at once.
async fn replicas_follow_memory(cluster: &DevCluster) {
    let hpas: Api<HorizontalPodAutoscaler> = Api::namespaced(cluster.client.clone(), "default");
    let unknown = json!({"type": "Pods", "pods": {"metric": {"name": "rps"},
        "target": {"type": "AverageValue", "averageValue": "10"}}});
    let (post, params) = (PostParams::default(), PatchParams::default());
    hpas.create(&post, &autoscaler(&unknown)).await.unwrap();
    await_condition(
        &hpas,
        "hand",
        ("ScalingActive", "False", "FailedGetPodsMetric"),
    )
    .await;
    // Such Pods use seven tenths of what they request: 28 MiB of 40.
    let memory = json!({"type": "Resource", "resource": {"name": "memory",
        "target": {"type": "AverageValue", "averageValue": "14Mi"}}});
    let change = Patch::Merge(json!({"spec": {"metrics": [memory]}}));
    hpas.patch("hand", &params, &change).await.unwrap();
    await_condition(&hpas, "hand", ("ScalingActive", "True", "ValidMetricFound")).await;
    await_condition(&hpas, "hand", ("ScalingLimited", "True", "TooManyReplicas")).await;
    let raised = Patch::Merge(json!({"spec": {"minReplicas": 8, "maxReplicas": 8}}));
    hpas.patch("hand", &params, &raised).await.unwrap();
}

async fn new_versions_roll_out(deployments: &Api<Deployment>) {
    let image = json!({"name": "one", "image": "registry.example/app:2"});
    let rolled = json!({"spec": {"template": {"spec": {"containers": [image]}}}});
    let params = PatchParams::default();
    let rolled = Patch::Strategic(rolled);
    deployments.patch("hand", &params, &rolled).await.unwrap();
    eventually("a finished rollout of eight", async || {
        let deployment = deployments.get("hand").await.unwrap();
        let (wanted, status) = (deployment.metadata.generation, deployment.status?);
        let counts = [
            status.replicas,
            status.updated_replicas,
            status.available_replicas,
        ];
        let done = counts == [Some(8); 3] && status.observed_generation == wanted;
        done.then_some(())
    })
    .await;
}

/// Usage stands under the names of the containers, in the shares that they request.
async fn containers_are_measured(cluster: &DevCluster) {
    let path = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";
    let containers = eventually("measured containers", async || {
        let request = axum::http::Request::get(path).body(Vec::new()).unwrap();
        let list: Value = cluster.client.request(request).await.unwrap();
        let containers = list["items"][0]["containers"].as_array()?.clone();
        (containers.len() == 2).then_some(containers)
    })
    .await;
    let names: Vec<&Value> = containers.iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["one", "two"]);
}

async fn writers_are_known(deployments: &Api<Deployment>) {
    let deployment = deployments.get("hand").await.unwrap();
    let managers = deployment.metadata.managed_fields.unwrap();
    let scaled = managers
        .iter()
        .find(|one| one.subresource.as_deref() == Some("scale"));
    let manager = scaled.and_then(|one| one.manager.as_deref());
    assert_eq!(manager, Some("kube-controller-manager"));
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_finds_nothing_wrong_until_something_is() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, _events) = start(folder.path(), |_| {}).await;
    // Measurements come, the scheduler calls, and the label is mirrored within a few rounds.
    let healthy = timeout(PATIENCE, async {
        loop {
            let (code, found, _) = examine(&cluster).await;
            // Only the timeout of these tests, which is not the shipped one, is worth a warning.
            let warned = found.get("warning").cloned().unwrap_or_default();
            if code == 0 && warned.iter().all(|id| id == "webhook") {
                return found;
            }
        }
    });
    let found = healthy.await.expect("nothing is wrong");
    // Differences from an installation are reported, and are no fault.
    assert_eq!(
        found["info"],
        ["deployment", "write-guard", "clean-up", "rights", "signer"]
    );

    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(cluster.client.clone());
    let foreign = rcgen::generate_simple_self_signed(["foreign".to_owned()]).unwrap();
    let foreign = BASE64.encode(foreign.cert.pem());
    // The signer mends it in a while, so it may take more than one blow.
    await_fault(&cluster, "webhook-trust", async || {
        let damage = json!([{
            "op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": foreign,
        }]);
        let damage: Patch<()> = Patch::Json(serde_json::from_value(damage).unwrap());
        let params = PatchParams::default();
        webhooks.patch("evenkeel", &params, &damage).await.unwrap();
    })
    .await;
    cluster.metrics().set_down(true);
    await_fault(&cluster, "measurements", async || {}).await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn doctor_misses_the_extender_of_a_scheduler_without_one() {
    let folder = tempfile::tempdir().unwrap();
    let (cluster, mut events) = start(folder.path(), |options| {
        options.scenario.workloads.clear();
    })
    .await;
    let maps: Api<ConfigMap> = Api::namespaced(cluster.client.clone(), "kube-system");
    let plain = Patch::Merge(json!({"data": {"config.yaml": "percentageOfNodesToScore: 100"}}));
    let params = PatchParams::default();
    maps.patch("kube-scheduler", &params, &plain).await.unwrap();
    let namespace = DevClusterOptions::new(folder.path().to_owned())
        .scenario
        .workloads[0]
        .namespace
        .clone();
    let namespaces: Api<Namespace> = Api::all(cluster.client.clone());
    let opted_in = serde_json::from_value(json!({
        "metadata": {"name": namespace, "annotations": {"evenkeel.dev/enabled": "true"}},
    }));
    let (post, opted_in) = (PostParams::default(), opted_in.unwrap());
    namespaces.create(&post, &opted_in).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(cluster.client.clone(), &namespace);
    await_events(&cluster, "kube-system", &["FileRead"]).await;
    let pod = serde_json::from_value(json!({
        "metadata": {"name": "placed"},
        "spec": {"containers": [{"name": "main", "image": "registry.example/app:1"}]},
    }));
    pods.create(&post, &pod.unwrap()).await.unwrap();
    timeout(PATIENCE, async {
        while !matches!(
            events.recv().await.unwrap().event,
            DevEvent::PodPlaced { .. }
        ) {}
    })
    .await
    .expect("the Pod is placed");
    await_fault(&cluster, "extender-called", async || {}).await;
    cluster.stop().await;
}
