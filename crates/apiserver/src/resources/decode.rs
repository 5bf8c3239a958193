//! From a body to an object of its kind: type and version checked, unknown fields dropped and
//! reported, quantities in canonical form.

use serde_json::Value;

use crate::error::{ApiError, StatusReason};
use crate::meta;
use crate::resources::resource::{Decoder, Resource};
use evenkeel_quantity::Quantity;

/// Maps of resource names to quantities.
const AMOUNTS: [&str; 8] = [
    "requests",
    "limits",
    "capacity",
    "allocatable",
    "allocatedResources",
    "overhead",
    "hard",
    "used",
];
/// Quantities of a metric's target.
const TARGET: [&str; 2] = ["value", "averageValue"];

/// Also returns the paths of the dropped fields.
pub(crate) fn decode_as(
    resource: &Resource,
    mut value: Value,
) -> Result<(Value, Vec<String>), ApiError> {
    check_kind(resource, &mut value)?;
    let mut unknown = Vec::new();
    let mut object = match &resource.decoder {
        Decoder::Typed(through) => {
            canonical_amounts(resource, &mut value)?;
            let object = through(&value).map_err(|why| undecodable(resource, &why))?;
            missing(&value, &object, "", &mut unknown);
            object
        }
        Decoder::Schema(schema) => {
            unknown = schema.prune(&mut value);
            schema.default(&mut value);
            value
        }
    };
    tidy_metadata(&mut object);
    Ok((object, unknown))
}

/// For a partial object, as an apply sends it.
pub(crate) fn canonical_quantities(resource: &Resource, value: &mut Value) -> Result<(), ApiError> {
    if !resource.is_builtin() {
        return Ok(());
    }
    canonical_amounts(resource, value)
}

/// For kinds with quantities; a custom resource's fields follow its schema, whatever their names.
fn canonical_amounts(resource: &Resource, value: &mut Value) -> Result<(), ApiError> {
    if resource.kind == "CustomResourceDefinition" {
        return Ok(());
    }
    canonical(value, resource.kind == "HorizontalPodAutoscaler")
        .map_err(|why| undecodable(resource, &why))
}

fn check_kind(resource: &Resource, value: &mut Value) -> Result<(), ApiError> {
    if !value.is_object() {
        return Err(undecodable(resource, "the body is not an object"));
    }
    let expected = resource.api_version();
    meta::default(value, "kind", resource.kind.as_str());
    meta::default(value, "apiVersion", expected.as_str());
    let given = meta::text(value, "/apiVersion");
    if given != expected {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({given}) does not match the expected API version ({expected})"
        )));
    }
    let kind = meta::text(value, "/kind");
    if kind != resource.kind {
        return Err(ApiError::bad_request(format!(
            "{kind} in version {:?} cannot be handled as a {}: kind does not match",
            resource.version, resource.kind
        )));
    }
    if !value["metadata"].is_null() && !value["metadata"].is_object() {
        return Err(undecodable(resource, "metadata is not an object"));
    }
    Ok(())
}

pub(crate) fn undecodable(resource: &Resource, why: &str) -> ApiError {
    let kind = &resource.kind;
    let version = &resource.version;
    ApiError::new(
        StatusReason::BadRequest,
        format!("{kind} in version {version:?} cannot be handled as a {kind}: {why}"),
    )
}

/// Go leaves out empty fields; so does this where clients look.
fn tidy_metadata(object: &mut Value) {
    let Some(metadata) = meta::child(object, "metadata").as_object_mut() else {
        return;
    };
    metadata.retain(|_, value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(list) => !list.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
}

fn missing(given: &Value, kept: &Value, path: &str, unknown: &mut Vec<String>) {
    match (given, kept) {
        (Value::Object(given), Value::Object(kept)) => {
            for (name, value) in given.iter().filter(|(_, value)| !value.is_null()) {
                let at = if path.is_empty() {
                    name.clone()
                } else {
                    format!("{path}.{name}")
                };
                match kept.get(name) {
                    Some(kept) => missing(value, kept, &at, unknown),
                    None => unknown.push(at),
                }
            }
        }
        (Value::Array(given), Value::Array(kept)) => {
            for (index, (given, kept)) in given.iter().zip(kept).enumerate() {
                missing(given, kept, &format!("{path}[{index}]"), unknown);
            }
        }
        _ => {}
    }
}

fn canonical(value: &mut Value, metrics: bool) -> Result<(), String> {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .try_for_each(|item| canonical(item, metrics)),
        Value::Object(fields) => {
            for (name, field) in fields.iter_mut() {
                let name = name.as_str();
                match field {
                    Value::Object(amounts) if AMOUNTS.contains(&name) => {
                        for amount in amounts.values_mut().filter(|v| !v.is_null()) {
                            quantity(amount)?;
                        }
                    }
                    Value::Object(target) if metrics && matches!(name, "target" | "current") => {
                        for name in TARGET {
                            if let Some(amount) = target.get_mut(name).filter(|v| !v.is_null()) {
                                quantity(amount)?;
                            }
                        }
                    }
                    Value::String(_) | Value::Number(_) if name == "sizeLimit" => quantity(field)?,
                    _ => canonical(field, metrics)?,
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}

fn quantity(value: &mut Value) -> Result<(), String> {
    let text = match &*value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        other => return Err(format!("{other} is not a quantity")),
    };
    let parsed: Quantity = text.trim().parse().map_err(|_| {
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'".to_owned()
    })?;
    *value = parsed.to_string().into();
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resources::catalog;
    use serde_json::json;

    fn read(value: Value) -> Result<(Value, Vec<String>), ApiError> {
        decode_as(&catalog::find("", "pods"), value)
    }

    #[test]
    fn quantities_become_canonical_and_unknown_fields_are_told() {
        let (pod, unknown) = read(
            json!({"metadata": {"labels": {}}, "spec": {"fish": 1, "containers": [
            {"name": "a", "resources": {"limits": {"cpu": 1.5, "memory": "0.5Gi"}}, "x": {}}]}}),
        )
        .expect("a Pod");
        let limits = &pod["spec"]["containers"][0]["resources"]["limits"];
        assert_eq!(limits, &json!({"cpu": "1500m", "memory": "512Mi"}));
        assert_eq!(unknown, ["spec.containers[0].x", "spec.fish"]);
        assert_eq!(pod["metadata"], json!({}));
        assert_eq!(
            (&pod["kind"], &pod["apiVersion"]),
            (&json!("Pod"), &json!("v1"))
        );
    }

    #[test]
    fn what_is_no_pod_is_refused() {
        for wrong in [
            json!([]),
            json!({"kind": "Node"}),
            json!({"apiVersion": "v2"}),
            json!({"metadata": 1}),
            json!({"spec": {"containers": "a"}}),
            json!({"spec": {"containers": [{"name": "a", "resources": {"limits": {"cpu": "x"}}}]}}),
        ] {
            let refused = read(wrong.clone()).map_err(|error| error.kind());
            assert_eq!(refused.err(), Some(StatusReason::BadRequest), "{wrong}");
        }
    }
}
