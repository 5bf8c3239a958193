//! From an HTTP request to a verb and back.

mod verbs;

use std::sync::Arc;

use axum::Router;
use axum::body::Body;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::http::header::{ACCEPT, AUTHORIZATION, AsHeaderName, CONTENT_TYPE, DATE, USER_AGENT};
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode};
use axum::response::Response;
use bytes::Bytes;
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;
use serde_json::{Value, json};

use super::accept;
use super::authorization;
use super::call::{Call, User};
use super::discovery;
use super::error::{ApiError, Reason};
use super::meta;
use super::metrics;
use super::openapi;
use super::path::{self, Route, Target};
use super::protobuf;
use super::proxy;
use super::query::Query;
use super::reply::{Reply, refusal};
use super::state::Api;

/// As much as etcd takes, with room for encoding.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

/// What calls can be passed on to.
const PROXIED: [&str; 2] = ["pods", "services"];

/// Everything that the server answers.
pub(crate) fn router(api: Arc<Api>) -> Router {
    Router::new()
        .fallback(handle)
        .layer(DefaultBodyLimit::max(BODY_LIMIT))
        .with_state(api)
}

async fn handle(State(api): State<Arc<Api>>, request: Request) -> Response {
    let delay = api.control.delay();
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    let (parts, body) = request.into_parts();
    let answer = answer(&api, &parts, body).await;
    let mut answer = answer.unwrap_or_else(|error| refusal(&error));
    answer.headers_mut().insert(DATE, date(api.now()));
    answer
}

/// The server's time in the form of HTTP: by it a client knows how old an object is, whatever
/// clock the server goes by.
fn date(now: Timestamp) -> HeaderValue {
    let printed = DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
    let printed = printed.unwrap_or_default();
    HeaderValue::try_from(printed).expect("a date has visible characters only")
}

fn header(headers: &HeaderMap, name: impl AsHeaderName) -> &str {
    headers
        .get(name)
        .and_then(|value| value.to_str().ok())
        .unwrap_or_default()
}

async fn answer(api: &Arc<Api>, parts: &Parts, body: Body) -> Result<Response, ApiError> {
    let route = path::parse(parts.uri.path()).ok_or_else(ApiError::no_such_path)?;
    if api.require_token && !header(&parts.headers, AUTHORIZATION).starts_with("Bearer ") {
        return Err(ApiError::new(Reason::Unauthorized, "Unauthorized"));
    }
    let accepts = header(&parts.headers, ACCEPT);
    let reply = match &route {
        Route::Target(target) => return target_answer(api, parts, target, body).await,
        _ if parts.method != Method::GET && parts.method != Method::HEAD => {
            return Err(ApiError::method_not_allowed());
        }
        Route::Health => Reply {
            media: "text/plain",
            ..Reply::json(Bytes::from_static(b"ok"))
        },
        Route::Version => discovery::version(),
        Route::OpenApiV2 => {
            return Err(ApiError::new(
                Reason::NotAcceptable,
                "the development API server describes itself under /openapi/v3 only",
            ));
        }
        Route::OpenApiIndex => openapi::index(api),
        Route::OpenApi { group, version } => openapi::document(api, group, version)?,
        Route::Core | Route::Groups | Route::Group(_) | Route::Resources { .. } => {
            discovery::answer(api, &route, accepts)?
        }
    };
    Ok(reply.into_response(&[]))
}

async fn target_answer(
    api: &Arc<Api>,
    parts: &Parts,
    target: &Target,
    body: Body,
) -> Result<Response, ApiError> {
    let query = Query::parse(&parts.uri)?;
    let body = axum::body::to_bytes(body, BODY_LIMIT).await.map_err(|_| {
        let why = format!("limit is {BODY_LIMIT} bytes");
        ApiError::bad_request(format!("Request entity too large: {why}")).with_status(413)
    })?;
    if target.group == metrics::GROUP {
        if parts.method != Method::GET {
            return Err(ApiError::method_not_allowed());
        }
        return Ok(Reply::value(&metrics::answer(api, target, &query)?).into_response(&[]));
    }
    if target.group == authorization::GROUP {
        let review = read_body(&parts.headers, &body)?;
        let reply = authorization::answer(&parts.method, &target.plural, review)?;
        return Ok(reply.into_response(&[]));
    }
    let proxied = target.group.is_empty() && PROXIED.contains(&&*target.plural);
    if proxied && target.tail.is_some() {
        return proxy::answer(api, target, parts, body).await;
    }
    let call = Arc::new(call(api, parts, target, query)?);
    let reply = verbs::dispatch(&call, parts, &body).await?;
    Ok(reply.into_response(&call.warnings()))
}

fn call(api: &Arc<Api>, parts: &Parts, target: &Target, query: Query) -> Result<Call, ApiError> {
    let found = api
        .registry
        .find(&target.group, &target.version, &target.plural);
    // Old clients bind through the collection of bindings.
    let binding = target.group.is_empty() && target.plural == "bindings";
    let resource = match found {
        Some(resource) => resource,
        None if binding => api
            .registry
            .find("", "v1", "pods")
            .ok_or_else(ApiError::no_such_path)?,
        None => return Err(ApiError::no_such_path()),
    };
    let subresource = match target
        .subresource
        .as_deref()
        .or(binding.then_some("binding"))
    {
        Some(name) => Some(
            resource
                .subresource(name)
                .ok_or_else(ApiError::no_such_path)?,
        ),
        None => None,
    };
    if target.namespace.is_some() && !resource.namespaced {
        return Err(ApiError::no_such_path());
    }
    if resource.namespaced && target.namespace.is_none() && target.name.is_some() {
        return Err(ApiError::no_such_path());
    }
    let mut call = Call::new(Arc::clone(api), resource);
    call.namespace.clone_from(&target.namespace);
    call.name.clone_from(&target.name);
    call.subresource = subresource;
    call.form = accept::parse(header(&parts.headers, ACCEPT))?;
    call.dry_run = query.dry_run()?;
    call.validation = query.field_validation()?;
    call.user = user(&parts.headers);
    let agent = header(&parts.headers, USER_AGENT);
    agent
        .split('/')
        .next()
        .unwrap_or_default()
        .clone_into(&mut call.agent);
    call.query = query;
    Ok(call)
}

/// The administrator, or whom he acts for.
fn user(headers: &HeaderMap) -> User {
    let name = header(headers, "impersonate-user");
    if name.is_empty() {
        return User::administrator();
    }
    let groups = headers.get_all("impersonate-group").iter();
    User {
        name: name.to_owned(),
        groups: groups
            .filter_map(|group| group.to_str().ok())
            .map(str::to_owned)
            .collect(),
    }
}

/// A body as JSON, or as YAML where it says so; an empty one is an empty object.
fn read_body(headers: &HeaderMap, body: &Bytes) -> Result<Value, ApiError> {
    if body.is_empty() {
        return Ok(json!({}));
    }
    let media = header(headers, CONTENT_TYPE)
        .split(';')
        .next()
        .unwrap_or_default();
    match media {
        "" | "application/json" | "*/*" => serde_json::from_slice(body).map_err(|error| {
            ApiError::bad_request(format!(
                "couldn't get version/kind; json parse error: {error}"
            ))
        }),
        protobuf::MEDIA => {
            protobuf::to_json(body).map_err(|error| ApiError::bad_request(error.to_string()))
        }
        "application/yaml" => {
            let text =
                std::str::from_utf8(body).map_err(|e| ApiError::bad_request(e.to_string()))?;
            serde_saphyr::from_str(text).map_err(|e| ApiError::bad_request(e.to_string()))
        }
        other => Err(ApiError::new(
            Reason::UnsupportedMediaType,
            format!(
                "the body of the request was in an unknown format ({other}) - accepted media types include: application/json, application/yaml"
            ),
        )),
    }
}

/// The success that bindings and evictions are answered with.
fn success(code: StatusCode) -> Reply {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "code": code.as_u16()});
    Reply::value(&status).with_status(code)
}

/// The name in a body, where the path has none.
fn name_in(body: &Value) -> Option<String> {
    Some(meta::name(body).to_owned()).filter(|name| !name.is_empty())
}
