//! Volumes that are made only once a node is chosen, and only when a test wants: kube-scheduler keeps the Pods
//! that claim them from being bound until then.

use kube::Client;
use serde_json::{Value, json};

use crate::support::dev_api::{ask, create, patch};

const CLASS: &str = "made-later";

/// The kind of volumes.
pub(crate) async fn create_class(client: &Client) {
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": CLASS},
        "provisioner": "volumes.example/later", "volumeBindingMode": "WaitForFirstConsumer"});
    let (status, answer) = ask(
        client,
        "POST",
        "/apis/storage.k8s.io/v1/storageclasses",
        &class,
    )
    .await;
    assert!(status == 201 || status == 409, "{answer}");
}

/// Claims a volume.
pub(crate) async fn claim(client: &Client, namespace: &str, name: &str) {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name},
        "spec": {"storageClassName": CLASS, "accessModes": ["ReadWriteOnce"],
                 "resources": {"requests": {"storage": "1Gi"}}}});
    create(client, &claims(namespace), &claim).await;
}

/// The claims for which a node has been chosen.
pub(crate) async fn chosen_for(client: &Client, namespace: &str) -> Vec<Value> {
    let (_, list) = ask(client, "GET", &claims(namespace), &Value::Null).await;
    let claims = list["items"].as_array().expect("a list of claims").iter();
    let is_chosen = |claim: &&Value| {
        claim["metadata"]["annotations"]["volume.kubernetes.io/selected-node"].is_string()
    };
    claims.filter(is_chosen).cloned().collect()
}

/// Makes the volumes of these claims.
pub(crate) async fn make(client: &Client, namespace: &str, chosen: &[Value]) {
    for claim in chosen {
        let name = claim["metadata"]["name"].as_str().expect("a name");
        let volume = format!("{namespace}-{name}");
        let made = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": volume},
            "spec": {"storageClassName": CLASS, "accessModes": ["ReadWriteOnce"],
                     "capacity": {"storage": "1Gi"}, "hostPath": {"path": "/nowhere"},
                     "claimRef": {"namespace": namespace, "name": name, "uid": claim["metadata"]["uid"]}}});
        create(client, "/api/v1/persistentvolumes", &made).await;
        let bound = json!({
            "metadata": {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}},
            "spec": {"volumeName": volume}});
        let path = format!("{}/{name}", claims(namespace));
        let (status, answer) = patch(client, &path, "merge", &bound).await;
        assert_eq!(status, 200, "{answer}");
    }
}

fn claims(namespace: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims")
}
