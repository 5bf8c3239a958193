//! `evenkeel uninstall`: every kind of leftover is planted on the embedded API server and found,
//! and what was written on other objects is taken back.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::http::{Method, Request};
use evenkeel_apiserver::{ApiServer, Settings};
use evenkeel_objects::bounds::ObjectBounds;
use evenkeel_scaling::bounds_record::annotation::BoundsAnnotation;
use evenkeel_scaling::merge::recommendation::Recommendation;
use evenkeel_service::uninstall;
use evenkeel_service::uninstall_plan::Extent;
use jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use crate::support::custom_kind::{KEDA, define};
use crate::support::dev_api::{ask, create, get, patch, path, settings, with_settings};

const OWN: &str = "evenkeel-system";

/// The end of a call of the program.
pub(super) struct Called {
    pub(super) code: i32,
    pub(super) stdout: String,
    pub(super) stderr: String,
}

impl Called {
    pub(super) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).expect(&self.stderr)
    }

    /// The objects of a list, as `Kind namespace/name`.
    fn objects(&self, list: &str) -> Vec<String> {
        let objects = self.json()[list].as_array().unwrap().clone();
        let text = |field: &Value| field.as_str().map(ToOwned::to_owned);
        let named = |object: &Value| {
            let place = text(&object["namespace"]).map_or(String::new(), |place| place + "/");
            format!(
                "{} {place}{}",
                text(&object["kind"]).unwrap(),
                text(&object["name"]).unwrap()
            )
        };
        objects.iter().map(named).collect()
    }
}

/// Calls `uninstall` against the server.
async fn evenkeel(server: &ApiServer, arguments: &[&str]) -> Called {
    call(server, "uninstall", arguments).await
}

/// Calls the program against the server, while that goes on answering.
pub(super) async fn call(server: &ApiServer, subcommand: &str, arguments: &[&str]) -> Called {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), server.kubeconfig()).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .arg(subcommand)
        .args(arguments)
        .arg("--kubeconfig")
        .arg(file.path())
        .env_clear();
    let output = tokio::task::spawn_blocking(move || command.output())
        .await
        .unwrap()
        .unwrap();
    drop(file);
    Called {
        code: output.status.code().unwrap(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

/// The record of a floor of 6 above the user's 2 to 10.
fn record() -> String {
    let now = Timestamp::UNIX_EPOCH;
    let user = ObjectBounds {
        min: Some(2),
        max: 10,
    };
    let floor = Recommendation::of_prediction(6, now + SignedDuration::from_mins(10));
    let mut annotation = BoundsAnnotation::of_user(user);
    annotation.record.contribute(floor, now);
    annotation.settle(now);
    annotation.to_text().unwrap().unwrap()
}

fn autoscaler(name: &str, record: &str) -> Value {
    json!({
        "metadata": {"name": name, "annotations": {
            "evenkeel.dev/bounds": record, "evenkeel.dev/scaling-status": "{}", "evenkeel.dev/scaling": "floor"}},
        "spec": {"minReplicas": 6, "maxReplicas": 10,
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name}}})
}

const HPAS: &str = "autoscaling/v2/horizontalpodautoscalers";

/// The path for a write in the name of Evenkeel.
fn by_us(path: &str) -> String {
    format!("{path}?fieldManager=evenkeel")
}

fn one(autoscaler: &str) -> String {
    format!("{}/{autoscaler}", path("shop", HPAS))
}

/// The traces that Evenkeel leaves on objects that are not its own, one of each kind.
async fn plant_marks(client: &Client) {
    let status = json!({"evenkeel.dev/scaling-status": "{}"});
    create(
        client,
        "/api/v1/namespaces",
        &json!({"metadata": {"name": "shop",
        "annotations": {"evenkeel.dev/enabled": "true"},
        "labels": {"evenkeel.dev/enabled": "true"}}}),
    )
    .await;
    create(
        client,
        "/api/v1/nodes",
        &json!({"metadata": {"name": "node-1", "annotations": {
        "evenkeel.dev/headroom-returned": "2026-03-01T08:00:00Z",
        "evenkeel.dev/network-capacity": "10Gbps"}}, "spec": {"taints": [
            {"key": "gpu", "effect": "NoSchedule"}, overloaded()]}}),
    )
    .await;
    create(
        client,
        &by_us(&path("shop", HPAS)),
        &autoscaler("web", &record()),
    )
    .await;
    define(client, KEDA, "Namespaced").await;
    create(client, &by_us(&path("shop", "keda.sh/v1alpha1/scaledobjects")), &json!({
        "apiVersion": "keda.sh/v1alpha1", "kind": "ScaledObject",
        "metadata": {"name": "queue", "annotations": {"evenkeel.dev/bounds": record()}},
        "spec": {"minReplicaCount": 6, "maxReplicaCount": 10, "scaleTargetRef": {"name": "queue"}}})).await;
    let mut deployment = crate::support::dev_api::deployment("cart");
    deployment["metadata"]["annotations"] = status.clone();
    create(client, &path("shop", "apps/v1/deployments"), &deployment).await;
    let mut set = deployment;
    set["metadata"]["name"] = json!("store");
    set["spec"]["serviceName"] = json!("store");
    create(client, &path("shop", "apps/v1/statefulsets"), &set).await;
}

/// The taint of an overloaded node, with a key of the operator's choice.
fn overloaded() -> Value {
    json!({"key": "team.example/evenkeel-overloaded", "value": "cpu", "effect": "NoSchedule"})
}

/// The keys of a node's taints, without the one that the API server adds to each new node.
async fn taint_keys(client: &Client, node: &str) -> Vec<String> {
    let node = get(client, &format!("/api/v1/nodes/{node}")).await;
    let taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let keys = taints
        .iter()
        .map(|taint| taint["key"].as_str().unwrap().to_owned());
    keys.filter(|key| key != "node.kubernetes.io/not-ready")
        .collect()
}

const MARKED: [&str; 6] = [
    "HorizontalPodAutoscaler shop/web",
    "ScaledObject shop/queue",
    "Deployment shop/cart",
    "StatefulSet shop/store",
    "Namespace shop",
    "Node node-1",
];

/// The documents of the shipped manifests.
fn manifests() -> Vec<Value> {
    let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = [
        "deploy/base",
        "deploy/components/second-scheduler",
        "deploy/components/external-metrics",
        "deploy/api-service/external-metrics",
        "deploy/components/metrics-provider",
        "deploy/api-service/metrics-provider",
        "webhook-config",
        "certs",
    ];
    let mut documents = Vec::new();
    for folder in folders {
        for entry in std::fs::read_dir(root.join(folder)).unwrap() {
            let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
            let parts = text.split("\n---\n");
            documents.extend(parts.filter_map(|part| serde_saphyr::from_str::<Value>(part).ok()));
        }
    }
    let config = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {
        "namespace": OWN, "name": "evenkeel", "labels": {"app.kubernetes.io/name": "evenkeel"}}});
    documents.push(config);
    documents
}

/// A mode such as 0440 is read as a float, which the API server takes for no integer.
fn without_modes(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.remove("defaultMode");
            fields.values_mut().for_each(without_modes);
        }
        Value::Array(items) => items.iter_mut().for_each(without_modes),
        _ => {}
    }
}

pub(super) const OTHERS: [([&str; 4], &str); 4] = [
    (
        [
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingAdmissionPolicy",
            "validatingadmissionpolicies",
        ],
        "Cluster",
    ),
    (
        [
            "admissionregistration.k8s.io",
            "v1",
            "ValidatingAdmissionPolicyBinding",
            "validatingadmissionpolicybindings",
        ],
        "Cluster",
    ),
    (
        ["cert-manager.io", "v1", "Certificate", "certificates"],
        "Namespaced",
    ),
    (["cert-manager.io", "v1", "Issuer", "issuers"], "Namespaced"),
];

/// Creates the installation's own objects, and returns them as they are to be named.
async fn plant_installation(client: &Client) -> Vec<String> {
    for (names, scope) in OTHERS {
        define(client, names, scope).await;
    }
    create(
        client,
        "/api/v1/namespaces",
        &json!({"metadata": {"name": OWN, "labels": {"app.kubernetes.io/name": "evenkeel"}}}),
    )
    .await;
    let mut planted = vec![format!("Namespace {OWN}")];
    let mut documents = manifests();
    for secret in ["evenkeel-certificates", "evenkeel-serving-certificate"] {
        documents.push(
            json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": OWN,
            "name": secret, "labels": {"app.kubernetes.io/name": "evenkeel"}}}),
        );
    }
    documents.push(
        json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"namespace": OWN, "name": "evenkeel"}, "spec": {"holderIdentity": ""}}),
    );
    for mut document in documents {
        without_modes(&mut document);
        let (Some(kind), Some(version)) =
            (document["kind"].as_str(), document["apiVersion"].as_str())
        else {
            continue;
        };
        let metadata = &document["metadata"];
        let Some(name) = metadata["name"].as_str().filter(|_| kind != "Namespace") else {
            continue;
        };
        let place = metadata["namespace"].as_str();
        let url = url(version, kind, place);
        let (status, answer) = ask(client, "POST", &url, &document).await;
        assert!([200, 201].contains(&status), "{kind} {name}: {answer}");
        let place = place.map_or(String::new(), |place| format!("{place}/"));
        planted.push(format!("{kind} {place}{name}"));
    }
    planted.sort();
    planted.dedup();
    planted
}

pub(super) fn url(version: &str, kind: &str, namespace: Option<&str>) -> String {
    let plural = match kind.to_lowercase() {
        policy if policy.ends_with('y') => policy.trim_end_matches('y').to_owned() + "ies",
        other => other + "s",
    };
    let group = if version == "v1" {
        "/api/v1".to_owned()
    } else {
        format!("/apis/{version}")
    };
    match namespace {
        Some(namespace) => format!("{group}/namespaces/{namespace}/{plural}"),
        None => format!("{group}/{plural}"),
    }
}

#[test]
fn nothing_is_found_where_nothing_is() {
    with_settings(settings(), async |server, _| {
        let called = evenkeel(server, &["--check"]).await;
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        assert!(
            called.stdout.contains("Nothing is left"),
            "{}",
            called.stdout
        );
    });
}

#[test]
fn everything_that_is_left_is_listed_and_nothing_is_changed() {
    with_settings(settings(), async |server, client| {
        plant_marks(client).await;
        let planted = plant_installation(client).await;
        let called = evenkeel(server, &["--check", "-o", "json"]).await;
        assert_eq!(called.code, 1, "{}", called.stderr);
        assert_eq!(called.objects("marks"), MARKED);
        let mut found = called.objects("objects");
        found.sort();
        assert_eq!(found, planted);
        let web = &called.json()["marks"][0];
        assert_eq!(web["userBounds"], json!({"min": 2, "max": 10}));
        assert_eq!(web["boundsNow"], json!({"min": 6, "max": 10}));
        let yours = called.objects("yours");
        assert_eq!(
            yours,
            [
                "HorizontalPodAutoscaler shop/web",
                "Namespace shop",
                "Node node-1"
            ]
        );
        assert_eq!(called.json()["unseen"], json!([]));
        let web = get(client, &one("web")).await;
        assert_eq!(web["spec"]["minReplicas"], 6, "only looked at");
        let text = evenkeel(server, &["--check"]).await.stdout;
        for part in [
            "bounds 6 to 10, the user's 2 to 10",
            "label evenkeel.dev/enabled",
            "taint team.example/evenkeel-overloaded=cpu:NoSchedule",
            "kubectl delete apiservice v1beta1.external.metrics.k8s.io v1alpha1.metrics.evenkeel.dev; \
             kubectl delete -k FOLDER, the folder of your overlay with the components cert-manager, \
             second-scheduler, external-metrics, metrics-provider",
        ] {
            assert!(text.contains(part), "{part}: {text}");
        }
    });
}

#[test]
fn what_was_written_is_taken_back_and_what_users_wrote_stays() {
    with_settings(settings(), async |server, client| {
        plant_marks(client).await;
        abandon_lease(client).await;
        let called = evenkeel(server, &["-o", "json"]).await;
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        for mark in called.json()["marks"].as_array().unwrap() {
            assert_eq!(mark["outcome"], "restored", "{mark}");
        }
        assert_eq!(taint_keys(client, "node-1").await, ["gpu"]);
        let web = get(client, &one("web")).await;
        assert_eq!(web["spec"]["minReplicas"], 2);
        assert_eq!(
            web["metadata"]["annotations"],
            json!({"evenkeel.dev/scaling": "floor"})
        );
        let queue = get(
            client,
            &format!("{}/queue", path("shop", "keda.sh/v1alpha1/scaledobjects")),
        )
        .await;
        assert_eq!(queue["spec"]["minReplicaCount"], 2);
        let shop = get(client, "/api/v1/namespaces/shop").await;
        assert_eq!(
            shop["metadata"]["annotations"]["evenkeel.dev/enabled"],
            "true"
        );
        assert_eq!(
            shop["metadata"]["labels"]["evenkeel.dev/enabled"],
            Value::Null
        );
        let lease = format!("/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases/evenkeel");
        ask(client, "DELETE", &lease, &Value::Null).await;
        let again = evenkeel(server, &["--check", "-o", "json"]).await;
        assert_eq!(
            (again.code, again.objects("marks")),
            (0, vec![]),
            "{}",
            again.stdout
        );
        assert_eq!(
            again.objects("yours").len(),
            3,
            "information, and no reason to fail"
        );
    });
}

#[test]
fn a_damaged_record_is_named_and_left_alone() {
    with_settings(settings(), async |server, client| {
        create(
            client,
            "/api/v1/namespaces",
            &json!({"metadata": {"name": "shop"}}),
        )
        .await;
        create(
            client,
            &by_us(&path("shop", HPAS)),
            &autoscaler("web", &record()),
        )
        .await;
        create(
            client,
            &by_us(&path("shop", HPAS)),
            &autoscaler("torn", "{\"user\":"),
        )
        .await;
        abandon_lease(client).await;
        let called = evenkeel(server, &[]).await;
        assert_eq!(called.code, 1);
        assert!(
            called.stderr.contains("1 object could not be put back"),
            "{}",
            called.stderr
        );
        assert!(
            called.stdout.contains("HorizontalPodAutoscaler shop/torn"),
            "{}",
            called.stdout
        );
        let torn = get(client, &one("torn")).await;
        assert_eq!(torn["spec"]["minReplicas"], 6);
        assert_eq!(
            torn["metadata"]["annotations"]["evenkeel.dev/bounds"],
            "{\"user\":"
        );
        let web = get(client, &one("web")).await;
        assert_eq!(web["spec"]["minReplicas"], 2, "the others are put back");
    });
}

#[test]
fn a_record_that_somebody_else_wrote_is_named_and_left_alone() {
    with_settings(settings(), async |server, client| {
        let shop = json!({"metadata": {"name": "shop"}});
        create(client, "/api/v1/namespaces", &shop).await;
        create(
            client,
            &path("shop", HPAS),
            &autoscaler("copied", &record()),
        )
        .await;
        abandon_lease(client).await;
        let called = evenkeel(server, &[]).await;
        assert_eq!(called.code, 1);
        let told = "was not written by evenkeel";
        assert!(called.stdout.contains(told), "{}", called.stdout);
        let copied = get(client, &one("copied")).await;
        assert_eq!(copied["spec"]["minReplicas"], 6);
    });
}

/// The record of a floor that ended so long ago.
fn ended(ago: SignedDuration) -> String {
    let until = evenkeel_clock::now() - ago;
    record().replace("1970-01-01T00:10:00Z", &format!("{until:.0}"))
}

#[test]
fn what_nobody_has_held_for_an_hour_is_put_back_beside_a_leader_and_nothing_else() {
    with_settings(settings(), async |server, client| {
        let shop = json!({"metadata": {"name": "shop"}, });
        create(client, "/api/v1/namespaces", &shop).await;
        hold_lease(
            client,
            evenkeel_clock::now() + SignedDuration::from_hours(1),
        )
        .await;
        let minutes = |minutes| ended(SignedDuration::from_mins(minutes));
        for (name, record, manager) in [
            ("old", minutes(61), "evenkeel"),
            ("recent", minutes(59), "evenkeel"),
            ("held", minutes(-5), "evenkeel"),
            ("copied", minutes(61), "kubectl"),
            ("torn", "{\"user\":".to_owned(), "evenkeel"),
        ] {
            let path = format!("{}?fieldManager={manager}", path("shop", HPAS));
            create(client, &path, &autoscaler(name, &record)).await;
        }
        let least = async |name| get(client, &one(name)).await["spec"]["minReplicas"].clone();

        let frozen = evenkeel(server, &["--expired", "--set", "writes=disabled"]).await;
        assert_eq!(frozen.code, 0, "{}", frozen.stderr);
        assert!(
            frozen.stderr.contains("writes are disabled"),
            "{}",
            frozen.stderr
        );
        assert_eq!(least("old").await, 6);

        // The fault that keeps every replica from starting, too, freezes only where it says so.
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.yaml");
        let broken = |writes| format!("writes: {writes}\nscheduling: {{headrom: 0.8}}\n");
        std::fs::write(&file, broken("disabled")).unwrap();
        let config = file.to_str().unwrap();
        let frozen = evenkeel(server, &["--expired", "--config", config]).await;
        assert_eq!(frozen.code, 0, "{}", frozen.stderr);
        assert!(frozen.stderr.contains("headrom"), "{}", frozen.stderr);
        assert_eq!(least("old").await, 6);

        std::fs::write(&file, broken("enabled")).unwrap();
        let called = evenkeel(server, &["--expired", "--config", config, "-o", "json"]).await;
        assert_eq!(called.code, 0, "{}", called.stderr);
        assert!(called.stderr.contains("headrom"), "{}", called.stderr);
        assert_eq!(
            called.objects("marks"),
            ["HorizontalPodAutoscaler shop/old"]
        );
        assert_eq!(least("old").await, 2);
        let old = get(client, &one("old")).await;
        let left = json!({"evenkeel.dev/scaling": "floor"});
        assert_eq!(old["metadata"]["annotations"], left);
        for other in ["recent", "held", "copied", "torn"] {
            assert_eq!(least(other).await, 6, "{other}");
        }
        // Nor does it need the file at all.
        std::fs::remove_file(&file).unwrap();
        let again = evenkeel(server, &["--expired", "--config", config, "-o", "json"]).await;
        assert_eq!((again.code, again.objects("marks")), (0, vec![]));
    });
}

/// Beside a leader that lives, taints are the leader's.
#[test]
fn taints_go_once_no_leader_has_been_there_for_an_hour() {
    for (age, code, left) in [(59, 0, true), (61, 0, false)] {
        with_settings(settings(), async |server, client| {
            let node = json!({"metadata": {"name": "hot"}, "spec": {"taints": [
                {"key": "gpu", "effect": "NoExecute"}, overloaded()]}});
            create(client, "/api/v1/nodes", &node).await;
            let renewed = evenkeel_clock::now() - SignedDuration::from_mins(age);
            hold_lease(client, renewed).await;
            let call = ["--expired", "--set", "writes=enabled", "-o", "json"];
            let called = evenkeel(server, &call).await;
            assert_eq!(called.code, code, "{}", called.stderr);
            let found = taint_keys(client, "hot").await;
            let ours = overloaded()["key"].as_str().unwrap().to_owned();
            assert_eq!(found.contains(&ours), left, "{age} {found:?}");
            assert!(found.contains(&"gpu".to_owned()), "{age} {found:?}");
        });
    }
}

/// Old scores mislead kube-scheduler, so they go much earlier than taints.
#[test]
fn score_labels_go_once_no_leader_has_been_there_for_ten_minutes() {
    for (age, left) in [(9, true), (11, false), (61, false)] {
        with_settings(settings(), async |server, client| {
            let labels = json!({"score.evenkeel.dev/normal-c1": "3", "score.evenkeel.dev/io-d2": "0",
                "evenkeel.dev/other": "kept"});
            let node = json!({"metadata": {"name": "hot", "labels": labels},
                "spec": {"taints": [overloaded()]}});
            create(client, "/api/v1/nodes", &node).await;
            let renewed = evenkeel_clock::now() - SignedDuration::from_mins(age);
            hold_lease(client, renewed).await;
            let call = ["--expired", "--set", "writes=enabled", "-o", "json"];
            let called = evenkeel(server, &call).await;
            assert_eq!(called.code, 0, "{}", called.stderr);
            let node = get(client, "/api/v1/nodes/hot").await;
            let found = node["metadata"]["labels"].as_object().unwrap();
            let scores = found.keys().filter(|key| key.starts_with("score."));
            assert_eq!(scores.count(), if left { 2 } else { 0 }, "{age} {found:?}");
            assert_eq!(found["evenkeel.dev/other"], "kept", "{age}");
            let is_tainted = taint_keys(client, "hot").await.len() == 1;
            assert_eq!(is_tainted, age < 60, "{age}");
        });
    }
}

async fn hold_lease(client: &Client, renewed: Timestamp) {
    create(
        client,
        "/api/v1/namespaces",
        &json!({"metadata": {"name": OWN}}),
    )
    .await;
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases");
    create(
        client,
        &leases,
        &json!({"metadata": {"name": "evenkeel"}, "spec": {
        "holderIdentity": "evenkeel-7d9-abc", "leaseDurationSeconds": 1,
        "renewTime": format!("{renewed:.6}")}}),
    )
    .await;
}

async fn abandon_lease(client: &Client) {
    let long_ago = evenkeel_clock::now() - SignedDuration::from_hours(1);
    hold_lease(client, long_ago).await;
}

/// A leader that renews its Lease in the cluster while `during` runs, by a clock that lags.
async fn leading<T>(
    client: &Client,
    lease: &str,
    lag: SignedDuration,
    during: impl Future<Output = T>,
) -> T {
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases/{lease}");
    let renewing = async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(200)).await;
            let renewed = evenkeel_clock::now() - lag;
            let change = json!({"spec": {"renewTime": format!("{renewed:.6}")}});
            let (status, answer) = patch(client, &path, "merge", &change).await;
            assert_eq!(status, 200, "{answer}");
        }
    };
    tokio::select! {
        ended = during => ended,
        () = renewing => unreachable!("it renews for ever"),
    }
}

/// The harm: a leader with a clock one hour behind was taken for dead. Its taints went, and the
/// floors that it renewed, every ten minutes.
#[test]
fn a_leader_whose_clock_lags_is_alive_under_whatever_name_its_lease_has() {
    let lag = SignedDuration::from_mins(75);
    let configured = "leaderElection: {leaseName: keel}\n";
    for (lease, labels, file) in [
        ("evenkeel", json!({}), ""),
        ("keel", json!({}), configured),
        // By a variable of the Deployment alone.
        ("other", json!({"app.kubernetes.io/name": "evenkeel"}), ""),
    ] {
        with_settings(settings(), async |server, client| {
            for name in [OWN, "shop"] {
                let namespace = json!({"metadata": {"name": name}});
                create(client, "/api/v1/namespaces", &namespace).await;
            }
            configure(client, file).await;
            let renewed = evenkeel_clock::now() - lag;
            let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{OWN}/leases");
            let held = json!({"metadata": {"name": lease, "labels": labels}, "spec": {
                "holderIdentity": "evenkeel-7d9-abc", "leaseDurationSeconds": 3,
                "renewTime": format!("{renewed:.6}")}});
            create(client, &leases, &held).await;
            let node = json!({"metadata": {"name": "hot"}, "spec": {"taints": [overloaded()]}});
            create(client, "/api/v1/nodes", &node).await;
            // It is held for ten minutes more, by the leader's clock.
            let record = ended(lag - SignedDuration::from_mins(10));
            let web = autoscaler("web", &record);
            create(client, &by_us(&path("shop", HPAS)), &web).await;
            let least = async || get(client, &one("web")).await["spec"]["minReplicas"].clone();

            let expired = ["--expired", "-o", "json"];
            let called = leading(client, lease, lag, evenkeel(server, &expired)).await;
            assert_eq!(called.code, 0, "{lease}: {}", called.stderr);
            assert_eq!(called.objects("marks"), [""; 0], "{lease}");
            assert_eq!(least().await, 6, "{lease}");
            assert_eq!(taint_keys(client, "hot").await.len(), 1, "{lease}");
            let refused = leading(client, lease, lag, evenkeel(server, &[])).await;
            assert_eq!(refused.code, 1, "{lease}: {}", refused.stdout);
            assert!(
                refused.stderr.contains("leads"),
                "{lease}: {}",
                refused.stderr
            );

            // Once no replica renews it any more, all goes.
            let called = evenkeel(server, &expired).await;
            assert_eq!(called.code, 0, "{lease}: {}", called.stderr);
            assert_eq!(least().await, 2, "{lease}");
            assert_eq!(taint_keys(client, "hot").await, [""; 0], "{lease}");
        });
    }
}

async fn register_webhook(client: &Client, namespace: &str) {
    let webhook = json!({"metadata": {"name": "evenkeel"}, "webhooks": [{
        "name": "pods.evenkeel.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
        "failurePolicy": "Ignore", "clientConfig": {"service": {
            "namespace": namespace, "name": "evenkeel", "path": "/mutate"}}}]});
    let path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";
    create(client, path, &webhook).await;
}

#[test]
fn where_no_installation_is_seen_nothing_is_written_unless_forced() {
    with_settings(settings(), async |server, client| {
        let shop = json!({"metadata": {"name": "shop"}});
        create(client, "/api/v1/namespaces", &shop).await;
        let web = by_us(&path("shop", HPAS));
        create(client, &web, &autoscaler("web", &record())).await;
        let least = async || get(client, &one("web")).await["spec"]["minReplicas"].clone();

        let nobody = evenkeel(server, &[]).await;
        assert_eq!(nobody.code, 1, "{}", nobody.stdout);
        for part in ["no Lease", OWN, "-n", "--force"] {
            assert!(nobody.stderr.contains(part), "{part}: {}", nobody.stderr);
        }
        assert_eq!(least().await, 6);

        // A leader lives in its own namespace, and an old Lease stands in the one that is named.
        let alive = evenkeel_clock::now() + SignedDuration::from_hours(1);
        hold_lease(client, alive).await;
        register_webhook(client, OWN).await;
        for elsewhere in [&["-n", "shop"][..], &["-n", "kube-system"]] {
            let called = evenkeel(server, elsewhere).await;
            assert_eq!(called.code, 1, "{}", called.stdout);
            let named = format!("evenkeel uninstall -n {OWN}");
            assert!(called.stderr.contains(&named), "{}", called.stderr);
            assert_eq!(least().await, 6, "{elsewhere:?}");
        }
        let forced = evenkeel(server, &["-n", "shop", "--force"]).await;
        assert_eq!(forced.code, 0, "{}", forced.stderr);
        assert!(forced.stderr.contains(OWN), "{}", forced.stderr);
        assert_eq!(least().await, 2);
    });
}

#[test]
fn by_hand_the_switch_is_that_of_the_configmap() {
    with_settings(settings(), async |server, client| {
        create(
            client,
            "/api/v1/namespaces",
            &json!({"metadata": {"name": OWN}}),
        )
        .await;
        let old = ended(SignedDuration::from_hours(2));
        create(client, &by_us(&path(OWN, HPAS)), &autoscaler("web", &old)).await;
        let web = format!("{}/web", path(OWN, HPAS));
        let least = async || get(client, &web).await["spec"]["minReplicas"].clone();

        let unknown = evenkeel(server, &["--expired"]).await;
        assert_eq!(unknown.code, 2, "{}", unknown.stdout);
        for part in [
            "ConfigMap evenkeel-system/evenkeel",
            "--config",
            "--set writes=enabled",
        ] {
            assert!(unknown.stderr.contains(part), "{part}: {}", unknown.stderr);
        }
        assert_eq!(least().await, 6);

        let map = |writes: &str| {
            json!({"metadata": {"name": "evenkeel"},
                   "data": {"config.yaml": format!("writes: {writes}\n")}})
        };
        let maps = format!("/api/v1/namespaces/{OWN}/configmaps");
        create(client, &maps, &map("disabled")).await;
        let frozen = evenkeel(server, &["--expired"]).await;
        assert_eq!(frozen.code, 0, "{}", frozen.stderr);
        let told = "writes are disabled";
        assert!(frozen.stderr.contains(told), "{}", frozen.stderr);
        // An HPA with a floor is left, so the output must not say that nothing is.
        assert!(
            !frozen.stdout.contains("Nothing is left"),
            "{}",
            frozen.stdout
        );
        assert!(
            frozen.stdout.contains("Nothing was put back"),
            "{}",
            frozen.stdout
        );
        assert_eq!(least().await, 6);

        let (status, answer) = patch(
            client,
            &format!("{maps}/evenkeel"),
            "merge",
            &map("enabled"),
        )
        .await;
        assert_eq!(status, 200, "{answer}");
        let called = evenkeel(server, &["--expired"]).await;
        assert_eq!(called.code, 0, "{}", called.stderr);
        assert_eq!(least().await, 2);
    });
}

/// A cluster with a clock behind the machine's, as that of `dev` is.
#[test]
fn what_has_lapsed_is_told_by_the_clusters_clock() {
    let behind = SignedDuration::from_hours(30);
    let settings = Settings {
        clock: Arc::new(move || evenkeel_clock::now() - behind),
        ..settings()
    };
    with_settings(settings, async |server, client| {
        let shop = json!({"metadata": {"name": "shop"}});
        create(client, "/api/v1/namespaces", &shop).await;
        let minutes = |minutes| ended(behind + SignedDuration::from_mins(minutes));
        for (name, record) in [("held", minutes(-5)), ("old", minutes(61))] {
            create(
                client,
                &by_us(&path("shop", HPAS)),
                &autoscaler(name, &record),
            )
            .await;
        }
        let called = evenkeel(
            server,
            &["--expired", "--set", "writes=enabled", "-o", "json"],
        )
        .await;
        assert_eq!(called.code, 0, "{}", called.stderr);
        let restored = ["HorizontalPodAutoscaler shop/old"];
        assert_eq!(called.objects("marks"), restored);
        let held = get(client, &one("held")).await;
        assert_eq!(held["spec"]["minReplicas"], 6);
    });
}

#[test]
fn beside_a_living_leader_nothing_is_written_unless_forced() {
    with_settings(settings(), async |server, client| {
        // So far ahead that it is alive however long the test takes.
        hold_lease(
            client,
            evenkeel_clock::now() + SignedDuration::from_hours(1),
        )
        .await;
        create(
            client,
            &by_us(&path(OWN, HPAS)),
            &autoscaler("web", &record()),
        )
        .await;
        let called = evenkeel(server, &[]).await;
        assert_eq!(called.code, 1);
        for part in [
            "evenkeel-7d9-abc",
            "scale deploy/evenkeel --replicas=0",
            "writes: disabled",
            "--force",
        ] {
            assert!(called.stderr.contains(part), "{part}: {}", called.stderr);
        }
        let web = format!("{}/web", path(OWN, HPAS));
        assert_eq!(get(client, &web).await["spec"]["minReplicas"], 6);
        let forced = evenkeel(server, &["--force"]).await;
        assert_eq!(forced.code, 0, "{}", forced.stderr);
        assert!(
            forced.stderr.contains("leads and will write again"),
            "{}",
            forced.stderr
        );
        assert_eq!(get(client, &web).await["spec"]["minReplicas"], 2);
    });
}

#[test]
fn an_abandoned_lease_is_nobodys() {
    with_settings(settings(), async |server, client| {
        hold_lease(
            client,
            evenkeel_clock::now() - SignedDuration::from_hours(1),
        )
        .await;
        let called = evenkeel(server, &[]).await;
        assert_eq!(called.code, 0, "{}", called.stderr);
    });
}

/// A client with a rival that raises `maxReplicas` before its first patch.
fn outrun(client: &Client, object: String) -> Client {
    let (inner, raced) = (client.clone(), Arc::new(AtomicBool::new(false)));
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, object) = (inner.clone(), object.clone());
        let first = request.method() == Method::PATCH && !raced.swap(true, Ordering::SeqCst);
        async move {
            if first {
                let edit = json!({"spec": {"maxReplicas": 12}});
                let (status, answer) = patch(&inner, &object, "merge", &edit).await;
                assert_eq!(status, 200, "{answer}");
            }
            inner.send(request).await
        }
    });
    Client::new(service, "default")
}

#[test]
fn an_edit_that_comes_between_is_kept() {
    with_settings(settings(), async |_, client| {
        create(
            client,
            "/api/v1/namespaces",
            &json!({"metadata": {"name": "shop"}}),
        )
        .await;
        create(
            client,
            &by_us(&path("shop", HPAS)),
            &autoscaler("web", &record()),
        )
        .await;
        let web = one("web");
        let now = evenkeel_clock::now();
        let found = uninstall::gather(client, OWN, &[], now).await;
        let slow = outrun(client, web.clone());
        let outcome = uninstall::restore(&slow, &found.marks[0], Extent::All, now).await;
        assert_eq!(outcome, uninstall::UninstallOutcome::Restored);
        let spec = get(client, &web).await["spec"].clone();
        assert_eq!(
            (&spec["minReplicas"], &spec["maxReplicas"]),
            (&json!(2), &json!(12))
        );
    });
}

/// A Rollout that Evenkeel has put to sleep.
async fn plant_sleeper(client: &Client) -> String {
    let scale = json!({"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}});
    let names = ["argoproj.io", "v1alpha1", "Rollout", "rollouts"];
    define(client, names, "Namespaced").await;
    let definition = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollouts.argoproj.io";
    let mut versions = get(client, definition).await["spec"]["versions"].clone();
    versions[0]["subresources"] = scale;
    let change = json!({"spec": {"versions": versions}});
    let (status, answer) = patch(client, definition, "merge", &change).await;
    assert_eq!(status, 200, "{answer}");
    for name in [OWN, "shop"] {
        let namespace = json!({"metadata": {"name": name}});
        create(client, "/api/v1/namespaces", &namespace).await;
    }
    let told = json!({"mode": "direct", "replicas": 0, "conditions": [{
        "type": "ScaledToZero", "status": "True", "reason": "ScaledToZero", "message": "",
        "lastTransitionTime": "2026-01-01T00:00:00Z"}]});
    let rollouts = path("shop", "argoproj.io/v1alpha1/rollouts");
    let rollout = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "annotations": {
            "evenkeel.dev/scaling": "direct", "evenkeel.dev/scaling-status": told.to_string()}},
        "spec": {"replicas": 0}});
    create(client, &rollouts, &rollout).await;
    format!("{rollouts}/web")
}

#[test]
fn custom_resources_of_the_configuration_are_woken_and_lose_what_was_told_on_them() {
    with_settings(settings(), async |server, client| {
        let rollout = plant_sleeper(client).await;
        let unknown = evenkeel(server, &["--check", "-o", "json"]).await;
        assert_eq!(unknown.objects("marks"), [""; 0], "nobody says which kinds");
        let file = "scaling: {kinds: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout}]}\n";
        let map = json!({"metadata": {"name": "evenkeel"}, "data": {"config.yaml": file}});
        create(
            client,
            &format!("/api/v1/namespaces/{OWN}/configmaps"),
            &map,
        )
        .await;
        let found = evenkeel(server, &["--check", "-o", "json"]).await;
        assert_eq!(found.objects("marks"), ["Rollout shop/web"]);
        assert_eq!(get(client, &rollout).await["spec"]["replicas"], 0);
        let taken = evenkeel(server, &["--force", "-o", "json"]).await;
        assert_eq!(taken.objects("marks"), ["Rollout shop/web"]);
        let left = get(client, &rollout).await;
        assert_eq!(left["spec"]["replicas"], 1);
        let annotations = json!({"evenkeel.dev/scaling": "direct"});
        assert_eq!(left["metadata"]["annotations"], annotations);
    });
}

const ROLLOUTS: &str =
    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/rollouts.argoproj.io";

/// Puts a configuration into the cluster.
async fn configure(client: &Client, file: &str) {
    let map = json!({"metadata": {"name": "evenkeel"}, "data": {"config.yaml": file}});
    let maps = format!("/api/v1/namespaces/{OWN}/configmaps");
    create(client, &maps, &map).await;
}

/// Changes the versions of the definition of Rollouts.
async fn redefine(client: &Client, change: impl FnOnce(&mut Value)) {
    let mut versions = get(client, ROLLOUTS).await["spec"]["versions"].clone();
    change(&mut versions);
    let change = json!({"spec": {"versions": versions}});
    let (status, answer) = patch(client, ROLLOUTS, "merge", &change).await;
    assert_eq!(status, 200, "{answer}");
}

/// The harm: what slept in a version that is served no more slept on, and nothing was said to be left.
#[test]
fn custom_resources_are_found_in_another_version_than_the_configured_one() {
    with_settings(settings(), async |server, client| {
        let rollout = plant_sleeper(client).await;
        configure(
            client,
            "scaling: {kinds: [{apiVersion: argoproj.io/v1alpha0, kind: Rollout}]}\n",
        )
        .await;
        let taken = evenkeel(server, &["--force", "-o", "json"]).await;
        assert_eq!(
            taken.objects("marks"),
            ["Rollout shop/web"],
            "{}",
            taken.stderr
        );
        assert_eq!(get(client, &rollout).await["spec"]["replicas"], 1);
    });
}

/// The harm: the same if the definition has no scale any more, and if the kinds cannot be known.
#[test]
fn what_cannot_be_looked_at_of_custom_resources_is_told_and_no_success() {
    with_settings(settings(), async |server, client| {
        plant_sleeper(client).await;
        configure(
            client,
            "scaling: {kinds: [{apiVersion: argoproj.io/v1alpha1, kind: Rollout}]}\n",
        )
        .await;
        redefine(client, |versions| {
            versions[0]["subresources"] = json!({"status": {}});
        })
        .await;
        let unseen = |called: &Called| called.json()["unseen"].to_string();
        crate::support::control_plane::wait::eventually("it is not seen", async || {
            let called = evenkeel(server, &["--force", "-o", "json"]).await;
            let told = unseen(&called);
            let is_told = told.contains("no subresource scale") && called.code == 1;
            crate::support::control_plane::wait::holds(is_told, || told)
        })
        .await;

        let map = format!("/api/v1/namespaces/{OWN}/configmaps/evenkeel");
        let broken = json!({"data": {"config.yaml": "scaling: {kinds: 5}\n"}});
        let (status, answer) = patch(client, &map, "merge", &broken).await;
        assert_eq!(status, 200, "{answer}");
        let called = evenkeel(server, &["--force", "-o", "json"]).await;
        let told = unseen(&called);
        assert!(told.contains("custom resources of scaling.kinds"), "{told}");
        assert_eq!(called.code, 1, "{told}");
    });
}
