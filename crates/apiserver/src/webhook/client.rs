//! HTTPS to webhooks: trust in the `caBundle` only, connections kept between calls.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use reqwest::{Client, Response};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;

use super::{Failure, Webhook};
use crate::clock;
use crate::endpoints::{self, Place};
use crate::meta;
use crate::store::{Key, Store};

/// Calls that are answered with Retry-After, at most.
const CALLS: usize = 11;

/// Host to connect to under another address, trust anchors, and so the client to use.
type Peer = (String, Vec<SocketAddr>, String);

/// Clients by peer.
#[derive(Default)]
pub(crate) struct Webhooks {
    clients: Mutex<HashMap<Peer, Client>>,
}

/// Where a webhook listens.
struct Endpoint {
    url: String,
    host: String,
    /// Where the host is; none where its name says so.
    addresses: Vec<SocketAddr>,
}

impl Webhooks {
    /// Sends a review and answers the body that comes back.
    pub(super) async fn send(
        &self,
        store: &Store,
        webhook: &Webhook,
        body: &str,
    ) -> Result<Vec<u8>, Failure> {
        let seconds = webhook.value["timeoutSeconds"].as_u64().unwrap_or(10);
        let endpoint = endpoint(store, &webhook.value["clientConfig"]).await?;
        let trust = meta::text(&webhook.value, "/clientConfig/caBundle");
        let client = self.client(&endpoint, trust)?;
        let separator = if endpoint.url.contains('?') { '&' } else { '?' };
        let url = format!("{}{separator}timeout={seconds}s", endpoint.url);
        let deadline = clock::instant() + Duration::from_secs(seconds);
        let calls = calls(&client, &url, body);
        match tokio::time::timeout_at(deadline.into(), calls).await {
            Ok(answer) => answer,
            Err(_) => Err(Failure(format!("Post {url:?}: context deadline exceeded"))),
        }
    }

    fn client(&self, endpoint: &Endpoint, trust: &str) -> Result<Client, Failure> {
        let addresses = endpoint.addresses.clone();
        let peer = (endpoint.host.clone(), addresses, trust.to_owned());
        let mut clients = self.clients.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = clients.get(&peer) {
            return Ok(client.clone());
        }
        let mut builder = Client::builder()
            .no_proxy()
            .tls_backend_preconfigured(tls(trust)?);
        if !endpoint.addresses.is_empty() {
            // Services are called over HTTP/1.1 only, and found by address.
            builder = builder
                .http1_only()
                .resolve_to_addrs(&endpoint.host, &endpoint.addresses);
        }
        let client = builder
            .build()
            .map_err(|error| Failure(error.to_string()))?;
        clients.insert(peer, client.clone());
        Ok(client)
    }
}

async fn endpoint(store: &Store, config: &Value) -> Result<Endpoint, Failure> {
    let url = meta::text(config, "/url");
    if !url.is_empty() {
        return Ok(Endpoint {
            url: url.to_owned(),
            host: String::new(),
            addresses: Vec::new(),
        });
    }
    let text = |field: &str| meta::text(&config["service"], field);
    let (namespace, name, path) = (text("/namespace"), text("/name"), text("/path"));
    let port = config["service"]["port"].as_u64().unwrap_or(443);
    let key = Key::new(namespace, name);
    let place = endpoints::of_service(store, &key, &port.to_string()).map_err(Failure)?;
    let host = format!("{name}.{namespace}.svc");
    Ok(Endpoint {
        url: format!("https://{host}:{port}/{}", path.trim_start_matches('/')),
        host,
        addresses: addresses(&place).await?,
    })
}

async fn addresses(place: &Place) -> Result<Vec<SocketAddr>, Failure> {
    let Place { host, port } = place;
    let found = tokio::net::lookup_host((host.as_str(), *port)).await;
    let found = found.map_err(|error| Failure(format!("lookup {host}: {error}")))?;
    Ok(found.collect())
}

fn tls(trust: &str) -> Result<ClientConfig, Failure> {
    let pem = STANDARD
        .decode(trust)
        .map_err(|error| Failure(format!("caBundle is not base64: {error}")))?;
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(&pem) {
        let certificate = certificate.map_err(|error| Failure(format!("caBundle: {error}")))?;
        roots
            .add(certificate)
            .map_err(|error| Failure(format!("caBundle: {error}")))?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| Failure(error.to_string()))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    Ok(config)
}

async fn calls(client: &Client, url: &str, body: &str) -> Result<Vec<u8>, Failure> {
    for _ in 0..CALLS {
        let request = client
            .post(url)
            .header(USER_AGENT, "kube-apiserver-admission")
            .header(ACCEPT, "application/json, */*")
            .header(CONTENT_TYPE, "application/json")
            .body(body.to_owned());
        let response = request.send().await.map_err(|error| told(&error))?;
        let status = response.status();
        if status.is_success() {
            let bytes = response.bytes().await.map_err(|error| told(&error))?;
            return Ok(bytes.to_vec());
        }
        let Some(wait) = retry_after(&response) else {
            return Err(Failure(format!(
                "an error on the server ({status}) has prevented the request from succeeding"
            )));
        };
        tokio::time::sleep(wait).await;
    }
    Err(Failure("too many retries".to_owned()))
}

/// An error with its causes, which hold what matters: refused, expired, not trusted.
fn told(error: &reqwest::Error) -> Failure {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        text = format!("{text}: {cause}");
        source = cause.source();
    }
    Failure(text)
}

/// Servers that fail and name a time are asked again.
fn retry_after(response: &Response) -> Option<Duration> {
    let status = response.status();
    if status.as_u16() != 429 && !status.is_server_error() {
        return None;
    }
    let seconds = response
        .headers()
        .get(RETRY_AFTER)?
        .to_str()
        .ok()?
        .parse()
        .ok()?;
    Some(Duration::from_secs(seconds))
}
