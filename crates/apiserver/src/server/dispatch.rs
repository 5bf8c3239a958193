//! Maps a method and a path to a verb and a part of the object.

use std::sync::Arc;

use bytes::Bytes;
use hyper::header::CONTENT_TYPE;
use hyper::http::request::Parts;
use hyper::{Method, StatusCode};
use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause, StatusReason};
use crate::meta;
use crate::patch::Patch;
use crate::resources::resource::Subresource;
use crate::resources::{decode, definition};
use crate::verbs::delete::DeletionResult;
use crate::verbs::render::ListMeta;
use crate::verbs::update::UpdateScope;
use crate::verbs::write_steps::WriteResult;
use crate::verbs::{
    create, delete, get_and_list, pod_subresources, render, scale, token, update, watch,
};
use crate::wire::body::{self, header};
use crate::wire::query::{DeleteOptions, FieldValidation};
use crate::wire::reply::Reply;

pub(super) async fn dispatch(
    call: &Arc<ApiRequest>,
    parts: &Parts,
    body: &Bytes,
) -> Result<Reply, ApiError> {
    if let Some(refused @ Subresource::Refused(_)) = call.subresource {
        return Err(unserved(refused));
    }
    match (&parts.method, &call.name, call.subresource) {
        (&Method::GET | &Method::HEAD, _, None) => fetch(call),
        (&Method::GET, Some(_), Some(Subresource::Scale)) => {
            let object = call.current()?;
            Ok(Reply::value(&scale::scale(&call.resource, &object.value)))
        }
        (&Method::GET, Some(_), Some(Subresource::Status | Subresource::Resize)) => {
            get_and_list::get(call)
        }
        (&Method::POST, None, None) => create(call, parts, body).await,
        (&Method::POST, _, Some(Subresource::Binding)) => bind(call, parts, body).await,
        (&Method::POST, Some(_), Some(Subresource::Eviction)) => {
            let eviction = body::read(&parts.headers, body)?;
            pod_subresources::evict(call, &eviction).await?;
            Ok(success(StatusCode::CREATED))
        }
        (&Method::POST, Some(_), Some(Subresource::Token)) => {
            let request = body::read(&parts.headers, body)?;
            Ok(Reply::value(&token::create(call, request)?).with_status(StatusCode::CREATED))
        }
        (&Method::PUT, Some(_), _) => replace(call, parts, body).await,
        (&Method::PATCH, Some(_), _) => patch(call, parts, body).await,
        (&Method::DELETE, Some(_), None) => delete(call, parts, body).await,
        (&Method::DELETE, None, None) => delete_collection(call, parts, body).await,
        _ => Err(ApiError::method_not_allowed()),
    }
}

fn fetch(call: &Arc<ApiRequest>) -> Result<Reply, ApiError> {
    if call.query.flag("watch") {
        return watch::watch(Arc::clone(call));
    }
    if call.name.is_some() {
        return get_and_list::get(call);
    }
    get_and_list::list(call)
}

fn part(call: &ApiRequest) -> Result<UpdateScope, ApiError> {
    match call.subresource {
        None => Ok(UpdateScope::Main),
        Some(Subresource::Status) => Ok(UpdateScope::Status),
        Some(Subresource::Resize) => Ok(UpdateScope::Resize),
        Some(Subresource::Finalize) => Ok(UpdateScope::Finalize),
        Some(_) => Err(ApiError::method_not_allowed()),
    }
}

fn written(call: &ApiRequest, written: &WriteResult) -> Reply {
    match written {
        WriteResult::Stored(stored) => Reply::json(render::object(call, stored)),
        WriteResult::DryRun(value) => Reply::json(render::value(call, value, true)),
    }
}

async fn create(call: &Arc<ApiRequest>, parts: &Parts, body: &Bytes) -> Result<Reply, ApiError> {
    if call.resource.namespaced && call.namespace.is_none() {
        return Err(ApiError::method_not_allowed());
    }
    let object = body::read(&parts.headers, body)?;
    let done = create::create(call, object).await?;
    if &*call.resource.collection == definition::COLLECTION
        && let Some(warning) = definition::warning(done.value())
    {
        call.warn(warning);
    }
    Ok(written(call, &done).with_status(StatusCode::CREATED))
}

async fn bind(call: &Arc<ApiRequest>, parts: &Parts, body: &Bytes) -> Result<Reply, ApiError> {
    let binding = body::read(&parts.headers, body)?;
    let name = call.name.clone().or_else(|| name_in(&binding));
    let name = name.ok_or_else(|| ApiError::bad_request("metadata.name is required"))?;
    let mut one = call.derived();
    one.name = Some(name);
    pod_subresources::bind(&one, &binding).await?;
    Ok(success(StatusCode::CREATED))
}

async fn replace(call: &Arc<ApiRequest>, parts: &Parts, body: &Bytes) -> Result<Reply, ApiError> {
    let object = body::read(&parts.headers, body)?;
    let pinned = !meta::version(&object).is_empty();
    let mut one = call.derived();
    one.pins_version = pinned;
    let replacement = |_: &Value| Ok(object.clone());
    if call.subresource == Some(Subresource::Scale) {
        let scale = scale::update_scale(&one, &replacement).await?;
        return Ok(Reply::value(&scale));
    }
    let done = update::update(&one, part(call)?, &replacement).await?;
    pass_warnings(&one, call);
    Ok(written(call, &done))
}

fn pass_warnings(from: &ApiRequest, to: &ApiRequest) {
    for warning in from.warnings() {
        to.warn(warning);
    }
}

async fn patch(call: &Arc<ApiRequest>, parts: &Parts, body: &Bytes) -> Result<Reply, ApiError> {
    let media = header(&parts.headers, CONTENT_TYPE);
    let patch = Patch::read(media, body, call.resource.is_builtin())?;
    let mut one = call.derived();
    one.is_patch = true;
    one.is_apply = matches!(patch, Patch::Apply(_));
    one.pins_version = patch.pins_version();
    if call.subresource == Some(Subresource::Scale) {
        let change = |scale: &Value| scale::patched_scale(&patch, scale);
        let scale = scale::update_scale(&one, &change).await?;
        return Ok(Reply::value(&scale));
    }
    if let Patch::Apply(wanted) = &patch {
        let reply = apply(&one, wanted).await;
        pass_warnings(&one, call);
        return reply;
    }
    let change = |current: &Value| patch.apply(current);
    let done = update::update(&one, part(call)?, &change).await?;
    pass_warnings(&one, call);
    Ok(written(call, &done))
}

/// Changes the object, or creates it.
async fn apply(call: &ApiRequest, wanted: &Value) -> Result<Reply, ApiError> {
    if call.query.text("fieldManager").is_empty() {
        let cause = Cause::required("fieldManager", "is required for apply patch");
        let message = format!(
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: {}",
            cause.message
        );
        return Err(ApiError::new(StatusReason::Invalid, message).with_causes(&[cause]));
    }
    let mut wanted = wanted.clone();
    decode::canonical_quantities(&call.resource, &mut wanted)?;
    let wanted = &wanted;
    let subresource = call.subresource.map_or("", Subresource::name);
    let applier = call.applier(subresource);
    let exists = match call.current() {
        Ok(_) => true,
        Err(error) if error.kind() == StatusReason::NotFound && subresource.is_empty() => false,
        Err(error) => return Err(error),
    };
    if !exists {
        let mut strict = call.derived();
        strict.is_apply = true;
        // The body is decoded before the merge, so that unknown fields are found.
        strict.validation = strictness(call);
        let object = applier.apply(None, wanted)?;
        let done = create::create(&strict, object).await?;
        pass_warnings(&strict, call);
        return Ok(written(call, &done).with_status(StatusCode::CREATED));
    }
    let change = |current: &Value| applier.apply(Some(current), wanted);
    let done = update::update(call, part(call)?, &change).await?;
    Ok(written(call, &done))
}

/// An apply refuses unknown fields by default.
fn strictness(call: &ApiRequest) -> FieldValidation {
    match call.query.text("fieldValidation") {
        "" => FieldValidation::Strict,
        _ => call.validation,
    }
}

async fn delete(call: &Arc<ApiRequest>, parts: &Parts, body: &Bytes) -> Result<Reply, ApiError> {
    let options = DeleteOptions::read(&call.query, &body::read(&parts.headers, body)?)?;
    let mut one = call.derived();
    one.dry_run = options.dry_run;
    match delete::delete(&one, &options).await? {
        DeletionResult::Terminating(stored) => Ok(Reply::json(render::object(call, &stored))),
        DeletionResult::Removed(last) => {
            Ok(Reply::value(&delete::removal_answer(call, &last.value)))
        }
    }
}

async fn delete_collection(
    call: &Arc<ApiRequest>,
    parts: &Parts,
    body: &Bytes,
) -> Result<Reply, ApiError> {
    if call.resource.namespaced && call.namespace.is_none() {
        return Err(ApiError::method_not_allowed());
    }
    let options = DeleteOptions::read(&call.query, &body::read(&parts.headers, body)?)?;
    let deleted = delete::delete_collection(call, &options).await?;
    let about = ListMeta {
        version: call.api.store.version(),
        ..ListMeta::default()
    };
    Ok(Reply::json(render::list(call, &deleted, &about)))
}

/// Only a kubelet could serve it.
fn unserved(subresource: Subresource) -> ApiError {
    ApiError::unsupported(&format!("the {:?} subresource", subresource.name()))
}

/// The answer to bindings and evictions.
fn success(code: StatusCode) -> Reply {
    let status = json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "code": code.as_u16()});
    Reply::value(&status).with_status(code)
}

/// For a path without a name.
fn name_in(body: &Value) -> Option<String> {
    Some(meta::name(body).to_owned()).filter(|name| !name.is_empty())
}
