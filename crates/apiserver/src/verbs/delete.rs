//! Deletion: at once, after a grace period, or when the last finalizer is gone.

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use crate::admission::webhooks;
use crate::admission::webhooks::AdmissionOperation;
use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::resources::resource::Generation;
use crate::state::stamp;
use crate::store::{StoredObject, WritePrecondition};
use crate::verbs::{get_and_list, write_steps};
use crate::wire::query::{DeleteOptions, Propagation};

/// A write in between makes the deletion start over.
const ATTEMPTS: usize = 16;

#[derive(Debug)]
pub(crate) enum DeletionResult {
    /// With its last state.
    Removed(Arc<StoredObject>),
    /// It goes when its kubelet or its finalizers are done.
    Terminating(Arc<StoredObject>),
}

pub(crate) async fn delete(
    call: &ApiRequest,
    options: &DeleteOptions,
) -> Result<DeletionResult, ApiError> {
    let current = call.current()?;
    let request = webhooks::AdmissionRequest {
        operation: AdmissionOperation::Delete,
        object: None,
        old: Some(&current.value),
    };
    webhooks::mutate(call, &request).await?;
    for _ in 0..ATTEMPTS {
        let current = call.current()?;
        check(call, options, &current.value)?;
        if let Some(deleted) = attempt(call, options, &current) {
            write_steps::committed(call);
            return Ok(deleted);
        }
    }
    Err(call.resource.modified(&call.key().name))
}

fn check(call: &ApiRequest, options: &DeleteOptions, object: &Value) -> Result<(), ApiError> {
    let differs = |wanted: &Option<String>, is: &str| wanted.as_deref().is_some_and(|w| w != is);
    let failed = |what: &str, wanted: &Option<String>, is: &str| {
        let wanted = wanted.as_deref().unwrap_or_default();
        let why = format!(
            "Precondition failed: {what} in precondition: {wanted}, {what} in object meta: {is}"
        );
        call.resource.conflict(meta::name(object), &why)
    };
    if differs(&options.uid, meta::uid(object)) {
        return Err(failed("UID", &options.uid, meta::uid(object)));
    }
    if differs(&options.version, meta::version(object)) {
        return Err(failed(
            "ResourceVersion",
            &options.version,
            meta::version(object),
        ));
    }
    if options.grace.is_some_and(|seconds| seconds < 0) {
        let given = Value::from(options.grace);
        let cause = Cause::invalid("gracePeriodSeconds", &given, "must be non-negative");
        return Err(ApiError::bad_request(cause.message.clone()).with_causes(&[cause]));
    }
    Ok(())
}

/// `None` if another client wrote in between.
fn attempt(
    call: &ApiRequest,
    options: &DeleteOptions,
    current: &Arc<StoredObject>,
) -> Option<DeletionResult> {
    let store = &call.api.store;
    let collection = &call.resource.collection;
    let mut object = current.value.clone();
    let grace = grace(call, options, &object);
    hold(options.propagation, &mut object);
    let namespace = &**collection == "namespaces";
    if grace == 0 && !meta::has_finalizers(&object) && !namespace {
        if options.dry_run {
            return Some(DeletionResult::Removed(Arc::clone(current)));
        }
        let removed = store
            .remove(collection, &current.key(), current.version)
            .ok()?;
        return Some(DeletionResult::Removed(removed));
    }
    let metadata = meta::child(&mut object, "metadata");
    let pending = meta::number(metadata, "/deletionGracePeriodSeconds");
    let begins = pending.is_none();
    if pending.is_none_or(|pending| grace < pending) {
        let at = call
            .api
            .now()
            .saturating_add(SignedDuration::from_secs(grace));
        metadata["deletionTimestamp"] = stamp(at.unwrap_or(call.api.now())).into();
        metadata["deletionGracePeriodSeconds"] = grace.into();
    }
    if begins && call.resource.generation != Generation::None {
        let generation = meta::number(metadata, "/generation").unwrap_or_default();
        metadata["generation"] = (generation + 1).into();
    }
    if namespace {
        meta::child(&mut object, "status")["phase"] = "Terminating".into();
    }
    if options.dry_run || object == current.value {
        return Some(DeletionResult::Terminating(Arc::clone(current)));
    }
    let expected = WritePrecondition::Version(current.version);
    store
        .commit(collection, expected, object)
        .ok()
        .map(DeletionResult::Terminating)
}

/// In seconds; only Pods that a kubelet runs have any.
fn grace(call: &ApiRequest, options: &DeleteOptions, object: &Value) -> i64 {
    let runs = !meta::text(object, "/spec/nodeName").is_empty()
        && !matches!(meta::text(object, "/status/phase"), "Succeeded" | "Failed");
    if &*call.resource.collection != "pods" || !runs {
        return 0;
    }
    let own = meta::number(object, "/spec/terminationGracePeriodSeconds").unwrap_or(30);
    options.grace.unwrap_or(own).max(0)
}

/// Finalizers that make the garbage collector handle the dependents first.
fn hold(propagation: Option<Propagation>, object: &mut Value) {
    let (add, take) = match propagation {
        Some(Propagation::Foreground) => (Some("foregroundDeletion"), "orphan"),
        Some(Propagation::Orphan) => (Some("orphan"), "foregroundDeletion"),
        Some(Propagation::Background) => (None, "orphan"),
        None => return,
    };
    let metadata = meta::child(object, "metadata");
    let before = meta::list(metadata, "/finalizers").iter();
    let mut finalizers: Vec<Value> = before.filter(|held| **held != take).cloned().collect();
    if let Some(add) = add.filter(|add| !finalizers.iter().any(|held| held == add)) {
        finalizers.push(add.into());
    }
    let some = !finalizers.is_empty();
    meta::put(
        metadata,
        "finalizers",
        some.then_some(Value::Array(finalizers)),
    );
}

/// Deletes all selected objects and returns them.
pub(crate) async fn delete_collection(
    call: &ApiRequest,
    options: &DeleteOptions,
) -> Result<Vec<Arc<StoredObject>>, ApiError> {
    let selection = get_and_list::selection(call)?;
    let (objects, _) = call
        .api
        .store
        .list(&call.resource.collection, call.namespace.as_deref());
    let mut deleted = Vec::new();
    for stored in objects {
        if !selection.matches(&stored.value) {
            continue;
        }
        let one =
            ApiRequest::new(Arc::clone(&call.api), Arc::clone(&call.resource)).about(&stored.key());
        match delete(&one, options).await {
            Ok(DeletionResult::Removed(last) | DeletionResult::Terminating(last)) => {
                deleted.push(last);
            }
            Err(error) if error.status() == 404 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(deleted)
}

/// The removed object if the real server answers it, else a `Status`.
pub(crate) fn removal_answer(call: &ApiRequest, last: &Value) -> Value {
    if matches!(
        &*call.resource.collection,
        "pods" | "serviceaccounts" | "persistentvolumeclaims"
    ) {
        return call.resource.to_served_version(last);
    }
    json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success",
        "details": {"name": meta::name(last), "group": call.resource.group,
            "kind": call.resource.plural, "uid": meta::uid(last)},
    })
}
