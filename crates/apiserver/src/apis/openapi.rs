//! `/openapi/v3` for `kubectl explain` and `kubectl apply`. Built-in kinds come from the table of
//! their protobuf, which has no descriptions; custom resources have their own schemas.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use crate::apis::discovery::{DiscoveryResource, MAJOR, MINOR, groups};
use crate::error::ApiError;
use crate::resources::resource::{Decoder, api_version};
use crate::state::Api;
use crate::wire::protobuf;
use crate::wire::protobuf::Shape;
use crate::wire::reply::Reply;

const TITLE: &str = "Kubernetes";

/// kubectl looks for these in every patch.
const PARAMETERS: [&str; 2] = ["fieldValidation", "dryRun"];

/// The message of every object's metadata.
const OBJECT_META: &str = "meta.ObjectMeta";

const NO_DESCRIPTIONS: &str = "This API server knows the fields of this kind and their \
                               types. What they mean is described by a real API server.";

/// One document for each version of a group.
pub(crate) fn index(api: &Api) -> Reply {
    let mut paths = Map::new();
    for (group, versions) in groups(api) {
        for version in versions.keys() {
            let place = place(&group, version);
            let url = json!({"serverRelativeURL": format!("/openapi/v3/{place}")});
            paths.insert(place, url);
        }
    }
    Reply::value(&json!({"paths": paths}))
}

fn place(group: &str, version: &str) -> String {
    if group.is_empty() {
        format!("api/{version}")
    } else {
        format!("apis/{group}/{version}")
    }
}

pub(crate) fn document(api: &Api, group: &str, version: &str) -> Result<Reply, ApiError> {
    let groups = groups(api);
    let found = groups.get(group).and_then(|versions| versions.get(version));
    let entries = found.ok_or_else(ApiError::no_such_path)?;
    let paths: Map<String, Value> = entries.iter().map(patch).collect();
    Ok(Reply::value(&json!({
        "openapi": "3.0.0", "info": {"title": TITLE, "version": self::version()},
        "paths": paths, "components": {"schemas": schemas(api, entries)},
    })))
}

fn version() -> String {
    format!("v{MAJOR}.{MINOR}.0")
}

fn gvk(entry: &DiscoveryResource) -> Value {
    json!({"group": entry.group, "version": entry.version, "kind": entry.kind})
}

/// Patches with field validation on the server, which `kubectl apply` looks for.
fn patch(entry: &DiscoveryResource) -> (String, Value) {
    let parameter = |name: &str| json!({"name": name, "in": "query", "schema": {"type": "string"}});
    let operation = json!({
        "x-kubernetes-action": "patch", "x-kubernetes-group-version-kind": gvk(entry),
        "parameters": PARAMETERS.map(parameter),
        "requestBody": {"content": {"application/apply-patch+yaml": {}}},
        "responses": {"200": {"description": "OK"}},
    });
    (path(entry), json!({"patch": operation}))
}

fn path(entry: &DiscoveryResource) -> String {
    let place = place(&entry.group, &entry.version);
    let scope = if entry.namespaced {
        "namespaces/{namespace}/"
    } else {
        ""
    };
    format!("/{place}/{scope}{}/{{name}}", entry.plural)
}

fn schemas(api: &Api, entries: &[DiscoveryResource]) -> BTreeMap<String, Value> {
    let mut schemas = BTreeMap::new();
    let mut wanted = BTreeSet::from([OBJECT_META.to_owned()]);
    for entry in entries {
        let version = api_version(&entry.group, &entry.version);
        let name = protobuf::message_name(&version, &entry.kind);
        let mut schema = custom(api, entry)
            .or_else(|| builtin(&name, &mut wanted))
            .unwrap_or_else(|| json!({"type": "object", "description": "This API server does not tell the fields of this kind."}));
        schema["x-kubernetes-group-version-kind"] = json!([gvk(entry)]);
        for field in ["apiVersion", "kind"] {
            schema["properties"][field] = json!({"type": "string"});
        }
        schema["properties"]["metadata"] = reference(OBJECT_META);
        schemas.insert(name, schema);
    }
    while let Some(name) = wanted.pop_first() {
        if !schemas.contains_key(&name)
            && let Some(schema) = message(&name, &mut wanted)
        {
            schemas.insert(name, schema);
        }
    }
    schemas
}

fn custom(api: &Api, entry: &DiscoveryResource) -> Option<Value> {
    let resource = api
        .registry
        .find(&entry.group, &entry.version, &entry.plural)?;
    match &resource.decoder {
        Decoder::Schema(schema) => Some(schema.document()),
        Decoder::Typed(_) => None,
    }
}

fn builtin(name: &str, wanted: &mut BTreeSet<String>) -> Option<Value> {
    let mut schema = message(name, wanted)?;
    schema["description"] = NO_DESCRIPTIONS.into();
    Some(schema)
}

/// Messages of its fields are added to `wanted`.
fn message(name: &str, wanted: &mut BTreeSet<String>) -> Option<Value> {
    let fields = protobuf::fields(name)?;
    let properties: Map<String, Value> = fields
        .into_iter()
        .map(|(field, shape, kind)| {
            let one = kind_schema(kind, wanted);
            let schema = match shape {
                Shape::List => json!({"type": "array", "items": one}),
                Shape::Map => json!({"type": "object", "additionalProperties": one}),
                Shape::One | Shape::Inline => one,
            };
            (field.to_owned(), schema)
        })
        .collect();
    Some(json!({"type": "object", "properties": properties}))
}

/// `kind` is a letter of the table, or a message.
fn kind_schema(kind: &str, wanted: &mut BTreeSet<String>) -> Value {
    match kind {
        "s" | "D" => json!({"type": "string"}),
        "y" => json!({"type": "string", "format": "byte"}),
        "T" | "U" => json!({"type": "string", "format": "date-time"}),
        "b" => json!({"type": "boolean"}),
        "i" => json!({"type": "integer"}),
        "d" | "f" => json!({"type": "number"}),
        "Q" => json!({"oneOf": [{"type": "string"}, {"type": "number"}]}),
        "I" => {
            json!({"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]})
        }
        "J" => json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true}),
        message => {
            wanted.insert(message.to_owned());
            reference(message)
        }
    }
}

fn reference(message: &str) -> Value {
    json!({"allOf": [{"$ref": format!("#/components/schemas/{message}")}]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_message_that_a_pod_needs_is_there() {
        let mut wanted = BTreeSet::new();
        let pod = builtin("core.v1.Pod", &mut wanted).expect("a Pod");
        let spec = &pod["properties"]["spec"]["allOf"][0]["$ref"];
        assert_eq!(spec, "#/components/schemas/core.v1.PodSpec");
        let mut seen = BTreeSet::new();
        while let Some(name) = wanted.pop_first() {
            if seen.insert(name.clone()) {
                let schema = message(&name, &mut wanted).expect(&name);
                assert!(schema["properties"].is_object(), "{name}");
            }
        }
        assert!(seen.contains("core.v1.Probe"));
    }
}
