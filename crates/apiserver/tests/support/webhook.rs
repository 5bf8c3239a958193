//! A webhook over TLS whose answers depend on the path.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::{Response, StatusCode};
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use serde_json::{Value, json};
use tokio_rustls::TlsAcceptor;

use super::http;

/// Runs until the runtime ends.
pub(crate) struct Hook {
    /// `https://127.0.0.1:port`.
    pub url: String,
    /// For `caBundle`.
    pub bundle: String,
    /// Number of reviews.
    pub calls: Arc<AtomicU32>,
}

/// Known by its address.
pub(crate) async fn start() -> Hook {
    start_as("127.0.0.1").await
}

pub(crate) async fn start_as(name: &str) -> Hook {
    let (tls, bundle) = certificate(name);
    let calls = Arc::new(AtomicU32::new(0));
    let counted = Arc::clone(&calls);
    let answer = move |path: String, body: Bytes| {
        counted.fetch_add(1, Ordering::SeqCst);
        answer(path, body)
    };
    let address = http::serve(Some(TlsAcceptor::from(tls)), answer).await;
    let url = format!("https://{address}");
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

/// Without its UID.
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

async fn answer(path: String, body: Bytes) -> Response<Full<Bytes>> {
    let path = path.split('?').next().unwrap_or_default();
    let case = path.rsplit('/').next().unwrap_or_default();
    let review: Value = serde_json::from_slice(&body).expect("a review");
    let mut response = response(case);
    response["uid"] = match case {
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
    let mut answer = Response::new(Full::from(answer.to_string()));
    if case == "fails" {
        *answer.status_mut() = StatusCode::INTERNAL_SERVER_ERROR;
    }
    answer
}
