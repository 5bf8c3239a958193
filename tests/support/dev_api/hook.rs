//! A webhook over TLS that answers as its path says.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use axum::extract::{Path, State};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto::Builder;
use hyper_util::service::TowerToHyperService;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// A running webhook.
pub struct Hook {
    /// `https://127.0.0.1:port`.
    pub url: String,
    /// Trust in it, as `caBundle` wants it.
    pub bundle: String,
    /// How many reviews it got.
    pub calls: Arc<AtomicU32>,
}

/// Starts one that is known by its address.
pub async fn start() -> Hook {
    start_as("127.0.0.1").await
}

/// Starts one that is known by a name.
pub async fn start_as(name: &str) -> Hook {
    let (tls, bundle) = certificate(name);
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let url = format!("https://{}", listener.local_addr().expect("it is bound"));
    let calls = Arc::new(AtomicU32::new(0));
    let router = Router::new()
        .route("/{case}", post(answer))
        .with_state(Arc::clone(&calls));
    let tls = TlsAcceptor::from(tls);
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let (tls, router) = (tls.clone(), router.clone());
            tokio::spawn(async move {
                let Ok(stream) = tls.accept(stream).await else {
                    return;
                };
                let service = TowerToHyperService::new(router);
                let builder = Builder::new(TokioExecutor::new());
                // Clients that hang up are none of its business.
                let _ = builder
                    .serve_connection(TokioIo::new(stream), service)
                    .await;
            });
        }
    });
    Hook { url, bundle, calls }
}

fn certificate(name: &str) -> (Arc<ServerConfig>, String) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().expect("a key");
    let authority = CertifiedIssuer::self_signed(params, key).expect("an authority");
    let params = CertificateParams::new(vec![name.to_owned()]).expect("names");
    let key = KeyPair::generate().expect("a key");
    let leaf = params.signed_by(&key, &authority).expect("a certificate");
    let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(key.serialize_der()));
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_no_client_auth()
        .with_single_cert(vec![leaf.der().clone()], key)
        .expect("a certificate and its key");
    (Arc::new(config), STANDARD.encode(authority.pem()))
}

fn patch(operations: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": STANDARD.encode(operations.to_string())})
}

/// The response of a case, without its UID.
fn response(case: &str) -> Value {
    let add = |path: &str, value: Value| json!([{"op": "add", "path": path, "value": value}]);
    let mark = add("/metadata/annotations", json!({"hook": "was here"}));
    match case {
        "good" | "wrong-uid" => patch(&mark),
        "unknown-field" => patch(&add("/spec/fish", json!(1))),
        "does-not-apply" => patch(&json!([{"op": "remove", "path": "/spec/none"}])),
        "does-not-decode" => patch(&add("/spec/containers/0/name", json!({"a": 1}))),
        "is-invalid" => patch(&add("/metadata/labels/x", json!("-"))),
        "empty-patch" => patch(&json!([])),
        "no-patch-type" => json!({"allowed": true, "patch": "W10="}),
        "not-base64" => json!({"allowed": true, "patchType": "JSONPatch", "patch": "%"}),
        "denied" => json!({"allowed": false, "status": {"code": 403, "message": "not today"}}),
        "denied-silently" => json!({"allowed": false}),
        "marks-too" => patch(&add("/metadata/labels", json!({"hook": "was-here-too"}))),
        "warns" => json!({"allowed": true, "warnings": ["mind the step"]}),
        _ => json!({"allowed": true}),
    }
}

async fn answer(
    State(calls): State<Arc<AtomicU32>>,
    Path(case): Path<String>,
    Json(review): Json<Value>,
) -> (StatusCode, HeaderMap, Json<Value>) {
    calls.fetch_add(1, Ordering::SeqCst);
    let mut response = response(&case);
    response["uid"] = match case.as_str() {
        "wrong-uid" => json!("another"),
        _ => review["request"]["uid"].clone(),
    };
    let mut answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response,
    });
    if case == "no-response" {
        answer = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"});
    }
    if case == "slow" {
        tokio::time::sleep(Duration::from_secs(3)).await;
    }
    let status = match case.as_str() {
        "fails" => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::OK,
    };
    (status, HeaderMap::new(), Json(answer))
}
