//! The messages of the built-in kinds, from a table in text. `messages.txt` holds one message a
//! line: its name, then `number:field:type` for each field. A type is a letter for a scalar or a
//! form of its own (`s` string, `y` bytes, `b` bool, `i` integer, `d` and `f` floats, `T` and `U`
//! times, `Q` quantity, `I` integer or string, `J` JSON, `D` duration) or a message; `*` is a list,
//! `%` a map from strings, `^` a message with its fields in the outer object. The table is made
//! from the `generated.proto` files of k8s.io/api.

use std::collections::HashMap;
use std::sync::LazyLock;

#[derive(Debug)]
pub(super) struct ProtobufField {
    pub(super) name: &'static str,
    pub(super) shape: Shape,
    pub(super) kind: &'static str,
}

/// The number of values, and their nesting.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Shape {
    One,
    List,
    Map,
    Inline,
}

pub(super) type Message = HashMap<u64, ProtobufField>;

pub(super) static MESSAGES: LazyLock<HashMap<&'static str, Message>> = LazyLock::new(|| {
    let lines = include_str!("messages.txt").lines();
    lines.filter_map(message).collect()
});

fn message(line: &'static str) -> Option<(&'static str, Message)> {
    let mut words = line.split_whitespace();
    let name = words.next()?;
    Some((name, words.filter_map(field).collect()))
}

fn field(word: &'static str) -> Option<(u64, ProtobufField)> {
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
    Some((number, ProtobufField { name, shape, kind }))
}

/// Name, whether it is a list or a map, and type. Fields of messages that stand in the outer object
/// are included.
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

/// `apps/v1` and `Deployment` give `apps.v1.Deployment`.
pub(crate) fn message_name(api_version: &str, kind: &str) -> String {
    if kind == "DeleteOptions" {
        return "meta.DeleteOptions".to_owned();
    }
    let (group, version) = api_version.split_once('/').unwrap_or(("core", api_version));
    let group = group.split('.').next().unwrap_or_default();
    format!("{group}.{version}.{kind}")
}
