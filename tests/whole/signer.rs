//! The signer whole: what it makes by itself, what `certs rotate` asks of it, and what comes of a
//! Secret that somebody deletes.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeMap;
use std::process::Output;

use evenkeel::cli::dev::cluster::{Cluster, Events, Options};
use evenkeel::cli::dev::embedded;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::DeleteParams;
use serde_json::Value;

use crate::support::control_plane::wait::{eventually, holds};

const OWN: &str = "evenkeel-system";

async fn start(folder: &std::path::Path) -> Cluster {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut options = Options::new(folder.to_owned());
    options.scenario.workloads.clear();
    let serve = async |wiring| embedded::run(wiring).await.map_err(Into::into);
    let cluster = Cluster::start(options, Events::default(), serve).await;
    cluster.unwrap_or_else(|error| panic!("{}: {error}", error.reason()))
}

async fn certs(cluster: &Cluster, arguments: &[&str]) -> Output {
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
async fn files(cluster: &Cluster, name: &str) -> BTreeMap<String, String> {
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), OWN);
    let data = secrets.get(name).await.unwrap().data.unwrap_or_default();
    data.into_iter()
        .map(|(file, content)| (file, String::from_utf8(content.0).unwrap()))
        .collect()
}

async fn ca_bundle(cluster: &Cluster) -> String {
    let webhooks: Api<MutatingWebhookConfiguration> = Api::all(cluster.client.clone());
    let configuration = webhooks.get("evenkeel").await.unwrap();
    let webhook = configuration.webhooks.unwrap().remove(0);
    let bundle = webhook.client_config.ca_bundle.unwrap_or_default();
    String::from_utf8(bundle.0).unwrap()
}

/// Waits until the webhook trusts what the signer keeps, and the replicas' Secret agrees.
async fn in_step(cluster: &Cluster) -> BTreeMap<String, String> {
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

#[tokio::test(flavor = "multi_thread")]
async fn keys_are_replaced_on_request_and_never_come_back() {
    let folder = tempfile::tempdir().unwrap();
    let cluster = start(folder.path()).await;
    let first = in_step(&cluster).await;
    let served = files(&cluster, "evenkeel-serving-certificate").await;
    let served: Vec<&str> = served.keys().map(String::as_str).collect();
    assert_eq!(served, ["ca.crt", "scheduler-ca.crt", "tls.crt", "tls.key"]);

    for command in [&["rotate"][..], &["scheduler-config"]] {
        let nobody = certs(&cluster, &[command, &["-n", "default"]].concat()).await;
        let said = String::from_utf8_lossy(&nobody.stderr).into_owned();
        assert_eq!(nobody.status.code(), Some(1), "{said}");
        let sentence = "there is no Secret default/evenkeel-certificates, so no signer keeps keys";
        assert!(
            said.contains(sentence) && !said.contains("ApiError"),
            "{said}"
        );
    }
    let refused = certs(&cluster, &["rotate", "--overlap", "1m"]).await;
    assert_eq!(refused.status.code(), Some(2));
    let early = certs(&cluster, &["rotate", "--finish"]).await;
    let said = String::from_utf8_lossy(&early.stderr).into_owned();
    assert_eq!(early.status.code(), Some(1), "{said}");
    assert!(said.contains("no rotation goes on"), "{said}");

    let asked = certs(&cluster, &["rotate", "--overlap", "6h", "-o", "json"]).await;
    let said = String::from_utf8_lossy(&asked.stderr).into_owned();
    assert!(asked.status.success(), "{said}");
    let answer: Value = serde_json::from_slice(&asked.stdout).unwrap();
    let moment = |field: &str| -> jiff::Timestamp {
        answer["rotation"][field].as_str().unwrap().parse().unwrap()
    };
    let hour = jiff::SignedDuration::from_hours(1);
    assert_eq!(moment("signsFrom"), moment("began") + hour * 3);
    assert_eq!(moment("oldLeave"), moment("began") + hour * 6);
    let both = in_step(&cluster).await;
    for file in ["ca.crt", "scheduler-ca.crt", "ca.key", "scheduler-ca.key"] {
        let (old, new) = (&first[file], &both[file]);
        assert!(
            new.starts_with(old.as_str()) && new.len() > old.len(),
            "{file}"
        );
    }
    assert_eq!(both["tls.key"], first["tls.key"], "not before it is known");

    let again = certs(&cluster, &["rotate", "--overlap", "4368h"]).await;
    let said = String::from_utf8_lossy(&again.stderr).into_owned();
    assert_eq!(again.status.code(), Some(1), "{said}");
    assert!(said.contains(&moment("oldLeave").to_string()), "{said}");
    let unsaid = certs(&cluster, &["rotate", "--finish"]).await;
    let said = String::from_utf8_lossy(&unsaid.stderr).into_owned();
    assert_eq!(unsaid.status.code(), Some(2), "{said}");
    assert!(said.contains("--scheduler-has-new-file"), "{said}");

    let finish = [
        "rotate",
        "--finish",
        "--scheduler-has-new-file",
        "-o",
        "json",
    ];
    let finished = certs(&cluster, &finish).await;
    assert!(finished.status.success());
    let answer: Value = serde_json::from_slice(&finished.stdout).unwrap();
    let sooner = |field: &str| -> jiff::Timestamp {
        answer["rotation"][field].as_str().unwrap().parse().unwrap()
    };
    let minute = jiff::SignedDuration::from_mins(1);
    assert!(sooner("signsFrom") >= sooner("began") + minute * 2);
    assert!(sooner("oldLeave") >= sooner("signsFrom") + minute * 2);
    assert!(sooner("oldLeave") < moment("oldLeave"), "{answer}");
    let still = in_step(&cluster).await;
    assert_eq!(still["scheduler-ca.crt"], both["scheduler-ca.crt"]);

    // All of them have leaked, and somebody takes the Secret away.
    let secrets: Api<Secret> = Api::namespaced(cluster.client.clone(), OWN);
    let now = DeleteParams::default();
    secrets.delete("evenkeel-certificates", &now).await.unwrap();
    eventually("the Secret comes back", async || {
        let found = secrets.get_opt("evenkeel-certificates").await;
        holds(found.unwrap().is_some(), || "it is gone".to_owned())
    })
    .await;
    let anew = in_step(&cluster).await;
    for file in KEYS {
        let keys = anew[file].split_inclusive("-----END PRIVATE KEY-----\n");
        for key in keys {
            assert!(!both[file].contains(key), "{file} came back");
        }
    }
    cluster.stop().await;
}
