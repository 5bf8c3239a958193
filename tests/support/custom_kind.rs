//! Kinds of which the embedded server knows nothing until they are defined.

use kube::Client;
use serde_json::{Value, json};

use super::control_plane::wait::{eventually, holds};
use super::dev_api::{ask, create};

/// Group, version, kind and plural of KEDA's kind.
pub(crate) const KEDA: [&str; 4] = ["keda.sh", "v1alpha1", "ScaledObject", "scaledobjects"];

/// The path of all definitions.
pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// The definition of a kind with objects that may hold anything.
pub(crate) fn definition([group, version, kind, plural]: [&str; 4], scope: &str) -> Value {
    json!({"metadata": {"name": format!("{plural}.{group}")}, "spec": {
        "group": group, "scope": scope, "names": {"kind": kind, "plural": plural},
        "versions": [{"name": version, "served": true, "storage": true, "schema": {
            "openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

/// Defines a kind, and waits until it is served.
pub(crate) async fn define(client: &Client, names: [&str; 4], scope: &str) {
    create(client, DEFINITIONS, &definition(names, scope)).await;
    let [group, version, _, plural] = names;
    let served = format!("/apis/{group}/{version}/{plural}");
    eventually("the kind to be served", async || {
        let (status, answer) = ask(client, "GET", &served, &Value::Null).await;
        holds(status == 200, || answer.to_string())
    })
    .await;
}
