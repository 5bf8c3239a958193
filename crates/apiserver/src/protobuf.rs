//! Bodies in Kubernetes' protobuf, which `kubectl create` and other typed Go clients send for
//! built-in kinds even to servers that answer JSON.
//!
//! `messages.txt` holds the messages, one a line: name, then `number:field:type` for each field.
//! A type is a letter for a scalar or a form of its own (`s` string, `y` bytes, `b` bool, `i`
//! integer, `d` and `f` floats, `T` and `U` times, `Q` quantity, `I` integer or string, `J` JSON,
//! `D` duration) or a message; `*` is a list, `%` a map from strings, `^` a message whose fields
//! stand in the outer object. It is made from the `generated.proto` files of k8s.io/api.

mod wire;

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use self::wire::{Raw, Reader};

/// The media type.
pub(crate) const MEDIA: &str = "application/vnd.kubernetes.protobuf";
/// What every body begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Why a body cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProtobufError {
    /// It does not begin as it should.
    #[error("the body does not begin with the prefix of Kubernetes' protobuf")]
    Prefix,
    /// It is cut short or not protobuf.
    #[error("the body is no valid protobuf message")]
    Wire,
    /// The kind is not in the table.
    #[error("{0} cannot be read as protobuf here, only as JSON")]
    Kind(String),
}

#[derive(Debug)]
struct Field {
    name: &'static str,
    shape: Shape,
    kind: &'static str,
}

/// How often a field is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    Map,
    Inline,
}

type Message = HashMap<u64, Field>;

static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
    let lines = include_str!("protobuf/messages.txt").lines();
    lines.filter_map(message).collect()
});

fn message(line: &'static str) -> Option<(&'static str, Message)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    Some((name, words.filter_map(field).collect()))
}

fn field(word: &'static str) -> Option<(u64, Field)> {
    let mut parts = word.splitn(3, ':');
    let number = parts.next()?.parse().ok()?;
    let name = parts.next()?;
    let kind = parts.next()?;
    let (shape, kind) = match kind.as_bytes().first()? {
        b'*' => (Shape::List, &kind[1..]),
        b'%' => (Shape::Map, &kind[1..]),
        b'^' => (Shape::Inline, &kind[1..]),
        _ => (Shape::One, kind),
    };
    Some((number, Field { name, shape, kind }))
}

/// The fields of a message: name, whether it is a list or a map, and type. Those of messages that
/// stand in the outer object are among them.
pub(crate) fn fields(message: &str) -> Option<Vec<(&'static str, Shape, &'static str)>> {
    let mut fields = Vec::new();
    for field in MESSAGES.get(message)?.values() {
        match field.shape {
            Shape::Inline => fields.extend(self::fields(field.kind)?),
            shape => fields.push((field.name, shape, field.kind)),
        }
    }
    Some(fields)
}

/// A body as the JSON that it stands for.
pub(crate) fn to_json(body: &[u8]) -> Result<Value, ProtobufError> {
    let unknown = body.strip_prefix(MAGIC).ok_or(ProtobufError::Prefix)?;
    let mut api_version = String::new();
    let mut kind = String::new();
    let mut raw: &[u8] = &[];
    for entry in Reader::new(unknown) {
        match entry? {
            (1, Raw::Bytes(meta)) => {
                for entry in Reader::new(meta) {
                    match entry? {
                        (1, Raw::Bytes(text)) => api_version = string(text),
                        (2, Raw::Bytes(text)) => kind = string(text),
                        _ => {}
                    }
                }
            }
            (2, Raw::Bytes(bytes)) => raw = bytes,
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

/// `apps/v1` and `Deployment` to `apps.v1.Deployment`.
pub(crate) fn message_name(api_version: &str, kind: &str) -> String {
    if kind == "DeleteOptions" {
        return "meta.DeleteOptions".to_owned();
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let group = group.split('.').next().unwrap_or_default();
    format!("{group}.{version}.{kind}")
}

fn string(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn decode(bytes: &[u8], name: &str, object: &mut Map<String, Value>) -> Result<(), ProtobufError> {
    let Some(message) = MESSAGES.get(name) else {
        return Ok(());
    };
    for entry in Reader::new(bytes) {
        let (number, raw) = entry?;
        let Some(field) = message.get(&number) else {
            continue;
        };
        put(field, &raw, object)?;
    }
    Ok(())
}

fn put(field: &Field, raw: &Raw<'_>, object: &mut Map<String, Value>) -> Result<(), ProtobufError> {
    match field.shape {
        Shape::Inline => {
            if let Raw::Bytes(bytes) = raw {
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
            let Raw::Bytes(bytes) = raw else {
                return Err(ProtobufError::Wire);
            };
            let (mut key, mut of) = (String::new(), json!(""));
            for entry in Reader::new(bytes) {
                match entry? {
                    (1, Raw::Bytes(text)) => key = string(text),
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

/// Zeros that Go writes for fields that are not set, and that mean something where they are.
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

fn value(kind: &str, raw: &Raw<'_>) -> Result<Value, ProtobufError> {
    Ok(match (kind, raw) {
        ("s", Raw::Bytes(bytes)) => string(bytes).into(),
        ("y", Raw::Bytes(bytes)) => STANDARD.encode(bytes).into(),
        ("b", Raw::Varint(number)) => (*number != 0).into(),
        ("i", Raw::Varint(number)) => number.cast_signed().into(),
        ("d", Raw::Fixed64(bits)) => f64::from_bits(*bits).into(),
        ("f", Raw::Fixed32(bits)) => f64::from(f32::from_bits(*bits)).into(),
        ("T" | "U", Raw::Bytes(bytes)) => time(bytes, kind == "U")?,
        ("Q", Raw::Bytes(bytes)) => string(first(bytes)?.unwrap_or_default()).into(),
        ("I", Raw::Bytes(bytes)) => int_or_string(bytes)?,
        ("J", Raw::Bytes(bytes)) => {
            let json = first(bytes)?.unwrap_or_default();
            serde_json::from_slice(json).unwrap_or(Value::Null)
        }
        ("D", Raw::Bytes(bytes)) => {
            let nanos = numbers(bytes)?[1];
            format!("{nanos}ns").into()
        }
        (message, Raw::Bytes(bytes)) if message.len() > 1 => {
            let mut object = Map::new();
            decode(bytes, message, &mut object)?;
            Value::Object(object)
        }
        _ => return Err(ProtobufError::Wire),
    })
}

/// The bytes of field 1.
fn first(bytes: &[u8]) -> Result<Option<&[u8]>, ProtobufError> {
    for entry in Reader::new(bytes) {
        if let (1, Raw::Bytes(found)) = entry? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// The integers of the fields 1 and 2, in places 1 and 2.
fn numbers(bytes: &[u8]) -> Result<[i64; 3], ProtobufError> {
    let mut found = [0; 3];
    for entry in Reader::new(bytes) {
        if let (number @ 1..=2, Raw::Varint(value)) = entry? {
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
    for entry in Reader::new(bytes) {
        if let (3, Raw::Bytes(text)) = entry? {
            return Ok(string(text).into());
        }
    }
    Ok("".into())
}

#[cfg(test)]
mod tests;
