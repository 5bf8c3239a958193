//! The `proxy` subresource of Pods and Services: passes a call on to where they listen and its
//! answer back.
//!
//! Over plain HTTP only: nothing in the embedded cluster that is asked this way speaks TLS.

use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::Response;
use bytes::Bytes;

use super::endpoints::{self, Place};
use super::error::{ApiError, Reason};
use super::meta;
use super::path::Target;
use super::state::Api;
use super::store::Key;

/// As long as kube-apiserver lets any call take that is no watch.
const PATIENCE: Duration = Duration::from_secs(60);

/// Where to, from a name such as `web`, `web:8080` or `http:web:metrics`.
#[derive(Debug, PartialEq, Eq)]
struct Named<'a> {
    scheme: &'a str,
    name: &'a str,
    port: &'a str,
}

fn named(text: &str) -> Named<'_> {
    let mut parts = text.splitn(3, ':');
    let (first, second, third) = (parts.next().unwrap_or_default(), parts.next(), parts.next());
    match (second, third) {
        (Some(name), Some(port)) => Named {
            scheme: first,
            name,
            port,
        },
        (port, _) => Named {
            scheme: "",
            name: first,
            port: port.unwrap_or_default(),
        },
    }
}

/// Passes the call on.
pub(crate) async fn answer(
    api: &Arc<Api>,
    target: &Target,
    parts: &Parts,
    body: Bytes,
) -> Result<Response, ApiError> {
    let Named { scheme, name, port } = named(target.name.as_deref().unwrap_or_default());
    if !matches!(scheme, "" | "http") {
        return Err(ApiError::unsupported("a proxy over anything but http"));
    }
    let key = Key::new(target.namespace.clone().unwrap_or_default(), name);
    let away = |why: String| ApiError::new(Reason::ServiceUnavailable, why);
    let place = match target.plural.as_str() {
        "services" => endpoints::of_service(&api.store, &key, port).map_err(away)?,
        _ => of_pod(api, &key, port)?,
    };
    let tail = target.tail.as_deref().unwrap_or_default();
    let query = parts
        .uri
        .query()
        .map_or_else(String::new, |query| format!("?{query}"));
    let url = format!("http://{}:{}/{tail}{query}", place.host, place.port);
    let failed = |error: reqwest::Error| away(format!("error trying to reach service: {error}"));
    let client = reqwest::Client::builder()
        .no_proxy()
        .timeout(PATIENCE)
        .build();
    let mut request = client
        .map_err(failed)?
        .request(parts.method.clone(), url)
        .body(body);
    if let Some(media) = parts.headers.get(CONTENT_TYPE) {
        request = request.header(CONTENT_TYPE, media);
    }
    let answer = request.send().await.map_err(failed)?;
    let (status, media) = (answer.status(), answer.headers().get(CONTENT_TYPE).cloned());
    let mut response = Response::new(Body::from(answer.bytes().await.map_err(failed)?));
    *response.status_mut() = status;
    if let Some(media) = media {
        response.headers_mut().insert(CONTENT_TYPE, media);
    }
    Ok(response)
}

/// A Pod's address, with its first port unless one is named.
fn of_pod(api: &Api, key: &Key, port: &str) -> Result<Place, ApiError> {
    let resource = api.registry.find("", "v1", "pods");
    let resource = resource.ok_or_else(ApiError::no_such_path)?;
    let pod = api.store.get("pods", key);
    let pod = pod.ok_or_else(|| ApiError::not_found(&resource, &key.name))?;
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
    Ok(Place {
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
            assert_eq!(named(text), Named { scheme, name, port }, "{text}");
        }
    }
}
