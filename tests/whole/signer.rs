//! The whole signer: what it makes by itself, what `certs rotate` asks of it, and what follows if a
//! user deletes its Secret.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeMap;
use std::process::Output;

use evenkeel_lab::dev::cluster::{DevCluster, DevClusterOptions, DevEventBus};
use evenkeel_lab::dev::embedded_service;
use evenkeel_service::dashboard::ReplayBoard;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::Value;

use crate::support::control_plane::wait::{eventually, holds};

const OWN: &str = "evenkeel-system";

async fn start(folder: &std::path::Path) -> DevCluster {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut options = DevClusterOptions::new(folder.to_owned());
    options.scenario.workloads.clear();
    let serve = async |wiring| {
        embedded_service::run(wiring, ReplayBoard::default())
            .await
            .map_err(Into::into)
    };
    let cluster = DevCluster::start(options, DevEventBus::default(), serve).await;
    cluster.unwrap_or_else(|error| panic!("{error}"))
}

async fn certs(cluster: &DevCluster, arguments: &[&str]) -> Output {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .arg("certs")
        .args(arguments)
        .arg("--kubeconfig")
        .arg(cluster.kubeconfig());
    let output = tokio::task::spawn_blocking(move || command.output().unwrap());
    output.await.unwrap()
}

/// The files of a Secret.
async fn files(cluster: &DevCluster, name: &str) -> BTreeMap<String, String> {
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), OWN);
    let data = secrets.get(name).await.unwrap().data.unwrap_or_default();
    data.into_iter()
        .map(|(file, content)| (file, String::from_utf8(content.0).unwrap()))
        .collect()
}

async fn ca_bundle(cluster: &DevCluster) -> String {
    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(cluster.client.clone());
    let configuration = webhooks.get("evenkeel").await.unwrap();
    let webhook = configuration.webhooks.unwrap().remove(0);
    let bundle = webhook.client_config.ca_bundle.unwrap_or_default();
    String::from_utf8(bundle.0).unwrap()
}

/// Waits until the webhook trusts what the signer keeps, and the replicas' Secret agrees.
async fn in_step(cluster: &DevCluster) -> BTreeMap<String, String> {
    eventually("Secrets and caBundle are in step", async || {
        let kept = files(cluster, "evenkeel-certificates").await;
        let served = files(cluster, "evenkeel-serving-certificate").await;
        let bundle = ca_bundle(cluster).await;
        let agrees = served.iter().all(|(file, text)| kept[file] == *text);
        holds(agrees && bundle == kept["ca.crt"], || bundle.clone()).map(|()| kept)
    })
    .await
}

const KEYS: [&str; 3] = ["ca.key", "scheduler-ca.key", "tls.key"];

/// The error output of a call that fails, with its exit code.
async fn refusal(cluster: &DevCluster, arguments: &[&str]) -> (Option<i32>, String) {
    let refused = certs(cluster, arguments).await;
    let said = String::from_utf8_lossy(&refused.stderr).into_owned();
    (refused.status.code(), said)
}

/// The moments of the rotation that a call begins or finishes: when it began, when the new authority
/// signs, and when the old ones leave.
async fn rotation(cluster: &DevCluster, arguments: &[&str]) -> [Timestamp; 3] {
    let asked = certs(cluster, arguments).await;
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(asked.status.success(), "{said}");
    let answer: Value = serde_json::from_slice(&asked.stdout).unwrap();
    ["began", "signsFrom", "oldLeave"]
        .map(|field| answer["rotation"][field].as_str().unwrap().parse().unwrap())
}

/// Nothing is begun or finished where there is nothing to begin or to finish.
async fn what_makes_no_sense_is_refused(cluster: &DevCluster) {
    for command in [&["rotate"][..], &["scheduler-config"]] {
        let elsewhere = [command, &["-n", "default"]].concat();
        let (code, said) = refusal(cluster, &elsewhere).await;
        assert_eq!(code, Some(1), "{said}");
        let sentence =
            "there is no Secret default/evenkeel-certificates, so the signer keeps no keys";
        assert!(said.contains(sentence), "{said}");
        assert!(!said.contains("ApiError"), "{said}");
    }
    let (code, said) = refusal(cluster, &["rotate", "--overlap", "1m"]).await;
    assert_eq!(code, Some(2), "{said}");
    let (code, said) = refusal(cluster, &["rotate", "--finish"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains("no rotation is in progress"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_replaced_on_request_and_never_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await;
    let first = in_step(&cluster).await;
    let served = files(&cluster, "evenkeel-serving-certificate").await;
    let served: Vec<&str> = served.keys().map(String::as_str).collect();
    assert_eq!(served, ["ca.crt", "scheduler-ca.crt", "tls.crt", "tls.key"]);
    what_makes_no_sense_is_refused(&cluster).await;

    let rotate = ["rotate", "--overlap", "6h", "-o", "json"];
    let [began, signs, leave] = rotation(&cluster, &rotate).await;
    let hour = SignedDuration::from_hours(1);
    assert_eq!((signs, leave), (began + hour * 3, began + hour * 6));
    let both = in_step(&cluster).await;
    for file in ["ca.crt", "scheduler-ca.crt", "ca.key", "scheduler-ca.key"] {
        let (old, new) = (&first[file], &both[file]);
        assert!(
            new.starts_with(old.as_str()) && new.len() > old.len(),
            "{file}"
        );
    }
    assert_eq!(both["tls.key"], first["tls.key"], "not before it is known");

    finish_early(&cluster, leave).await;
    let still = in_step(&cluster).await;
    assert_eq!(still["scheduler-ca.crt"], both["scheduler-ca.crt"]);
    delete_leaked(&cluster, &both).await;
    cluster.stop().await;
}

/// A rotation that goes on is not begun anew, and is finished once the scheduler is ready, in steps
/// that replicas and API servers can follow.
async fn finish_early(cluster: &DevCluster, planned: Timestamp) {
    let (code, said) = refusal(cluster, &["rotate", "--overlap", "4368h"]).await;
    assert_eq!(code, Some(1), "{said}");
    assert!(said.contains(&planned.to_string()), "{said}");
    let (code, said) = refusal(cluster, &["rotate", "--finish"]).await;
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("--scheduler-has-new-file"), "{said}");

    let finish = [
        "rotate",
        "--finish",
        "--scheduler-has-new-file",
        "-o",
        "json",
    ];
    let [began, signs, leave] = rotation(cluster, &finish).await;
    let settle = SignedDuration::from_mins(2);
    assert!(signs >= began + settle, "{began} {signs}");
    assert!(leave >= signs + settle, "{signs} {leave}");
    assert!(leave < planned, "{leave} {planned}");
}

/// All keys have leaked, and a user deletes the Secret.
async fn delete_leaked(cluster: &DevCluster, leaked: &BTreeMap<String, String>) {
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), OWN);
    let now = DeleteParams::default();
    secrets.delete("evenkeel-certificates", &now).await.unwrap();
    eventually("the Secret comes back", async || {
        let found = secrets.get_opt("evenkeel-certificates").await;
        holds(found.unwrap().is_some(), || "it is gone".to_owned())
    })
    .await;
    let anew = in_step(cluster).await;
    for file in KEYS {
        let keys = anew[file].split_inclusive("-----END PRIVATE KEY-----\n");
        for key in keys {
            assert!(!leaked[file].contains(key), "{file} came back");
        }
    }
}
