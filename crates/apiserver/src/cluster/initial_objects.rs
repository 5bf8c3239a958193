//! The first objects of every cluster: namespaces, priority classes, and the Service of the API
//! itself.

use std::sync::Arc;

use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::error::ApiError;
use crate::meta;
use crate::state::Api;
use crate::verbs::create;

const NAMESPACES: [&str; 4] = ["default", "kube-system", "kube-public", "kube-node-lease"];

/// Into an empty store.
pub(crate) async fn write(api: &Arc<Api>) -> Result<(), ApiError> {
    for name in NAMESPACES {
        seed(api, "namespaces", json!({"metadata": {"name": name}})).await?;
    }
    let classes = [
        ("system-cluster-critical", 2_000_000_000),
        ("system-node-critical", 2_000_001_000),
    ];
    for (name, value) in classes {
        let class = json!({"metadata": {"name": name}, "value": value,
            "description": "Used for system critical pods."});
        seed(api, "priorityclasses.scheduling.k8s.io", class).await?;
    }
    let service = json!({
        "metadata": {"name": "kubernetes", "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {"ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}]},
    });
    seed(api, "services", service).await
}

async fn seed(api: &Arc<Api>, collection: &str, object: Value) -> Result<(), ApiError> {
    let resource = api
        .registry
        .of_collection(collection)
        .ok_or_else(ApiError::no_such_path)?;
    let mut call = ApiRequest::new(Arc::clone(api), resource);
    let namespace = meta::namespace(&object);
    call.namespace = (!namespace.is_empty()).then(|| namespace.to_owned());
    create::create(&call, object).await.map(drop)
}
