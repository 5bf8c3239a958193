//! Servers for tests, and requests to any server.

use std::time::Duration;

use evenkeel_apiserver::{ApiServer, Settings};
use hyper::Request;
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use kube::api::PostParams;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::control_plane::wait::{eventually, holds};
use super::control_plane::{kubelet, with_shared_control_plane};

/// On a server in memory with a kubelet for all nodes.
pub(crate) fn with_embedded(test: impl AsyncFnOnce(&Client)) {
    with_settings(settings(), async |_, client| {
        let kubelet = tokio::spawn(kubelet::run(client.clone()));
        test(client).await;
        kubelet.abort();
    });
}

/// TLS and quick bookmarks.
pub(crate) fn settings() -> Settings {
    Settings {
        tls: true,
        bookmark_interval: Duration::from_millis(200),
        ..Settings::default()
    }
}

pub(crate) fn with_settings(settings: Settings, test: impl AsyncFnOnce(&ApiServer, &Client)) {
    // Fails only if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let runtime = Runtime::new().expect("a runtime starts");
    runtime.block_on(async {
        let server = ApiServer::start(settings).await.expect("the server starts");
        let client = client(&server.kubeconfig()).await;
        test(&server, &client).await;
        server.stop().await;
    });
}

/// Shows every answer, also those that kube would retry.
async fn client(kubeconfig: &str) -> Client {
    let kubeconfig = Kubeconfig::from_yaml(kubeconfig).expect("the kubeconfig is read");
    let options = KubeConfigOptions::default();
    let mut config = kube::Config::from_custom_kubeconfig(kubeconfig, &options)
        .await
        .expect("the kubeconfig is whole");
    config.default_retry = false;
    Client::try_from(config).expect("a client is made")
}

/// On the shared real control plane.
pub(crate) fn with_real(test: impl AsyncFnOnce(&Client)) {
    with_shared_control_plane(async |plane| {
        let path = plane.folder().join("admin.kubeconfig");
        let kubeconfig = std::fs::read_to_string(path).expect("the kubeconfig is there");
        test(&client(&kubeconfig).await).await;
    });
}

/// A new namespace that accepts Pods.
pub(crate) async fn namespace(client: &Client) -> String {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let new = serde_json::from_value(json!({"metadata": {"generateName": "conformance-"}}));
    let made = namespaces
        .create(&PostParams::default(), &new.expect("a Namespace"))
        .await
        .expect("the namespace is made");
    let name = made.name_any();
    let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &name);
    eventually("the default ServiceAccount", async || {
        let found = accounts.get("default").await;
        found.map(drop).map_err(|error| error.to_string())
    })
    .await;
    name
}

/// Status and body of any answer.
pub(crate) async fn ask(client: &Client, method: &str, path: &str, body: &Value) -> (u16, Value) {
    send(
        client,
        Request::builder().method(method).uri(path),
        "application/json",
        body,
    )
    .await
}

pub(crate) async fn patch(client: &Client, path: &str, kind: &str, body: &Value) -> (u16, Value) {
    let media = match kind {
        "apply" => "application/apply-patch+yaml".to_owned(),
        kind => format!("application/{kind}-patch+json"),
    };
    send(client, Request::patch(path), &media, body).await
}

async fn send(
    client: &Client,
    request: hyper::http::request::Builder,
    media: &str,
    body: &Value,
) -> (u16, Value) {
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = request
        .header("content-type", media)
        .body(body)
        .expect("a request");
    answer(client, request).await
}

/// Accepts a special form.
pub(crate) async fn get_as(client: &Client, path: &str, accept: &str) -> Value {
    let request = Request::builder()
        .uri(path)
        .header("accept", accept)
        .body(Vec::new())
        .expect("a request");
    answer(client, request).await.1
}

async fn answer(client: &Client, request: Request<Vec<u8>>) -> (u16, Value) {
    let (parts, body) = request.into_parts();
    let request = Request::from_parts(parts, kube::client::Body::from(body));
    let response = client.send(request).await.expect("an answer");
    let status = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.expect("a body");
    let body = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
    (status, body)
}

/// Status, reason and message.
pub(crate) fn refusal((status, body): (u16, Value)) -> (u16, String, String) {
    let text = |field: &str| body[field].as_str().unwrap_or_default().to_owned();
    (status, text("reason"), text("message"))
}

pub(crate) async fn create(client: &Client, path: &str, object: &Value) -> Value {
    let (status, created) = ask(client, "POST", path, object).await;
    assert_eq!(status, 201, "{path}: {created}");
    created
}

pub(crate) async fn get(client: &Client, path: &str) -> Value {
    let (status, object) = ask(client, "GET", path, &Value::Null).await;
    assert_eq!(status, 200, "{path}: {object}");
    object
}

pub(crate) fn pod(name: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"app": name}}, "spec": {"containers": [
        {"name": "app", "image": "registry.example/app:1"}]}})
}

pub(crate) fn deployment(name: &str) -> Value {
    json!({"metadata": {"name": name}, "spec": {"replicas": 0,
        "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [
            {"name": "app", "image": "registry.example/app:1"}]}}}})
}

/// A collection in a namespace; `apps/v1` or `v1` before the plural.
pub(crate) fn path(namespace: &str, resource: &str) -> String {
    let (version, plural) = resource.rsplit_once('/').expect("a version and a plural");
    let root = if version == "v1" { "api" } else { "apis" };
    format!("/{root}/{version}/namespaces/{namespace}/{plural}")
}

/// Waits until the path is empty.
pub(crate) async fn gone(client: &Client, path: &str) {
    eventually("an object to be gone", async || {
        let (status, _) = ask(client, "GET", path, &Value::Null).await;
        holds(status == 404, || format!("{path} answers {status}"))
    })
    .await;
}
