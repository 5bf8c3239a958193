//! Create and update, the same for every kind: decode, default, admit, validate, commit.

mod update;

use std::sync::Arc;

use serde_json::Value;

use super::call::Call;
use super::decode;
use super::definition;
use super::error::{ApiError, Cause};
use super::meta;
use super::patch::apply;
use super::plugins;
use super::resource::{Decoder, Generation};
use super::rules::names;
use super::seed;
use super::store::{Expected, Key, Stored};
use super::webhook::{self, Operation};

pub(crate) use self::update::{Part, update};

/// Generated names are drawn again this often when they are taken.
const DRAWS: usize = 8;

/// What a write left behind.
#[derive(Debug, Clone)]
pub(crate) enum Written {
    Stored(Arc<Stored>),
    /// A dry run: what would have been stored.
    Would(Value),
}

impl Written {
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::Stored(stored) => &stored.value,
            Self::Would(value) => value,
        }
    }
}

/// Creates an object.
pub(crate) async fn create(call: &Call, body: Value) -> Result<Written, ApiError> {
    let mut object = decode::decode(call, body)?;
    address(call, &mut object)?;
    if !meta::version(&object).is_empty() {
        return Err(ApiError::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    plugins::namespace_exists(call)?;
    forget_system_fields(&mut object);
    let mut object = stored_form(call, object);
    (call.resource.rules.defaults)(&mut object);
    if !call.is_apply {
        apply::begin(&call.applier(""), &mut object, call.resource.has_status());
    }
    plugins::on_create(call, &mut object)?;
    let request = webhook::Request {
        operation: Operation::Create,
        object: Some(&object),
        old: None,
    };
    if let Some(mutated) = webhook::mutate(call, &request).await? {
        object = mutated;
    }
    begin(call, &mut object);
    commit_new(call, object)
}

/// What only the server may set.
fn forget_system_fields(object: &mut Value) {
    let metadata = meta::child(object, "metadata");
    for field in [
        "uid",
        "creationTimestamp",
        "generation",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "selfLink",
    ] {
        meta::remove(metadata, field);
    }
}

fn begin(call: &Call, object: &mut Value) {
    let resource = &call.resource;
    let metadata = meta::child(object, "metadata");
    metadata["uid"] = call.api.identities.uid().into();
    metadata["creationTimestamp"] = call.api.stamp().into();
    if resource.generation != Generation::None {
        metadata["generation"] = 1.into();
    }
    match (&resource.initial_status, &resource.decoder) {
        (Some(status), _) => object["status"] = status.clone(),
        (None, Decoder::Schema(_)) if resource.has_status() => drop(meta::remove(object, "status")),
        (None, _) => {}
    }
}

fn commit_new(call: &Call, mut object: Value) -> Result<Written, ApiError> {
    let base = meta::text(&object, "/metadata/generateName").to_owned();
    let generated = meta::name(&object).is_empty() && !base.is_empty();
    for _ in 0..DRAWS {
        if generated {
            object["metadata"]["name"] = call.api.identities.name(&base).into();
        }
        let key = Key::new(meta::namespace(&object), meta::name(&object));
        let taken = call
            .api
            .store
            .get(&call.resource.collection, &key)
            .is_some();
        if taken && !generated {
            return Err(ApiError::already_exists(&call.resource, &key.name));
        }
        if taken {
            continue;
        }
        let object = complete(call, object.clone())?;
        if call.dry_run {
            return Ok(Written::Would(object));
        }
        let stored = call
            .api
            .store
            .commit(&call.resource.collection, Expected::Absent, object);
        match stored {
            Ok(stored) => {
                if &*call.resource.collection == "namespaces" {
                    seed::service_account(&call.api, &stored.key().name);
                }
                committed(call);
                return Ok(Written::Stored(stored));
            }
            Err(_) if generated => {}
            Err(_) => return Err(ApiError::already_exists(&call.resource, &key.name)),
        }
    }
    Err(ApiError::already_exists(
        &call.resource,
        meta::name(&object),
    ))
}

/// The last steps that need the name.
fn complete(call: &Call, mut object: Value) -> Result<Value, ApiError> {
    (call.resource.rules.defaults)(&mut object);
    (call.resource.rules.begin)(&mut object);
    plugins::allocate(call, &mut object);
    object = zero_values(call, object)?;
    validate(call, &object, None)?;
    Ok(object)
}

/// Decodes again, which brings the zero values of required fields, as the status has them.
fn zero_values(call: &Call, object: Value) -> Result<Value, ApiError> {
    decode::decode_as(&call.stored_as(), object).map(|(object, _)| object)
}

/// An object in the version that is stored.
pub(crate) fn stored_form(call: &Call, object: Value) -> Value {
    let Some(conversion) = call.resource.conversion else {
        return object;
    };
    let mut object = (conversion.to_storage)(object);
    object["apiVersion"] = call.stored_as().api_version().into();
    object
}

/// What is wrong with an object, or with its change.
pub(crate) fn validate(call: &Call, object: &Value, old: Option<&Value>) -> Result<(), ApiError> {
    let resource = &call.resource;
    let mut causes: Vec<Cause> = Vec::new();
    names::check(resource, object, &mut causes);
    (resource.rules.validate)(object, &mut causes);
    if let Decoder::Schema(schema) = &resource.decoder {
        schema.validate(object, &mut causes);
    }
    if let Some(old) = old {
        (resource.rules.validate_update)(old, object, &mut causes);
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(ApiError::invalid(resource, meta::name(object), &causes))
}

/// Makes namespace and name of the object those of the path.
fn address(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    let metadata = meta::child(object, "metadata");
    let namespace = call.namespace.as_deref().unwrap_or_default();
    let given = meta::text(metadata, "/namespace");
    if !given.is_empty() && given != namespace && call.resource.namespaced {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    if call.resource.namespaced {
        metadata["namespace"] = namespace.into();
    } else {
        meta::remove(metadata, "namespace");
    }
    if let Some(name) = &call.name {
        let given = meta::text(metadata, "/name");
        if !given.is_empty() && given != name {
            return Err(ApiError::bad_request(format!(
                "the name of the object ({given}) does not match the name on the URL ({name})"
            )));
        }
        metadata["name"] = name.as_str().into();
    }
    Ok(())
}

/// What follows from a change in the definitions.
pub(crate) fn committed(call: &Call) {
    if *call.resource.collection == *definition::COLLECTION {
        call.api.refresh_definitions();
    }
}
