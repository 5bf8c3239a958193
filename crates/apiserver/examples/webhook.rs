//! A test of a mutating webhook, which the API server calls over TLS: `cargo run --example
//! webhook`.

use std::convert::Infallible;
use std::error::Error;
use std::net::SocketAddr;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use bytes::Bytes;
use evenkeel_apiserver::{ApiServer, Settings};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;

/// Labels every Pod.
async fn review(request: Request<Incoming>) -> Result<Response<Full<Bytes>>, Infallible> {
    let body = request.into_body().collect().await;
    let body = body.map(http_body_util::Collected::to_bytes);
    let review: Value = serde_json::from_slice(&body.unwrap_or_default()).unwrap_or_default();
    let patch = json!([{"op": "add", "path": "/metadata/labels", "value": {"seen": "yes"}}]);
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": true,
            "patchType": "JSONPatch", "patch": BASE64.encode(patch.to_string())},
    });
    Ok(Response::new(Full::from(answer.to_string())))
}

/// Over TLS on a free port; its address and its certificate as PEM.
async fn serve() -> Result<(SocketAddr, String), Box<dyn Error>> {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()])?;
    let key = made.signing_key.serialize_der().try_into()?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)?;
    let tls = TlsAcceptor::from(Arc::new(tls));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let address = listener.local_addr()?;
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            let Ok(stream) = tls.accept(stream).await else {
                continue;
            };
            let http = hyper::server::conn::http1::Builder::new();
            tokio::spawn(http.serve_connection(TokioIo::new(stream), service_fn(review)));
        }
    });
    Ok((address, made.cert.pem()))
}

pub(crate) async fn test() -> Result<(), Box<dyn Error>> {
    let server = ApiServer::start(Settings::default()).await?;
    let client = Client::try_from(kube::Config::new(server.url().parse()?))?;
    let (webhook, certificate) = serve().await?;

    let configuration = serde_json::from_value(
        json!({"metadata": {"name": "labels"}, "webhooks": [{
            "name": "labels.example.dev", "admissionReviewVersions": ["v1"], "sideEffects": "None",
            "clientConfig": {"url": format!("https://{webhook}/mutate"), "caBundle": BASE64.encode(certificate)},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}],
        }]}),
    )?;
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    configurations
        .create(&PostParams::default(), &configuration)
        .await?;

    let pod: Pod = serde_json::from_value(json!({"metadata": {"name": "web"},
        "spec": {"containers": [{"name": "app", "image": "registry.example/app:1"}]}}))?;
    let pods: Api<Pod> = Api::namespaced(client, "default");
    let made = pods.create(&PostParams::default(), &pod).await?;
    assert_eq!(made.labels()["seen"], "yes");

    server.stop().await;
    Ok(())
}

#[allow(dead_code)] // the tests of this crate run the example as a module
#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    test().await
}
