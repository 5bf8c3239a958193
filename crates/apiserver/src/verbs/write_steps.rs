//! Steps that creation and update share.

use std::sync::Arc;

use serde_json::Value;

use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::resources::decode::{self, undecodable};
use crate::resources::definition;
use crate::resources::resource::Decoder;
use crate::rules::names;
use crate::store::StoredObject;
use crate::wire::query::FieldValidation;

#[derive(Debug, Clone)]
pub(crate) enum WriteResult {
    Stored(Arc<StoredObject>),
    /// With the object that would be stored.
    DryRun(Value),
}

impl WriteResult {
    pub(crate) fn value(&self) -> &Value {
        match self {
            Self::Stored(stored) => &stored.value,
            Self::DryRun(value) => value,
        }
    }
}

/// Unknown fields are dropped, warned of or refused, by `fieldValidation`.
pub(super) fn decode(call: &ApiRequest, value: Value) -> Result<Value, ApiError> {
    let resource = &call.resource;
    let (value, unknown) = decode::decode_as(resource, value)?;
    let warnings = unknown.iter().map(|path| format!("unknown field {path:?}"));
    match call.validation {
        FieldValidation::Ignore => {}
        FieldValidation::Warn => warnings.for_each(|warning| call.warn(warning)),
        FieldValidation::Strict if unknown.is_empty() => {}
        FieldValidation::Strict => {
            let list: Vec<String> = warnings.collect();
            let why = format!("strict decoding error: {}", list.join(", "));
            return Err(undecodable(resource, &why));
        }
    }
    Ok(value)
}

pub(super) fn to_storage_version(call: &ApiRequest, object: Value) -> Value {
    let Some(conversion) = call.resource.conversion else {
        return object;
    };
    let mut object = (conversion.to_storage)(object);
    object["apiVersion"] = call.stored_as().api_version().into();
    object
}

/// Refuses an object, or a change from `old`, that breaks a rule of its kind.
pub(super) fn validate(
    call: &ApiRequest,
    object: &Value,
    old: Option<&Value>,
) -> Result<(), ApiError> {
    let resource = &call.resource;
    let mut causes: Vec<Cause> = Vec::new();
    names::check(&resource.group, &resource.plural, object, &mut causes);
    (resource.rules.validate)(object, &mut causes);
    if let Decoder::Schema(schema) = &resource.decoder {
        schema.validate(object, &mut causes);
        let warning = definition::not_evaluated(schema.unevaluated());
        if let Some(warning) = warning.filter(|_| call.subresource.is_none()) {
            call.warn(warning);
        }
    }
    if let Some(old) = old {
        (resource.rules.validate_update)(old, object, &mut causes);
    }
    if causes.is_empty() {
        return Ok(());
    }
    Err(resource.invalid(meta::name(object), &causes))
}

/// Sets the path's namespace and name.
pub(super) fn address(call: &ApiRequest, object: &mut Value) -> Result<(), ApiError> {
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

/// Refreshes the served resources after a change of a CustomResourceDefinition.
pub(crate) fn committed(call: &ApiRequest) {
    if *call.resource.collection == *definition::COLLECTION {
        call.api.refresh_definitions();
    }
}
