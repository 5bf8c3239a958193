//! Pieces of which schemas are put together.

use serde_json::{Value, json};

/// An object with these properties.
pub(super) fn object(description: &str, required: &[&str], properties: Value) -> Value {
    let mut schema = json!({"type": "object", "description": description});
    schema["properties"] = properties;
    if !required.is_empty() {
        schema["required"] = json!(required);
    }
    schema
}

/// A text of at most so many characters.
pub(super) fn text(description: &str, longest: u32) -> Value {
    json!({"type": "string", "description": description, "maxLength": longest})
}

/// A text of any length, as Evenkeel itself writes.
pub(super) fn written(description: &str) -> Value {
    json!({"type": "string", "description": description})
}

/// A moment.
pub(super) fn time(description: &str) -> Value {
    json!({"type": "string", "format": "date-time", "description": description})
}

/// Yes or no.
pub(super) fn flag(description: &str) -> Value {
    json!({"type": "boolean", "description": description})
}

/// A count of replicas.
pub(super) fn replicas(description: &str) -> Value {
    json!({"type": "integer", "format": "int32", "minimum": 0, "description": description})
}

/// A quantity as Kubernetes' own objects take it: a text, or any number. `x-kubernetes-int-or-string` refuses
/// fractions such as 0.05, and a schema cannot say "a number or a text" in another way.
pub(super) fn quantity(description: &str) -> Value {
    json!({"x-kubernetes-preserve-unknown-fields": true, "description": description})
}

/// A list of at most so many items.
pub(super) fn list(description: &str, most: usize, items: Value) -> Value {
    let mut schema = json!({"type": "array", "description": description, "maxItems": most});
    schema["items"] = items;
    schema
}

/// A schema with rules: an expression each, and what is accepted.
pub(super) fn ruled(mut schema: Value, rules: &[(&str, &str)]) -> Value {
    let rules = rules
        .iter()
        .map(|(rule, message)| json!({"rule": rule, "message": message}));
    schema["x-kubernetes-validations"] = rules.collect();
    schema
}

/// The conditions of a status, in the form of Kubernetes.
pub(super) fn conditions() -> Value {
    let condition = object(
        "One condition.",
        &["type", "status", "reason", "message", "lastTransitionTime"],
        json!({
            "type": written("The type of the condition."),
            "status": {
                "type": "string",
                "enum": ["True", "False", "Unknown"],
                "description": "Whether the condition holds.",
            },
            "reason": written("The reason in one word."),
            "message": written("The reason in words."),
            "lastTransitionTime": time("Since when the status has been the same."),
            "observedGeneration": {
                "type": "integer",
                "format": "int64",
                "description": "The generation of the spec that the condition describes.",
            },
        }),
    );
    let mut list = list("The conditions.", 16, condition);
    list["x-kubernetes-list-type"] = json!("map");
    list["x-kubernetes-list-map-keys"] = json!(["type"]);
    list
}
