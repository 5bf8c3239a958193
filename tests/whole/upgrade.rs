//! `evenkeel upgrade --check` against the embedded API server: what is there, what is not, and what differs.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use evenkeel_manifests::{InstallOptions, Manifests};
use kube::Client;
use serde_json::{Value, json};

use super::uninstall::{Called, OTHERS, call, url};
use crate::support::custom_kind::define;
use crate::support::dev_api::{create, patch, settings, with_settings};

/// Creates the objects that `evenkeel install` prints.
async fn install(client: &Client) {
    for (names, scope) in OTHERS {
        define(client, names, scope).await;
    }
    for object in Manifests::read()
        .unwrap()
        .objects(&InstallOptions::default())
    {
        let text = |field: &Value| field.as_str().unwrap().to_owned();
        let namespace = object["metadata"]["namespace"].as_str();
        let url = url(
            &text(&object["apiVersion"]),
            &text(&object["kind"]),
            namespace,
        );
        create(client, &url, &object).await;
    }
}

/// The objects with this change, as `Kind name: fields`.
fn with(called: &Called, change: &str) -> Vec<String> {
    let objects = called.json()["objects"].as_array().unwrap().clone();
    let same = objects.iter().filter(|object| object["change"] == change);
    let named = same.map(|object| {
        let fields = object["fields"].as_array().cloned().unwrap_or_default();
        let fields: Vec<&str> = fields.iter().filter_map(Value::as_str).collect();
        let text = |name: &str| object[name].as_str().unwrap();
        format!("{} {}: {}", text("kind"), text("name"), fields.join(" "))
    });
    named.collect()
}

#[test]
fn all_is_new_where_nothing_is_installed_and_unchanged_once_it_is() {
    with_settings(settings(), async |server, client| {
        let called = call(server, "upgrade", &["--check", "-o", "json"]).await;
        assert_eq!(called.code, 1, "{}", called.stderr);
        let new = with(&called, "new").len();
        assert!(new > 50 && called.json()["objects"].as_array().unwrap().len() == new);
        install(client).await;
        let called = call(server, "upgrade", &["--check", "-o", "json"]).await;
        assert_eq!(with(&called, "changed"), Vec::<String>::new());
        assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
        assert_eq!(with(&called, "unchanged").len(), new);
    });
}

#[test]
fn what_differs_is_named_object_by_object() {
    with_settings(settings(), async |server, client| {
        install(client).await;
        let deployment = "/apis/apps/v1/namespaces/evenkeel-system/deployments/evenkeel";
        let body = json!({"spec": {"replicas": 5}});
        let (code, answer) = patch(client, deployment, "merge", &body).await;
        assert_eq!(code, 200, "{answer}");
        let left = json!({"metadata": {"name": "evenkeel-in-place-tuning",
            "labels": {"app.kubernetes.io/name": "evenkeel"}}, "rules": []});
        create(
            client,
            "/apis/rbac.authorization.k8s.io/v1/clusterroles",
            &left,
        )
        .await;
        let set = ["--set", "scaling.mode=floor"];
        let options = ["--check", "-o", "json", "--with", "prometheus-operator"];
        let called = call(server, "upgrade", &[&options[..], &set].concat()).await;
        assert_eq!(called.code, 1, "{}", called.stderr);
        let mut changed = with(&called, "changed");
        changed.sort();
        // The Pods that read the configuration get its hash, so that they are replaced.
        let expected = [
            "ConfigMap evenkeel: data.config.yaml: scaling.mode",
            "Deployment evenkeel-signer: spec.template.metadata.annotations",
            "Deployment evenkeel: spec.replicas spec.template.metadata.annotations",
        ];
        assert_eq!(changed, expected);
        let monitors = ["ServiceMonitor evenkeel: ", "PodMonitor evenkeel-agent: "];
        assert_eq!(with(&called, "new"), monitors);
        let gone = with(&called, "noLongerShipped");
        assert_eq!(gone, ["ClusterRole evenkeel-in-place-tuning: "]);
        let table = call(server, "upgrade", &["--check"]).await;
        assert_eq!(table.code, 1);
        for part in ["spec.replicas", "no longer shipped", "2 objects differ"] {
            let text = format!("{}{}", table.stdout, table.stderr);
            assert!(text.contains(part), "{part}: {text}");
        }
        let longest = table.stdout.lines().map(|line| line.chars().count()).max();
        assert!(longest.unwrap() <= 100, "{}", table.stdout);
    });
}

#[test]
fn the_one_thing_that_it_does_has_to_be_named() {
    with_settings(settings(), async |server, _| {
        let called = call(server, "upgrade", &[]).await;
        assert_eq!(called.code, 2);
        assert!(called.stderr.contains("--check"), "{}", called.stderr);
    });
}
