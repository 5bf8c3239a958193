//! ConfigMaps and Secrets: `stringData`, the default type, and `immutable`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::error::Cause;
use crate::meta;

pub(super) fn secret_defaults(secret: &mut Value) {
    meta::default(secret, "type", "Opaque");
    if let Some(Value::Object(texts)) = meta::remove(secret, "stringData") {
        let data = meta::child(secret, "data");
        for (key, text) in texts {
            data[key] = STANDARD.encode(text.as_str().unwrap_or_default()).into();
        }
    }
}

pub(super) fn validate_update(old: &Value, new: &Value, causes: &mut Vec<Cause>) {
    if old["immutable"] != true {
        return;
    }
    for field in ["immutable", "data", "binaryData"] {
        if old[field] != new[field] {
            causes.push(Cause::forbidden(
                field,
                "field is immutable when `immutable` is set",
            ));
        }
    }
}
