//! Reading and writing the metadata of objects held as JSON.

use serde_json::{Map, Value};

/// The text at a JSON pointer, empty where there is none.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object
        .pointer(pointer)
        .and_then(Value::as_str)
        .unwrap_or_default()
}

/// The list at a JSON pointer, empty where there is none.
pub(crate) fn list<'a>(object: &'a Value, pointer: &str) -> &'a [Value] {
    object
        .pointer(pointer)
        .and_then(Value::as_array)
        .map_or(&[], Vec::as_slice)
}

/// The map at a JSON pointer.
pub(crate) fn map<'a>(object: &'a Value, pointer: &str) -> Option<&'a Map<String, Value>> {
    object.pointer(pointer).and_then(Value::as_object)
}

/// The whole number at a JSON pointer.
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

/// The text of `metadata.resourceVersion`.
pub(crate) fn version(object: &Value) -> &str {
    text(object, "/metadata/resourceVersion")
}

/// True where deletion has begun.
pub(crate) fn is_deleting(object: &Value) -> bool {
    object.pointer("/metadata/deletionTimestamp").is_some()
}

/// True where finalizers hold the object.
pub(crate) fn has_finalizers(object: &Value) -> bool {
    !list(object, "/metadata/finalizers").is_empty()
}

/// The map under `key`, made where it is missing or null. Anything else that stands there is
/// replaced; callers come after the object was decoded.
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

/// Sets `key` where it is missing or null.
pub(crate) fn default(object: &mut Value, key: &str, value: impl Into<Value>) {
    let field = &mut object[key];
    if field.is_null() {
        *field = value.into();
    }
}

/// Takes a key out of an object, whatever it is.
pub(crate) fn remove(object: &mut Value, key: &str) -> Option<Value> {
    object.as_object_mut().and_then(|map| map.remove(key))
}

/// Puts `value` under `key`, or removes the key where there is none.
pub(crate) fn put(object: &mut Value, key: &str, value: Option<Value>) {
    match value {
        Some(value) => object[key] = value,
        None => drop(remove(object, key)),
    }
}

/// The members of a list under `key`.
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
