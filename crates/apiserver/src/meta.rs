//! Reading and writing the metadata of objects held as JSON.

use serde_json::{Map, Value};

/// At a JSON pointer; empty if absent.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// At a JSON pointer; empty if absent.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

pub(crate) fn map<'a>(object: &'a Value, pointer: &str) -> Option<&'a Map<String, Value>> {
    object.pointer(pointer).and_then(Value::as_object)
}

/// The integer at a JSON pointer.
pub(crate) fn number(object: &Value, pointer: &str) -> Option<i64> {
    object.pointer(pointer).and_then(Value::as_i64)
}

pub(crate) fn name(object: &Value) -> &str {
    text(object, "/metadata/name")
}

pub(crate) fn namespace(object: &Value) -> &str {
    text(object, "/metadata/namespace")
}

pub(crate) fn uid(object: &Value) -> &str {
    text(object, "/metadata/uid")
}

pub(crate) fn version(object: &Value) -> &str {
    text(object, "/metadata/resourceVersion")
}

pub(crate) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

pub(crate) fn has_finalizers(object: &Value) -> bool {
    !list(object, "/metadata/finalizers").is_empty()
}

/// The map under `key`, created if missing or null. Any other value is replaced; callers have
/// decoded the object before.
pub(crate) fn child<'a>(object: &'a mut Value, key: &str) -> &'a mut Value {
    if !object.is_object() {
        *object = Value::Object(Map::new());
    }
    let child = &mut object[key];
    if !child.is_object() {
        *child = Value::Object(Map::new());
    }
    child
}

/// If missing or null.
pub(crate) fn default(object: &mut Value, key: &str, value: impl Into<Value>) {
    let field = &mut object[key];
    if field.is_null() {
        *field = value.into();
    }
}

/// `None` if `object` is no map.
pub(crate) fn remove(object: &mut Value, key: &str) -> Option<Value> {
    object.as_object_mut().and_then(|map| map.remove(key))
}

/// Removes the key for `None`.
pub(crate) fn put(object: &mut Value, key: &str, value: Option<Value>) {
    match value {
        Some(value) => object[key] = value,
        None => drop(remove(object, key)),
    }
}

pub(crate) fn each_mut<'a>(
    object: &'a mut Value,
    key: &str,
) -> impl Iterator<Item = &'a mut Value> + use<'a> {
    object
        .get_mut(key)
        .and_then(Value::as_array_mut)
        .into_iter()
        .flatten()
}
