//! Calls one webhook for an admission review: address, trusted CA, time limit and retries.

use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use http_body_util::Full;
use hyper::header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, USER_AGENT};
use hyper::{Request, Response, Uri};
use serde_json::Value;

use crate::admission::webhooks::request::{Webhook, WebhookFailure};
use crate::clock;
use crate::meta;
use crate::network::client::{OutboundClient, Peer, PeerTrust};
use crate::network::endpoints::{self, HostPort};
use crate::state::Api;
use crate::store::{ObjectKey, ObjectStore};

/// Most calls for one request while each answer has `Retry-After`.
const MOST_CALLS: usize = 11;

struct Destination {
    url: Uri,
    peer: Peer,
}

/// # Errors
/// The webhook cannot be reached in time or answers with an error.
pub(super) async fn call(
    api: &Api,
    webhook: &Webhook,
    body: &str,
) -> Result<Bytes, WebhookFailure> {
    let seconds = webhook.value["timeoutSeconds"].as_u64().unwrap_or(10);
    let deadline = clock::instant() + Duration::from_secs(seconds);
    let exceeded = || "context deadline exceeded".to_owned();
    let destination = destination(&api.store, &webhook.value["clientConfig"], seconds);
    // A slow lookup uses up the same time as a slow answer.
    let destination = tokio::time::timeout_at(deadline.into(), destination)
        .await
        .map_err(|_| WebhookFailure(exceeded()))??;
    let calls = calls(&api.client, &destination, body);
    let failed = |why: String| WebhookFailure(format!("Post \"{}\": {why}", destination.url));
    match tokio::time::timeout_at(deadline.into(), calls).await {
        Ok(answer) => answer.map_err(failed),
        Err(_) => Err(failed(exceeded())),
    }
}

async fn destination(
    store: &ObjectStore,
    config: &Value,
    seconds: u64,
) -> Result<Destination, WebhookFailure> {
    let authorities = STANDARD
        .decode(meta::text(config, "/caBundle"))
        .map_err(|error| WebhookFailure(format!("caBundle is not base64: {error}")))?;
    let (place, url) = match meta::text(config, "/url") {
        "" => by_service(store, &config["service"])?,
        url => by_url(url)?,
    };
    let separator = if url.contains('?') { '&' } else { '?' };
    let url: Uri = format!("{url}{separator}timeout={seconds}s")
        .parse()
        .map_err(|error| WebhookFailure(format!("{url:?} is no URL: {error}")))?;
    let host = url.host().unwrap_or_default();
    let trust = PeerTrust {
        server_name: host.trim_matches(['[', ']']).to_owned(),
        authorities,
    };
    let peer = Peer {
        addresses: endpoints::resolve(&place).await.map_err(WebhookFailure)?,
        tls: Some(trust),
    };
    Ok(Destination { url, peer })
}

fn by_url(url: &str) -> Result<(HostPort, String), WebhookFailure> {
    let parsed: Uri = url
        .parse()
        .map_err(|error| WebhookFailure(format!("{url:?} is no URL: {error}")))?;
    let host = parsed.host().unwrap_or_default().trim_matches(['[', ']']);
    let place = HostPort {
        host: host.to_owned(),
        port: parsed.port_u16().unwrap_or(443),
    };
    Ok((place, url.to_owned()))
}

/// Called under its cluster name, wherever its connections end.
fn by_service(store: &ObjectStore, service: &Value) -> Result<(HostPort, String), WebhookFailure> {
    let text = |field: &str| meta::text(service, field);
    let (namespace, name, path) = (text("/namespace"), text("/name"), text("/path"));
    let port = service["port"].as_u64().unwrap_or(443);
    let key = ObjectKey::new(namespace, name);
    let place = endpoints::of_service(store, &key, &port.to_string()).map_err(WebhookFailure)?;
    let path = path.trim_start_matches('/');
    Ok((
        place,
        format!("https://{name}.{namespace}.svc:{port}/{path}"),
    ))
}

async fn calls(
    client: &OutboundClient,
    destination: &Destination,
    body: &str,
) -> Result<Bytes, String> {
    let path = destination
        .url
        .path_and_query()
        .map_or("/", |path| path.as_str());
    let host = destination.url.authority().map_or("", |host| host.as_str());
    for _ in 0..MOST_CALLS {
        let request = Request::post(path)
            .header(USER_AGENT, "kube-apiserver-admission")
            .header(ACCEPT, "application/json, */*")
            .header(CONTENT_TYPE, "application/json")
            .body(Full::from(body.to_owned()))
            .map_err(|error| error.to_string())?;
        let response = client
            .send(&destination.peer, host, request)
            .await
            .map_err(|error| error.to_string())?;
        let status = response.status();
        if status.is_success() {
            return Ok(response.into_body());
        }
        let Some(wait) = retry_after(&response) else {
            return Err(format!(
                "an error on the server ({status}) has prevented the request from succeeding"
            ));
        };
        tokio::time::sleep(wait).await;
    }
    Err("too many retries".to_owned())
}

/// From a server that failed.
fn retry_after(response: &Response<Bytes>) -> Option<Duration> {
    let status = response.status();
    if status.as_u16() != 429 && !status.is_server_error() {
        return None;
    }
    let wait = response.headers().get(RETRY_AFTER)?.to_str().ok()?;
    wait.parse().ok().map(Duration::from_secs)
}
