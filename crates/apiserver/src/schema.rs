//! Structural schemas of custom resources: unknown fields are dropped, defaults filled in, and
//! values checked. CEL rules and some formats are not evaluated; writes of a definition with them,
//! and of its objects, are warned.

mod format;
mod patterns;
mod validate;

use std::collections::BTreeSet;

use serde_json::Value;

use self::patterns::{Patterns, texts};
use self::validate::{Validation, child_path};
use crate::error::Cause;
use crate::meta;

/// Schema of one version of a custom resource.
#[derive(Debug, Clone)]
pub(crate) struct Schema {
    root: Value,
    patterns: Patterns,
    unevaluated: BTreeSet<String>,
}

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
/// In every object, whatever its schema says.
const ENVELOPE: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Schema {
    pub(crate) fn new(schema: Value) -> Self {
        let patterns = patterns::compile(&schema);
        let mut parts = BTreeSet::new();
        unevaluated(&schema, &mut parts);
        Self {
            root: schema,
            patterns,
            unevaluated: parts,
        }
    }

    pub(crate) fn document(&self) -> Value {
        self.root.clone()
    }

    /// Drops fields that the schema lacks and returns their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        prune(&self.root, object, "", &mut dropped);
        dropped
    }

    pub(crate) fn default(&self, object: &mut Value) {
        default(&self.root, object);
    }

    pub(crate) fn validate(&self, object: &Value, causes: &mut Vec<Cause>) {
        let mut validation = Validation {
            patterns: &self.patterns,
            causes,
        };
        validation.check(&self.root, object, "");
    }

    pub(crate) const fn unevaluated(&self) -> &BTreeSet<String> {
        &self.unevaluated
    }

    /// Patterns that are no regular expressions.
    pub(crate) fn broken_patterns(&self) -> Vec<String> {
        let mut all = BTreeSet::new();
        texts(&self.root, "pattern", &mut all);
        all.retain(|pattern| !self.patterns.contains_key(pattern));
        all.into_iter().collect()
    }
}

fn unevaluated(schema: &Value, parts: &mut BTreeSet<String>) {
    let mut formats = BTreeSet::new();
    texts(schema, "format", &mut formats);
    let unknown = formats
        .into_iter()
        .filter(|format| format::is_left_out(format));
    parts.extend(unknown.map(|format| format!("format {format}")));
    if schema.to_string().contains("\"x-kubernetes-validations\"") {
        parts.insert("x-kubernetes-validations".to_owned());
    }
}

fn prune(schema: &Value, value: &mut Value, path: &str, dropped: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                prune(&schema["items"], item, &format!("{path}[{index}]"), dropped);
            }
        }
        Value::Object(fields) => {
            let properties = &schema["properties"];
            let additional = schema.get("additionalProperties");
            let keep_unknown = schema[PRESERVE] == true || additional == Some(&Value::Bool(true));
            let is_envelope = path.is_empty();
            fields.retain(|name, value| {
                let at = child_path(path, name);
                if is_envelope && ENVELOPE.contains(&name.as_str()) {
                    return true;
                }
                match (properties.get(name), additional.filter(|a| a.is_object())) {
                    (Some(inner), _) | (None, Some(inner)) => prune(inner, value, &at, dropped),
                    (None, None) if keep_unknown => {}
                    (None, None) => {
                        dropped.push(at);
                        return false;
                    }
                }
                true
            });
        }
        _ => {}
    }
}

fn default(schema: &Value, value: &mut Value) {
    match value {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| default(&schema["items"], item)),
        Value::Object(fields) => {
            for (name, inner) in meta::map(schema, "/properties").into_iter().flatten() {
                let missing = fields
                    .get(name)
                    .is_none_or(|v| v.is_null() && inner["nullable"] != true);
                match inner.get("default") {
                    Some(value) if missing => drop(fields.insert(name.clone(), value.clone())),
                    _ => {}
                }
                if let Some(field) = fields.get_mut(name) {
                    default(inner, field);
                }
            }
            let additional = &schema["additionalProperties"];
            if additional.is_object() {
                fields
                    .values_mut()
                    .for_each(|field| default(additional, field));
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn schema() -> Schema {
        Schema::new(json!({"type": "object", "properties": {"spec": {
            "type": "object", "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "tags": {"type": "object", "additionalProperties": {"type": "string"}},
                "free": {"type": "object", PRESERVE: true},
                "name": {"type": "string", "pattern": "^[a-z]+$"},
                "every": {"type": "string", "format": "duration"},
                "few": {"type": "array", "x-kubernetes-list-type": "set",
                    "items": {"type": "string"}},
                "either": {"type": "integer", "anyOf": [{"minimum": 5}, {"maximum": 1}]},
                "steps": {"type": "integer", "multipleOf": 5},
            },
        }}}))
    }

    #[test]
    fn unknown_fields_go_and_defaults_come() {
        let mut object = json!({"kind": "K", "metadata": {"name": "n"}, "extra": 1,
            "spec": {"size": 2, "wrong": 1, "free": {"x": 1}, "tags": {"t": "u"}}});
        let dropped = schema().prune(&mut object);
        assert_eq!(dropped, ["extra", "spec.wrong"]);
        schema().default(&mut object);
        assert_eq!(object["spec"]["mode"], "a");
        assert_eq!(object["spec"]["free"]["x"], 1);
        assert_eq!(object["spec"]["tags"]["t"], "u");
    }

    #[test]
    fn mistakes_are_found_where_they_are() {
        for (spec, field) in [
            (json!({}), "spec.size"),
            (json!({"size": 0}), "spec.size"),
            (json!({"size": "1"}), "spec.size"),
            (json!({"size": 1, "mode": "c"}), "spec.mode"),
            (json!({"size": 1, "tags": {"t": 1}}), "spec.tags.t"),
            (json!({"size": 1, "name": "a1"}), "spec.name"),
            (json!({"size": 1, "every": "5x"}), "spec.every"),
            (json!({"size": 1, "few": ["a", "b", "a"]}), "spec.few[2]"),
            (json!({"size": 1, "either": 3}), "spec.either"),
            (json!({"size": 1, "steps": 7}), "spec.steps"),
        ] {
            let mut causes = Vec::new();
            schema().validate(&json!({"spec": spec}), &mut causes);
            let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
            assert_eq!(fields, [field], "{spec}");
        }
    }

    #[test]
    fn what_is_accepted_stays_so() {
        let given = json!({"spec": {"size": 1, "name": "abc", "every": "1h30m", "few": ["a", "b"],
            "either": 0, "steps": 10}});
        let mut causes = Vec::new();
        schema().validate(&given, &mut causes);
        assert_eq!(causes, []);
    }

    #[test]
    fn what_is_not_evaluated_is_known() {
        let schema = Schema::new(json!({"properties": {
            "a": {"format": "uri"}, "b": {"format": "date-time"}, "c": {"format": "my-own"},
            "d": {"pattern": "(?!x)"}, "e": {"pattern": "x+"},
            "f": {"x-kubernetes-validations": [{"rule": "self > 1"}]},
        }}));
        let parts: Vec<&String> = schema.unevaluated().iter().collect();
        assert_eq!(parts, ["format uri", "x-kubernetes-validations"]);
        assert_eq!(schema.broken_patterns(), ["(?!x)"]);
    }
}
