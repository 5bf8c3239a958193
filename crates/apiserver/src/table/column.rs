//! Columns of a resource: definitions, and cells of objects.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::table::json_path::JsonPath;
use crate::table::{age, cells};

#[derive(Debug)]
pub(crate) struct BuiltinColumn {
    name: &'static str,
    kind: &'static str,
    /// Shown by `-o wide` only.
    wide: bool,
    cell: fn(&Value, Timestamp) -> Value,
}

impl BuiltinColumn {
    pub(super) const fn text(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Self {
        Self {
            name,
            kind: "string",
            wide: false,
            cell,
        }
    }

    pub(super) const fn number(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Self {
        Self {
            kind: "integer",
            ..Self::text(name, cell)
        }
    }

    pub(super) const fn wide(name: &'static str, cell: fn(&Value, Timestamp) -> Value) -> Self {
        Self {
            wide: true,
            ..Self::text(name, cell)
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct CustomColumn {
    pub(crate) name: String,
    pub(crate) kind: String,
    pub(crate) priority: i64,
    pub(crate) path: JsonPath,
}

#[derive(Debug, Clone)]
pub(crate) enum TableColumns {
    Builtin(&'static [BuiltinColumn]),
    /// After the name, which always comes first.
    Custom(Arc<[CustomColumn]>),
}

impl TableColumns {
    pub(crate) fn definitions(&self) -> Value {
        match self {
            Self::Builtin(columns) => columns.iter().map(builtin_definition).collect(),
            Self::Custom(columns) => {
                let rest = columns
                    .iter()
                    .map(|column| definition(&column.name, &column.kind, column.priority));
                std::iter::once(definition("Name", "string", 0))
                    .chain(rest)
                    .collect()
            }
        }
    }

    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> Value {
        match self {
            Self::Builtin(columns) => columns
                .iter()
                .map(|column| (column.cell)(object, now))
                .collect(),
            Self::Custom(columns) => {
                let rest = columns
                    .iter()
                    .map(|column| custom_cell(column, object, now));
                std::iter::once(cells::name(object, now))
                    .chain(rest)
                    .collect()
            }
        }
    }
}

fn builtin_definition(column: &BuiltinColumn) -> Value {
    definition(column.name, column.kind, i64::from(column.wide))
}

fn definition(name: &str, kind: &str, priority: i64) -> Value {
    let format = if name == "Name" { "name" } else { "" };
    json!({"name": name, "type": kind, "format": format, "description": "", "priority": priority})
}

fn custom_cell(column: &CustomColumn, object: &Value, now: Timestamp) -> Value {
    match column.path.find(object) {
        None | Some(Value::Null) => Value::Null,
        Some(value) if column.kind == "date" => {
            age::since(value.as_str().unwrap_or_default(), now).into()
        }
        Some(value) if column.kind == "string" && !value.is_string() => value.to_string().into(),
        Some(value) => value.clone(),
    }
}
