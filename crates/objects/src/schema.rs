//! The structural schemas of Evenkeel's own kinds, derived from the types that read their fields, and the parts that
//! several of them share.
//!
//! Doc comments are the descriptions that `kubectl explain` shows.

pub mod hpa;

use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};

use crate::condition::Condition;

/// The field for a default of the API, which the API server fills in. The defaults that serde uses for absent fields
/// are no part of the API.
const DEFAULT: &str = "x-default";

/// The schema of a type. A field is required unless an absent one is not written.
pub fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12()
        .for_serialize()
        .with(|settings| {
            settings.inline_subschemas = true;
            settings.meta_schema = None;
        })
        .with_transform(RecursiveTransform(make_structural));
    settings.into_generator().into_root_schema_for::<T>().into()
}

/// Makes one level of a schema structural: one type each, and no null.
fn make_structural(schema: &mut Schema) {
    let Some(fields) = schema.as_object_mut() else {
        return;
    };
    fields.remove("title");
    fields.remove("default");
    if let Some(default) = fields.remove(DEFAULT) {
        fields.insert("default".to_owned(), default);
    }
    if fields.get("required") == Some(&json!([])) {
        fields.remove("required");
    }
    for (name, value) in fields {
        match (name.as_str(), value) {
            ("type", types @ Value::Array(_)) => *types = types[0].take(),
            ("enum", Value::Array(words)) => words.retain(|word| !word.is_null()),
            ("description", Value::String(text)) => *text = text.replace('\n', " "),
            _ => {}
        }
    }
}

/// Rules for `x-kubernetes-validations`: an expression each, and what is accepted.
pub fn rules(rules: &[(&str, &str)]) -> Value {
    let rules = rules
        .iter()
        .map(|(rule, message)| json!({"rule": rule, "message": message}));
    rules.collect()
}

/// A schedule: five or six fields or a name, with a time zone or none.
pub fn schedule(_: &mut SchemaGenerator) -> Schema {
    let rule = r"self.matches('^((CRON_)?TZ=[^ ]+ +)?(@[a-zA-Z]+|[^ @]+( +[^ ]+){4,5}) *$')";
    let message = "a schedule has five fields (minute, hour, day of month, month, day of week), six with \
        seconds before them, or is a name such as @daily; CRON_TZ=Area/City may precede it";
    json_schema!({"type": "string", "maxLength": 256,
        "x-kubernetes-validations": rules(&[(rule, message)])})
}

/// Texts by name.
pub fn labels(_: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "object", "maxProperties": 64,
        "additionalProperties": {"type": "string", "maxLength": 1024}})
}

/// The conditions of a status, in the form of Kubernetes.
pub fn conditions(generator: &mut SchemaGenerator) -> Schema {
    json_schema!({"type": "array", "description": "The conditions.", "maxItems": 16,
        "items": generator.subschema_for::<Condition>(),
        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"]})
}

/// Makes the schema of a reference that of a reference to any workload.
pub fn workload(schema: &mut Schema) {
    let kind = "The kind, for example Deployment.";
    let name = "The name of the workload, in the namespace of this object.";
    let rule = (
        "!(self.kind in ['HorizontalPodAutoscaler', 'DaemonSet'])",
        "scaleTargetRef must be a workload with the subresource scale, such as a Deployment or a StatefulSet",
    );
    reference(schema, kind, name, &[rule]);
}

/// Makes the schema of a reference that of a reference to a workload, with other descriptions and other rules.
pub fn reference(schema: &mut Schema, kind: &str, name: &str, own: &[(&str, &str)]) {
    let api_version = "Group and version. Default: apps/v1.";
    for (field, text) in [("apiVersion", api_version), ("kind", kind), ("name", name)] {
        if let Some(description) = schema.pointer_mut(&format!("/properties/{field}/description")) {
            *description = text.into();
        }
    }
    schema.insert("x-kubernetes-validations".to_owned(), rules(own));
}
