//! Creation, the same for every kind: decode, default, admit, validate, commit.

use serde_json::Value;

use crate::admission::plugins;
use crate::admission::webhooks::{self, AdmissionOperation};
use crate::api_request::ApiRequest;
use crate::error::ApiError;
use crate::meta;
use crate::patch::apply;
use crate::resources::decode;
use crate::resources::resource::{Decoder, Generation};
use crate::store::{ObjectKey, WritePrecondition};
use crate::verbs::write_steps::{self, WriteResult};

/// Draws of a generated name while names are taken.
const DRAWS: usize = 8;

pub(crate) async fn create(call: &ApiRequest, body: Value) -> Result<WriteResult, ApiError> {
    let mut object = write_steps::decode(call, body)?;
    write_steps::address(call, &mut object)?;
    if !meta::version(&object).is_empty() {
        return Err(ApiError::bad_request(
            "resourceVersion should not be set on objects to be created",
        ));
    }
    plugins::namespace_exists(call)?;
    forget_system_fields(&mut object);
    let mut object = write_steps::to_storage_version(call, object);
    (call.resource.rules.defaults)(&mut object);
    if !call.is_apply {
        apply::begin(&call.applier(""), &mut object, call.resource.has_status());
    }
    plugins::on_create(call, &mut object)?;
    let request = webhooks::AdmissionRequest {
        operation: AdmissionOperation::Create,
        object: Some(&object),
        old: None,
    };
    if let Some(mutated) = webhooks::mutate(call, &request).await? {
        object = mutated;
    }
    begin(call, &mut object);
    commit_new(call, object)
}

/// Removes metadata that only the server may set.
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

fn begin(call: &ApiRequest, object: &mut Value) {
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

fn commit_new(call: &ApiRequest, mut object: Value) -> Result<WriteResult, ApiError> {
    let base = meta::text(&object, "/metadata/generateName").to_owned();
    let generated = meta::name(&object).is_empty() && !base.is_empty();
    for _ in 0..DRAWS {
        if generated {
            object["metadata"]["name"] = call.api.identities.name(&base).into();
        }
        let key = ObjectKey::new(meta::namespace(&object), meta::name(&object));
        let taken = call
            .api
            .store
            .get(&call.resource.collection, &key)
            .is_some();
        if taken && !generated {
            return Err(call.resource.already_exists(&key.name));
        }
        if taken {
            continue;
        }
        let object = complete(call, object.clone())?;
        if call.dry_run {
            return Ok(WriteResult::DryRun(object));
        }
        let stored =
            call.api
                .store
                .commit(&call.resource.collection, WritePrecondition::Absent, object);
        match stored {
            Ok(stored) => {
                if &*call.resource.collection == "namespaces" {
                    plugins::default_service_account(&call.api, &stored.key().name);
                }
                write_steps::committed(call);
                return Ok(WriteResult::Stored(stored));
            }
            Err(_) if generated => {}
            Err(_) => return Err(call.resource.already_exists(&key.name)),
        }
    }
    Err(call.resource.already_exists(meta::name(&object)))
}

/// The last steps, which need the name.
fn complete(call: &ApiRequest, mut object: Value) -> Result<Value, ApiError> {
    (call.resource.rules.defaults)(&mut object);
    (call.resource.rules.complete)(&mut object);
    plugins::allocate(call, &mut object);
    object = zero_values(call, object)?;
    write_steps::validate(call, &object, None)?;
    Ok(object)
}

/// Decoding again brings the zero values of required fields, as the status has them.
fn zero_values(call: &ApiRequest, object: Value) -> Result<Value, ApiError> {
    decode::decode_as(&call.stored_as(), object).map(|(object, _)| object)
}
