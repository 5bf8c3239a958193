//! Updates of an object or of a part, whatever the source of the new state.

use std::sync::Arc;

use serde_json::Value;

use crate::admission::webhooks::AdmissionOperation;
use crate::admission::{plugins, webhooks};
use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::patch::apply;
use crate::resources::resource::{Decoder, Generation, Subresource};
use crate::rules;
use crate::store::{StoredObject, WritePrecondition};
use crate::verbs::write_steps::{self, WriteResult};

/// Attempts at a change without a version when others write in between.
const ATTEMPTS: usize = 16;
/// Updates must name the version of the object.
const VERSIONED: [&str; 4] = [
    "leases.coordination.k8s.io",
    "poddisruptionbudgets.policy",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "customresourcedefinitions.apiextensions.k8s.io",
];

/// The part that a request may change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum UpdateScope {
    /// All but the status, if that has a path of its own.
    Main,
    Status,
    /// The resources of a Pod's containers.
    Resize,
    Finalize,
    /// Any field: the server's own changes.
    Whole,
}

/// From the present state, as clients see it, to the requested one.
pub(crate) type Edit<'a> = &'a (dyn Fn(&Value) -> Result<Value, ApiError> + Send + Sync);

pub(crate) async fn update(
    call: &ApiRequest,
    part: UpdateScope,
    change: Edit<'_>,
) -> Result<WriteResult, ApiError> {
    for _ in 0..ATTEMPTS {
        let current = call.current()?;
        let asked = change(&call.resource.to_served_version(&current.value))?;
        let pinned = check_version(call, &asked, &current)?;
        match attempt(call, part, &current, asked).await? {
            Some(written) => return Ok(written),
            None if pinned => break,
            None => {}
        }
    }
    Err(call.resource.modified(&call.key().name))
}

/// The change names a version, which must be the present one. A patch without a version is not
/// bound.
fn check_version(
    call: &ApiRequest,
    asked: &Value,
    current: &StoredObject,
) -> Result<bool, ApiError> {
    let name = meta::name(&current.value);
    let uid = meta::uid(asked);
    if !uid.is_empty() && uid != meta::uid(&current.value) {
        let is = meta::uid(&current.value);
        let why =
            format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {is}");
        return Err(call.resource.conflict(name, &why));
    }
    let version = meta::version(asked);
    if version.is_empty() {
        let collection: &str = &call.resource.collection;
        if VERSIONED.contains(&collection) || !call.resource.is_builtin() {
            let why = "must be specified for an update";
            let cause = Cause::invalid("metadata.resourceVersion", &0.into(), why);
            return Err(call.resource.invalid(name, &[cause]));
        }
        return Ok(false);
    }
    if version != current.version.to_string() {
        return Err(call.resource.modified(name));
    }
    Ok(call.pins_version)
}

/// `None` if another client wrote in between.
async fn attempt(
    call: &ApiRequest,
    part: UpdateScope,
    current: &Arc<StoredObject>,
    asked: Value,
) -> Result<Option<WriteResult>, ApiError> {
    let old = &current.value;
    let mut object = write_steps::decode(call, asked)?;
    write_steps::address(call, &mut object)?;
    let object = write_steps::to_storage_version(call, object);
    let mut object = combine(call, part, old, object);
    (call.resource.rules.defaults)(&mut object);
    track(call, part, old, &mut object);
    let managers = object["metadata"].get("managedFields").cloned();
    let request = webhooks::AdmissionRequest {
        operation: AdmissionOperation::Update,
        object: Some(&object),
        old: Some(old),
    };
    if let Some(mutated) = webhooks::mutate(call, &request).await? {
        object = combine(call, part, old, mutated);
        meta::put(&mut object["metadata"], "managedFields", managers);
    }
    check(call, part, old, &object)?;
    count(call, old, &mut object);
    object["metadata"]["resourceVersion"] = old["metadata"]["resourceVersion"].clone();
    if object == *old {
        return Ok(Some(WriteResult::Stored(Arc::clone(current))));
    }
    if call.dry_run {
        return Ok(Some(WriteResult::DryRun(object)));
    }
    let collection = &call.resource.collection;
    let expected = WritePrecondition::Version(current.version);
    let Ok(stored) = call.api.store.commit(collection, expected, object) else {
        return Ok(None);
    };
    if is_finished(&stored.value) {
        // Nothing holds the object any more. A write in between reaches this branch too.
        let removed = call
            .api
            .store
            .remove(collection, &stored.key(), stored.version);
        write_steps::committed(call);
        return Ok(Some(WriteResult::Stored(removed.unwrap_or(stored))));
    }
    write_steps::committed(call);
    Ok(Some(WriteResult::Stored(stored)))
}

/// The changeable parts of the new object, the others of the old.
fn combine(call: &ApiRequest, part: UpdateScope, old: &Value, mut new: Value) -> Value {
    let metadata = meta::child(&mut new, "metadata");
    for field in [
        "uid",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "generation",
        "generateName",
    ] {
        meta::put(metadata, field, old["metadata"].get(field).cloned());
    }
    if !call.is_apply {
        meta::put(
            metadata,
            "managedFields",
            old["metadata"].get("managedFields").cloned(),
        );
    }
    match part {
        UpdateScope::Main if call.resource.has_status() => {
            meta::put(&mut new, "status", old.get("status").cloned());
            // The finalizers in a Namespace's spec have a path of their own.
            if call.resource.kind == "Namespace" {
                meta::put(&mut new, "spec", old.get("spec").cloned());
            }
            new
        }
        UpdateScope::Main | UpdateScope::Whole => new,
        UpdateScope::Status => {
            let mut object = old.clone();
            meta::put(&mut object, "status", new.get("status").cloned());
            if call.resource.is_builtin() {
                object["metadata"] = new["metadata"].clone();
            } else {
                meta::put(
                    &mut object["metadata"],
                    "managedFields",
                    new["metadata"].get("managedFields").cloned(),
                );
            }
            object
        }
        UpdateScope::Resize | UpdateScope::Finalize => {
            let mut object = old.clone();
            meta::put(&mut object, "spec", new.get("spec").cloned());
            object
        }
    }
}

/// Records the manager, except for an apply and for changes of the server itself.
fn track(call: &ApiRequest, part: UpdateScope, old: &Value, new: &mut Value) {
    if !call.is_apply && part != UpdateScope::Whole {
        let subresource = match part {
            UpdateScope::Status => Subresource::Status.name(),
            _ => call.subresource.map_or("", Subresource::name),
        };
        apply::track(&call.applier(subresource), old, new);
    }
}

fn check(call: &ApiRequest, part: UpdateScope, old: &Value, new: &Value) -> Result<(), ApiError> {
    let mut causes = Vec::new();
    if meta::is_deleting(old) {
        let before = meta::list(old, "/metadata/finalizers");
        let mut after = meta::list(new, "/metadata/finalizers").iter();
        if part != UpdateScope::Whole && after.any(|finalizer| !before.contains(finalizer)) {
            let why = "no new finalizers can be added if the object is being deleted";
            causes.push(Cause::forbidden("metadata.finalizers", why));
        }
    }
    if part == UpdateScope::Resize {
        plugins::node_can_hold(call, old, new)?;
        rules::resize(old, new, &mut causes);
    }
    if !causes.is_empty() {
        return Err(call.resource.invalid(meta::name(old), &causes));
    }
    match part {
        UpdateScope::Main => write_steps::validate(call, new, Some(old)),
        UpdateScope::Status => match &call.resource.decoder {
            Decoder::Schema(_) => write_steps::validate(call, new, None),
            Decoder::Typed(_) => Ok(()),
        },
        UpdateScope::Resize | UpdateScope::Finalize | UpdateScope::Whole => Ok(()),
    }
}

/// Increases the generation if the desired state changed.
fn count(call: &ApiRequest, old: &Value, new: &mut Value) {
    if call.resource.generation == Generation::None {
        return;
    }
    let differs = {
        let desired = |object: &Value| -> Vec<(String, Value)> {
            let fields = meta::map(object, "").into_iter().flatten();
            fields
                .filter(|(name, _)| !matches!(name.as_str(), "metadata" | "status"))
                .map(|(name, value)| (name.clone(), value.clone()))
                .collect()
        };
        desired(old) != desired(new)
    };
    let begins = meta::is_deleting(new) && !meta::is_deleting(old);
    let annotated = call.resource.generation == Generation::DesiredAndAnnotations
        && old.pointer("/metadata/annotations") != new.pointer("/metadata/annotations");
    if differs || annotated || begins {
        let generation = meta::number(old, "/metadata/generation").unwrap_or_default();
        new["metadata"]["generation"] = (generation + 1).into();
    }
}

/// Deletion has begun and nothing holds the object.
fn is_finished(object: &Value) -> bool {
    let waits =
        meta::number(object, "/metadata/deletionGracePeriodSeconds").unwrap_or_default() > 0;
    let kept = object["kind"] == "Namespace" && !meta::list(object, "/spec/finalizers").is_empty();
    meta::is_deleting(object) && !meta::has_finalizers(object) && !waits && !kept
}
