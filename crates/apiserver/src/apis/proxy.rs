//! The `proxy` subresource of Pods and Services: passes a call on and the answer back. Plain HTTP
//! only: a server in memory has no certificates of kubelets and Services to check.

use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::Response;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;

use crate::error::{ApiError, StatusReason};
use crate::meta;
use crate::network::client::{CallError, Peer};
use crate::network::endpoints::{self, HostPort};
use crate::state::Api;
use crate::store::ObjectKey;
use crate::wire::path::ResourcePath;
use crate::wire::reply::{ResponseBody, whole};

/// kube-apiserver's limit for calls other than watches.
const PATIENCE: Duration = Duration::from_mins(1);

/// Parts of a name such as `web`, `web:8080` or `http:web:metrics`.
#[derive(Debug, PartialEq, Eq)]
struct ProxyName<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

fn proxy_name(text: &str) -> ProxyName<'_> {
    let mut parts = text.splitn(3, ':');
    let (first, second, third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    match (second, third) {
        (Some(name), Some(port)) => ProxyName {
            scheme: first,
            name,
            port,
        },
        (port, _) => ProxyName {
            scheme: "",
            name: first,
            port: port.unwrap_or_default(),
        },
    }
}

pub(crate) async fn answer(
    api: &Api,
    target: &ResourcePath,
    parts: &Parts,
    body: Bytes,
) -> Result<Response<ResponseBody>, ApiError> {
    let ProxyName { scheme, name, port } = proxy_name(target.name.as_deref().unwrap_or_default());
    if !matches!(scheme, "" | "http") {
        return Err(ApiError::unsupported("a proxy over anything but http"));
    }
    let key = ObjectKey::new(target.namespace.clone().unwrap_or_default(), name);
    let place = match target.plural.as_str() {
        "services" => endpoints::of_service(&api.store, &key, port).map_err(unavailable)?,
        _ => of_pod(api, &key, port)?,
    };
    let passing = pass_on(api, &place, target, parts, body);
    let answer = tokio::time::timeout(PATIENCE, passing).await;
    let answer = answer.map_err(|_| unreachable("no answer in time"))??;
    let mut response = Response::new(whole(answer.body().clone()));
    *response.status_mut() = answer.status();
    if let Some(media) = answer.headers().get(CONTENT_TYPE) {
        response.headers_mut().insert(CONTENT_TYPE, media.clone());
    }
    Ok(response)
}

async fn pass_on(
    api: &Api,
    place: &HostPort,
    target: &ResourcePath,
    parts: &Parts,
    body: Bytes,
) -> Result<Response<Bytes>, ApiError> {
    let tail = target.tail.as_deref().unwrap_or_default();
    let query = parts
        .uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let mut request = hyper::Request::builder()
        .method(parts.method.clone())
        .uri(format!("/{tail}{query}"));
    if let Some(media) = parts.headers.get(CONTENT_TYPE) {
        request = request.header(CONTENT_TYPE, media);
    }
    let request = request
        .body(Full::new(body))
        .map_err(|error| ApiError::bad_request(error.to_string()))?;
    let peer = Peer {
        addresses: endpoints::resolve(place).await.map_err(unavailable)?,
        tls: None,
    };
    let host = format!("{}:{}", place.host, place.port);
    let answer = api.client.send(&peer, &host, request).await;
    answer.map_err(|error: CallError| unreachable(&error.to_string()))
}

fn unavailable(why: String) -> ApiError {
    ApiError::new(StatusReason::ServiceUnavailable, why)
}

fn unreachable(why: &str) -> ApiError {
    unavailable(format!("error trying to reach service: {why}"))
}

/// A Pod's address, with its first port unless one is named.
fn of_pod(api: &Api, key: &ObjectKey, port: &str) -> Result<HostPort, ApiError> {
    let resource = api.registry.find("", "v1", "pods");
    let resource = resource.ok_or_else(ApiError::no_such_path)?;
    let pod = api.store.get("pods", key);
    let pod = pod.ok_or_else(|| resource.not_found(&key.name))?;
    let host = meta::text(&pod.value, "/status/podIP");
    if host.is_empty() {
        return Err(ApiError::bad_request("address not allowed"));
    }
    let ports = meta::list(&pod.value, "/spec/containers").iter();
    let first = ports
        .flat_map(|container| meta::list(container, "/ports"))
        .find_map(|port| port["containerPort"].as_u64());
    let port = match port {
        "" => first.and_then(|port| port.try_into().ok()),
        port => port.parse().ok(),
    };
    Ok(HostPort {
        host: host.to_owned(),
        port: port.unwrap_or(80),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_may_have_a_port_and_a_scheme() {
        for (text, scheme, name, port) in [
            ("web", "", "web", ""),
            ("web:8080", "", "web", "8080"),
            ("http:web:metrics", "http", "web", "metrics"),
            ("https:web:", "https", "web", ""),
        ] {
            assert_eq!(proxy_name(text), ProxyName { scheme, name, port }, "{text}");
        }
    }
}
