//! Routes a path to the part of the server that answers.

use std::sync::Arc;

use bytes::Bytes;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, AUTHORIZATION, DATE, HeaderValue, USER_AGENT};
use hyper::http::request::Parts;
use hyper::{HeaderMap, Method, Request, Response};
use jiff::Timestamp;
use jiff::fmt::rfc2822::DateTimePrinter;

use crate::api_request::{ApiRequest, User};
use crate::apis::{authorization, custom_metrics, discovery, metrics, openapi, proxy};
use crate::error::{ApiError, StatusReason};
use crate::server::dispatch;
use crate::state::Api;
use crate::wire::body::{self, header};
use crate::wire::path::{self, ResourcePath, Route};
use crate::wire::query::QueryParameters;
use crate::wire::reply::{Reply, ResponseBody, refusal};
use crate::wire::response_form;

/// As etcd's, with room for encoding.
const BODY_LIMIT: usize = 3 * 1024 * 1024;

const PROXIED: [&str; 2] = ["pods", "services"];

pub(super) async fn handle(api: &Arc<Api>, request: Request<Incoming>) -> Response<ResponseBody> {
    let (parts, body) = request.into_parts();
    let answer = answer(api, &parts, body).await;
    let mut answer = answer.unwrap_or_else(|error| refusal(&error));
    answer.headers_mut().insert(DATE, date(api.now()));
    answer
}

/// The server's time in HTTP form: it shows a client how old an object is, whatever the server's
/// clock.
fn date(now: Timestamp) -> HeaderValue {
    let printed = DateTimePrinter::new().timestamp_to_rfc9110_string(&now);
    let printed = printed.unwrap_or_default();
    HeaderValue::try_from(printed).expect("a date has visible characters only")
}

async fn answer(
    api: &Arc<Api>,
    parts: &Parts,
    body: Incoming,
) -> Result<Response<ResponseBody>, ApiError> {
    if !api.access.admits(header(&parts.headers, AUTHORIZATION)) {
        return Err(ApiError::new(StatusReason::Unauthorized, "Unauthorized"));
    }
    let route = path::parse(parts.uri.path()).ok_or_else(ApiError::no_such_path)?;
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
    target: &ResourcePath,
    body: Incoming,
) -> Result<Response<ResponseBody>, ApiError> {
    let query = QueryParameters::parse(&parts.uri);
    let body = Limited::new(body, BODY_LIMIT).collect().await;
    let body = body.map_err(|_| {
        let why = format!("limit is {BODY_LIMIT} bytes");
        ApiError::bad_request(format!("Request entity too large: {why}")).with_status(413)
    })?;
    let body = body.to_bytes();
    if target.group == metrics::GROUP {
        if parts.method != Method::GET {
            return Err(ApiError::method_not_allowed());
        }
        return Ok(Reply::value(&metrics::answer(api, target, &query)?).into_response(&[]));
    }
    if let Some(kind) = custom_metrics::MetricsApiKind::of(target) {
        if parts.method != Method::GET {
            return Err(ApiError::method_not_allowed());
        }
        let answer = custom_metrics::answer(api, kind, target, &query)?;
        return Ok(Reply::value(&answer).into_response(&[]));
    }
    if target.group == authorization::GROUP {
        let review = body::read(&parts.headers, &body)?;
        let reply = authorization::answer(&parts.method, &target.plural, review)?;
        return Ok(reply.into_response(&[]));
    }
    let proxied = target.group.is_empty() && PROXIED.contains(&&*target.plural);
    if proxied && target.tail.is_some() {
        return proxy::answer(api, target, parts, body).await;
    }
    let call = Arc::new(call(api, parts, target, query)?);
    let reply = dispatch::dispatch(&call, parts, &body).await?;
    Ok(reply.into_response(&call.warnings()))
}

fn call(
    api: &Arc<Api>,
    parts: &Parts,
    target: &ResourcePath,
    query: QueryParameters,
) -> Result<ApiRequest, ApiError> {
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
    let mut call = ApiRequest::new(Arc::clone(api), resource);
    call.namespace.clone_from(&target.namespace);
    call.name.clone_from(&target.name);
    call.subresource = subresource;
    call.form = response_form::parse(header(&parts.headers, ACCEPT))?;
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

/// The administrator, or the user that the administrator impersonates.
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
