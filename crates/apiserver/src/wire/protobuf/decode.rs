//! From the bytes of a message to JSON.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::wire::protobuf::error::ProtobufError;
use crate::wire::protobuf::messages::{MESSAGES, ProtobufField, Shape, message_name};
use crate::wire::protobuf::reader::{ProtobufReader, WireValue};

/// First bytes of every body.
const MAGIC: &[u8] = b"k8s\0";

pub(crate) fn to_json(body: &[u8]) -> Result<Value, ProtobufError> {
    let unknown = body.strip_prefix(MAGIC).ok_or(ProtobufError::Prefix)?;
    let mut api_version = String::new();
    let mut kind = String::new();
    let mut raw: &[u8] = &[];
    for entry in ProtobufReader::new(unknown) {
        match entry? {
            (1, WireValue::Bytes(meta)) => {
                for entry in ProtobufReader::new(meta) {
                    match entry? {
                        (1, WireValue::Bytes(text)) => api_version = string(text),
                        (2, WireValue::Bytes(text)) => kind = string(text),
                        _ => {}
                    }
                }
            }
            (2, WireValue::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    let name = message_name(&api_version, &kind);
    if !MESSAGES.contains_key(name.as_str()) {
        return Err(ProtobufError::Kind(kind));
    }
    let mut object = Map::new();
    decode(raw, &name, &mut object)?;
    object.insert("kind".to_owned(), kind.into());
    object.insert("apiVersion".to_owned(), api_version.into());
    Ok(Value::Object(object))
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn decode(bytes: &[u8], name: &str, object: &mut Map<String, Value>) -> Result<(), ProtobufError> {
    let Some(message) = MESSAGES.get(name) else {
        return Ok(());
    };
    for entry in ProtobufReader::new(bytes) {
        let (number, raw) = entry?;
        let Some(field) = message.get(&number) else {
            continue;
        };
        put(field, &raw, object)?;
    }
    Ok(())
}

fn put(
    field: &ProtobufField,
    raw: &WireValue<'_>,
    object: &mut Map<String, Value>,
) -> Result<(), ProtobufError> {
    match field.shape {
        Shape::Inline => {
            if let WireValue::Bytes(bytes) = raw {
                decode(bytes, field.kind, object)?;
            }
        }
        Shape::One => {
            let value = value(field.kind, raw)?;
            if !is_left_out(field.name, &value) {
                object.insert(field.name.to_owned(), value);
            }
        }
        Shape::List => {
            let value = value(field.kind, raw)?;
            let list = object.entry(field.name).or_insert_with(|| json!([]));
            if let Some(list) = list.as_array_mut() {
                list.push(value);
            }
        }
        Shape::Map => {
            let WireValue::Bytes(bytes) = raw else {
                return Err(ProtobufError::Wire);
            };
            let (mut key, mut of) = (String::new(), json!(""));
            for entry in ProtobufReader::new(bytes) {
                match entry? {
                    (1, WireValue::Bytes(text)) => key = string(text),
                    (2, raw) => of = value(field.kind, &raw)?,
                    _ => {}
                }
            }
            let map = object.entry(field.name).or_insert_with(|| json!({}));
            map[key] = of;
        }
    }
    Ok(())
}

/// Go writes zeros for unset fields; of these fields a zero has a meaning.
const MEANT: [&str; 34] = [
    "replicas",
    "minReplicas",
    "partition",
    "terminationGracePeriodSeconds",
    "gracePeriodSeconds",
    "deletionGracePeriodSeconds",
    "priority",
    "tolerationSeconds",
    "stabilizationWindowSeconds",
    "backoffLimit",
    "completions",
    "parallelism",
    "successfulJobsHistoryLimit",
    "failedJobsHistoryLimit",
    "ttlSecondsAfterFinished",
    "revisionHistoryLimit",
    "runAsUser",
    "runAsGroup",
    "fsGroup",
    "value",
    "desiredReplicas",
    "automountServiceAccountToken",
    "enableServiceLinks",
    "allowPrivilegeEscalation",
    "runAsNonRoot",
    "privileged",
    "readOnlyRootFilesystem",
    "suspend",
    "optional",
    "blockOwnerDeletion",
    "controller",
    "immutable",
    "shareProcessNamespace",
    "hostUsers",
];

fn is_left_out(name: &str, value: &Value) -> bool {
    let zero = match value {
        Value::Null => return true,
        Value::String(text) => return text.is_empty(),
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        _ => false,
    };
    zero && !MEANT.contains(&name)
}

fn value(kind: &str, raw: &WireValue<'_>) -> Result<Value, ProtobufError> {
    Ok(match (kind, raw) {
        ("s", WireValue::Bytes(bytes)) => string(bytes).into(),
        ("y", WireValue::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        ("b", WireValue::Varint(number)) => (*number != 0).into(),
        ("i", WireValue::Varint(number)) => number.cast_signed().into(),
        ("d", WireValue::Fixed64(bits)) => f64::from_bits(*bits).into(),
        ("f", WireValue::Fixed32(bits)) => f64::from(f32::from_bits(*bits)).into(),
        ("T" | "U", WireValue::Bytes(bytes)) => time(bytes, kind == "U")?,
        ("Q", WireValue::Bytes(bytes)) => string(first(bytes)?.unwrap_or_default()).into(),
        ("I", WireValue::Bytes(bytes)) => int_or_string(bytes)?,
        ("J", WireValue::Bytes(bytes)) => {
            let json = first(bytes)?.unwrap_or_default();
            serde_json::from_slice(json).unwrap_or(Value::Null)
        }
        ("D", WireValue::Bytes(bytes)) => {
            let nanos = numbers(bytes)?[1];
            format!("{nanos}ns").into()
        }
        (message, WireValue::Bytes(bytes)) if message.len() > 1 => {
            let mut object = Map::new();
            decode(bytes, message, &mut object)?;
            Value::Object(object)
        }
        _ => return Err(ProtobufError::Wire),
    })
}

fn first(bytes: &[u8]) -> Result<Option<&[u8]>, ProtobufError> {
    for entry in ProtobufReader::new(bytes) {
        if let (1, WireValue::Bytes(found)) = entry? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Integers of the fields 1 and 2, at index 1 and 2.
fn numbers(bytes: &[u8]) -> Result<[i64; 3], ProtobufError> {
    let mut found = [0; 3];
    for entry in ProtobufReader::new(bytes) {
        if let (number @ 1..=2, WireValue::Varint(value)) = entry? {
            let place = usize::try_from(number).map_err(|_| ProtobufError::Wire)?;
            found[place] = value.cast_signed();
        }
    }
    Ok(found)
}

fn time(bytes: &[u8], micros: bool) -> Result<Value, ProtobufError> {
    let [_, seconds, nanos] = numbers(bytes)?;
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let nanos = i32::try_from(nanos).map_err(|_| ProtobufError::Wire)?;
    let Ok(time) = Timestamp::new(seconds, nanos) else {
        return Ok(Value::Null);
    };
    let format = if micros {
        "%Y-%m-%dT%H:%M:%S.%6fZ"
    } else {
        "%Y-%m-%dT%H:%M:%SZ"
    };
    Ok(time.strftime(format).to_string().into())
}

fn int_or_string(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let [_, kind, number] = numbers(bytes)?;
    if kind == 0 {
        return Ok(number.into());
    }
    for entry in ProtobufReader::new(bytes) {
        if let (3, WireValue::Bytes(text)) = entry? {
            return Ok(string(text).into());
        }
    }
    Ok("".into())
}

#[cfg(test)]
mod tests;
