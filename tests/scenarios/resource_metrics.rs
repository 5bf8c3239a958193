//! `metrics.k8s.io` behind the API server's aggregation: what kube-controller-manager scales by is
//! then what the Prometheus stand-in says as well.

use std::sync::Arc;

use axum::Router;
use axum::extract::{Path, State};
use axum::response::Json;
use axum::routing::get;
use evenkeel_clock as clock;
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use crate::support::control_plane::wait::eventually;
use crate::support::load::Handle;

/// The running extension server; it ends when this is dropped.
pub(crate) struct ResourceMetrics {
    server: JoinHandle<()>,
}

impl Drop for ResourceMetrics {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl ResourceMetrics {
    /// Serves the group and has the API server pass it on.
    pub(crate) async fn start(client: &Client, load: Handle) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let router = Router::new()
            .route("/apis/metrics.k8s.io/v1beta1", get(resources))
            .route(
                "/apis/metrics.k8s.io/v1beta1/namespaces/{namespace}/pods",
                get(pods),
            )
            .with_state((client.clone(), load));
        let server = tokio::spawn(serve(listener, router));
        let probe = "/apis/metrics.k8s.io/v1beta1/namespaces/default/pods";
        aggregate(client, ("metrics.k8s.io", "v1beta1"), port, probe).await;
        Self { server }
    }
}

/// The API server leads to a Service by its name; one that is only a name leads to this machine.
///
/// `probe` is what is answered once the group is passed on.
pub(crate) async fn aggregate(
    client: &Client,
    (group, version): (&str, &str),
    port: u16,
    probe: &str,
) {
    let name = group.replace('.', "-");
    let service = json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name, "namespace": "kube-system"},
        "spec": {"type": "ExternalName", "externalName": "localhost", "ports": [{"port": port}]}});
    let passed_on = json!({"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": {"name": format!("{version}.{group}")},
        "spec": {"group": group, "version": version, "insecureSkipTLSVerify": true,
            "groupPriorityMinimum": 100, "versionPriority": 100,
            "service": {"name": name, "namespace": "kube-system", "port": port}}});
    let services = "/api/v1/namespaces/kube-system/services";
    let groups = "/apis/apiregistration.k8s.io/v1/apiservices";
    for (path, object) in [
        (format!("{services}/{name}"), service),
        (format!("{groups}/{version}.{group}"), passed_on),
    ] {
        let request = axum::http::Request::patch(format!("{path}?fieldManager=test&force=true"))
            .header("content-type", "application/apply-patch+yaml")
            .body(object.to_string().into_bytes());
        let applied = client.request_text(request.expect("a request")).await;
        applied.unwrap_or_else(|error| panic!("{path}: {error}"));
    }
    eventually(&format!("{group} is passed on"), async || {
        let request = axum::http::Request::get(probe)
            .body(Vec::new())
            .expect("a request");
        client
            .request_text(request)
            .await
            .map_err(|error| error.to_string())
    })
    .await;
}

/// Serves an extension API over TLS, for ever.
pub(crate) async fn serve(listener: TcpListener, router: Router) {
    let identity = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
    let identity = identity.expect("a certificate");
    let key = rustls::pki_types::PrivateKeyDer::try_from(identity.signing_key.serialize_der());
    let tls = rustls::ServerConfig::builder()
        .with_no_client_auth()
        .with_single_cert(vec![identity.cert.der().clone()], key.expect("a key"))
        .expect("they fit");
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(tls));
    loop {
        let (stream, _) = listener.accept().await.expect("it is bound");
        let service = hyper_util::service::TowerToHyperService::new(router.clone());
        let acceptor = acceptor.clone();
        tokio::spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else {
                return;
            };
            let stream = hyper_util::rt::TokioIo::new(stream);
            // A connection that breaks is opened again by the other side.
            let _ = hyper::server::conn::http1::Builder::new()
                .serve_connection(stream, service)
                .await;
        });
    }
}

pub(crate) async fn resources() -> Json<Value> {
    Json(json!({"kind": "APIResourceList", "apiVersion": "v1",
        "groupVersion": "metrics.k8s.io/v1beta1", "resources": [
            {"name": "pods", "singularName": "", "namespaced": true, "kind": "PodMetrics",
                "verbs": ["get", "list"]}]}))
}

/// The Pods that run share the load.
async fn pods(
    State((client, load)): State<(Client, Handle)>,
    Path(namespace): Path<String>,
) -> Json<Value> {
    let found = Api::<Pod>::namespaced(client, &namespace)
        .list(&ListParams::default())
        .await;
    let names: Vec<String> = found
        .into_iter()
        .flatten()
        .map(|pod| pod.name_any())
        .collect();
    let now = clock::now();
    let count = u32::try_from(names.len()).expect("few Pods").max(1);
    let each = load.load(now) / f64::from(count);
    let items = names.iter().map(|name| {
        json!({"metadata": {"name": name, "namespace": namespace},
            "timestamp": now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string(), "window": "1s",
            "containers": [{"name": "app",
                "usage": {"cpu": format!("{}n", nano(each)), "memory": "64Mi"}}]})
    });
    Json(
        json!({"kind": "PodMetricsList", "apiVersion": "metrics.k8s.io/v1beta1", "metadata": {},
        "items": items.collect::<Vec<_>>()}),
    )
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)] // a few cores
fn nano(cores: f64) -> u64 {
    (cores * 1e9) as u64
}
