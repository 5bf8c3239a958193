//! Structural schemas of custom resources: unknown fields are dropped, defaults filled in, types,
//! required fields, enumerations, bounds and lengths checked.
//!
//! Patterns and CEL rules are not evaluated; who creates a definition with them is warned.

use serde_json::Value;

use super::error::Cause;
use super::meta;

/// The schema of one version of a custom resource.
#[derive(Debug, Clone)]
pub(crate) struct Schema(Value);

const PRESERVE: &str = "x-kubernetes-preserve-unknown-fields";
const INT_OR_STRING: &str = "x-kubernetes-int-or-string";
/// What every object has, whatever its schema says.
const ENVELOPE: [&str; 3] = ["apiVersion", "kind", "metadata"];

impl Schema {
    pub(crate) const fn new(schema: Value) -> Self {
        Self(schema)
    }

    /// Drops fields that the schema lacks and answers their paths.
    pub(crate) fn prune(&self, object: &mut Value) -> Vec<String> {
        let mut dropped = Vec::new();
        prune(&self.0, object, "", &mut dropped);
        dropped
    }

    /// Fills in the schema's defaults.
    pub(crate) fn default(&self, object: &mut Value) {
        default(&self.0, object);
    }

    /// What is wrong with the object.
    pub(crate) fn validate(&self, object: &Value, causes: &mut Vec<Cause>) {
        validate(&self.0, object, "", causes);
    }

    /// The parts of the schema that are not evaluated.
    pub(crate) fn unevaluated(&self) -> Vec<&'static str> {
        let text = self.0.to_string();
        [
            ("\"x-kubernetes-validations\"", "x-kubernetes-validations"),
            ("\"pattern\"", "pattern"),
        ]
        .into_iter()
        .filter(|(quoted, _)| text.contains(quoted))
        .map(|(_, name)| name)
        .collect()
    }
}

fn child_path(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
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

fn validate(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    if value.is_null() && schema["nullable"] == true {
        return;
    }
    if !has_type(schema, value) {
        let wanted = meta::text(schema, "/type");
        let why = format!("must be of type {wanted}: {path} in body must be of type {wanted}");
        causes.push(Cause::invalid(path, value, &why));
        return;
    }
    let accepted = meta::list(schema, "/enum");
    if !accepted.is_empty() && !accepted.contains(value) {
        let accepted: Vec<String> = accepted.iter().map(Value::to_string).collect();
        causes.push(Cause::unsupported(path, value, &accepted.join(", ")));
    }
    match value {
        Value::Object(fields) => {
            for name in meta::list(schema, "/required")
                .iter()
                .filter_map(Value::as_str)
            {
                if !fields.contains_key(name) {
                    causes.push(Cause::required(child_path(path, name), ""));
                }
            }
            for (name, field) in fields {
                let inner = schema["properties"].get(name);
                if let Some(inner) = inner.or_else(|| schema.get("additionalProperties")) {
                    validate(inner, field, &child_path(path, name), causes);
                }
            }
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                validate(&schema["items"], item, &format!("{path}[{index}]"), causes);
            }
            lengths(
                schema,
                ["minItems", "maxItems"],
                items.len(),
                (value, path),
                causes,
            );
        }
        Value::String(text) => {
            let length = text.chars().count();
            lengths(
                schema,
                ["minLength", "maxLength"],
                length,
                (value, path),
                causes,
            );
        }
        Value::Number(_) => bounds(schema, value, path, causes),
        _ => {}
    }
}

fn has_type(schema: &Value, value: &Value) -> bool {
    if schema[INT_OR_STRING] == true {
        return value.is_i64() || value.is_u64() || value.is_string();
    }
    match meta::text(schema, "/type") {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        _ => true,
    }
}

fn lengths(
    schema: &Value,
    [least, most]: [&str; 2],
    length: usize,
    (value, path): (&Value, &str),
    causes: &mut Vec<Cause>,
) {
    let bound = |name: &str| schema[name].as_u64().and_then(|n| usize::try_from(n).ok());
    if let Some(least) = bound(least).filter(|least| length < *least) {
        causes.push(Cause::invalid(
            path,
            value,
            &format!("should have at least {least}"),
        ));
    }
    if let Some(most) = bound(most).filter(|most| length > *most) {
        causes.push(Cause::invalid(
            path,
            value,
            &format!("should have at most {most}"),
        ));
    }
}

fn bounds(schema: &Value, value: &Value, path: &str, causes: &mut Vec<Cause>) {
    let Some(number) = value.as_f64() else { return };
    if let Some(least) = schema["minimum"].as_f64() {
        let exclusive = schema["exclusiveMinimum"] == true;
        if number < least || (exclusive && number <= least) {
            let than = if exclusive {
                "greater than"
            } else {
                "greater than or equal to"
            };
            causes.push(Cause::invalid(
                path,
                value,
                &format!("should be {than} {least}"),
            ));
        }
    }
    if let Some(most) = schema["maximum"].as_f64() {
        let exclusive = schema["exclusiveMaximum"] == true;
        if number > most || (exclusive && number >= most) {
            let than = if exclusive {
                "less than"
            } else {
                "less than or equal to"
            };
            causes.push(Cause::invalid(
                path,
                value,
                &format!("should be {than} {most}"),
            ));
        }
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
        ] {
            let mut causes = Vec::new();
            schema().validate(&json!({"spec": spec}), &mut causes);
            let fields: Vec<&str> = causes.iter().map(|cause| cause.field.as_str()).collect();
            assert_eq!(fields, [field], "{spec}");
        }
    }
}
