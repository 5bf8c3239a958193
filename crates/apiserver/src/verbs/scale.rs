//! The `scale` subresource: the replicas of an object as an `autoscaling/v1` Scale.

use serde_json::{Value, json};

use crate::api_request::ApiRequest;
use crate::error::{ApiError, Cause};
use crate::meta;
use crate::patch::Patch;
use crate::resources::resource::{Resource, ScalePaths};
use crate::selector;
use crate::verbs::update::{self, Edit, UpdateScope};

pub(crate) fn scale(resource: &Resource, object: &Value) -> Value {
    let paths = resource.scale.as_ref();
    let number = |pointer: Option<&str>| {
        pointer
            .and_then(|pointer| meta::number(object, pointer))
            .unwrap_or_default()
    };
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {},
        "spec": {}, "status": {"replicas": number(paths.map(|paths| paths.status.as_str()))},
    });
    for field in [
        "name",
        "namespace",
        "uid",
        "resourceVersion",
        "creationTimestamp",
    ] {
        meta::put(
            &mut scale["metadata"],
            field,
            object["metadata"].get(field).cloned(),
        );
    }
    let replicas = number(paths.map(|paths| paths.spec.as_str()));
    if replicas != 0 {
        scale["spec"]["replicas"] = replicas.into();
    }
    let selector = paths.and_then(|paths| object.pointer(paths.selector.as_deref()?));
    match selector {
        Some(Value::String(text)) => scale["status"]["selector"] = text.as_str().into(),
        Some(object) => scale["status"]["selector"] = selector::to_text(object).into(),
        None => {}
    }
    scale
}

/// Changes the replicas through a Scale.
pub(crate) async fn update_scale(call: &ApiRequest, change: Edit<'_>) -> Result<Value, ApiError> {
    let resource = &call.resource;
    let paths = resource.scale.as_ref().ok_or_else(ApiError::no_such_path)?;
    let edited = |object: &Value| {
        let wanted = change(&scale(resource, object))?;
        let mut object = object.clone();
        let version = wanted["metadata"].get("resourceVersion").cloned();
        if version.as_ref().is_some_and(|version| version != "") {
            meta::put(&mut object["metadata"], "resourceVersion", version);
        }
        set_replicas(call, paths, &wanted, &mut object)?;
        Ok(object)
    };
    let written = update::update(call, UpdateScope::Main, &edited).await?;
    Ok(scale(resource, written.value()))
}

fn set_replicas(
    call: &ApiRequest,
    paths: &ScalePaths,
    scale: &Value,
    object: &mut Value,
) -> Result<(), ApiError> {
    let given = &scale["spec"]["replicas"];
    let replicas = if given.is_null() {
        Some(0)
    } else {
        given.as_i64()
    };
    let Some(replicas) = replicas.filter(|replicas| *replicas >= 0) else {
        let why = "must be greater than or equal to 0";
        let cause = Cause::invalid("spec.replicas", given, why);
        return Err(call.resource.invalid(meta::name(object), &[cause]));
    };
    let mut node = object;
    for step in paths.spec.split('/').filter(|step| !step.is_empty()) {
        if !node.is_object() {
            *node = json!({});
        }
        node = &mut node[step];
    }
    *node = replicas.into();
    Ok(())
}

/// After a patch or a replacement.
pub(crate) fn patched_scale(patch: &Patch, scale: &Value) -> Result<Value, ApiError> {
    match patch {
        Patch::Apply(_) => Err(ApiError::unsupported("server-side apply of a scale")),
        patch => patch.apply(scale),
    }
}
