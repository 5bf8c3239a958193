//! What is in a cluster from the start: namespaces, priority classes, the API's own Service.

use std::sync::Arc;

use serde_json::{Value, json};

use super::call::Call;
use super::error::ApiError;
use super::meta;
use super::state::Api;
use super::store::Expected;
use super::write;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Writes it.
pub(crate) async fn write(api: &Arc<Api>) -> Result<(), ApiError> {
    for name in NAMESPACES {
        create(
            api,
            ("", "v1", "namespaces"),
            json!({"metadata": {"name": name}}),
        )
        .await?;
    }
    let classes = [
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    ];
    for (name, value) in classes {
        let class = json!({"metadata": {"name": name}, "value": value,
            "description": "Used for system critical pods."});
        create(api, ("scheduling.k8s.io", "v1", "priorityclasses"), class).await?;
    }
    let service = json!({
        "metadata": {"name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
    });
    create(api, ("", "v1", "services"), service).await
}

async fn create(
    api: &Arc<Api>,
    (group, version, plural): (&str, &str, &str),
    object: Value,
) -> Result<(), ApiError> {
    let resource = api
        .registry
        .find(group, version, plural)
        .ok_or_else(ApiError::no_such_path)?;
    let mut call = Call::new(Arc::clone(api), resource);
    let namespace = meta::namespace(&object);
    call.namespace = (!namespace.is_empty()).then(|| namespace.to_owned());
    write::create(&call, object).await.map(drop)
}

/// Gives a new namespace the account that Pods in it run as, before anybody can miss it.
pub(crate) fn service_account(api: &Api, namespace: &str) {
    let account = json!({
        "kind": "ServiceAccount", "apiVersion": "v1",
        "metadata": {"name": "default", "namespace": namespace, "uid": api.identities.uid(),
            "creationTimestamp": api.stamp()},
    });
    // Whoever made it first made the same one.
    let _ = api
        .store
        .commit(&Arc::from("serviceaccounts"), Expected::Absent, account);
}
