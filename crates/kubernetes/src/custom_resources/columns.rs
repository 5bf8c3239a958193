//! Columns in `kubectl get`.

use serde_json::{Value, json};

/// A column.
pub(super) struct PrinterColumn {
    pub(super) name: &'static str,
    /// The type of its values.
    pub(super) kind: &'static str,
    pub(super) path: &'static str,
    pub(super) description: &'static str,
}

/// The columns that are always shown, and those that `-o wide` shows as well.
pub(super) fn columns(shown: &[PrinterColumn], wide: &[PrinterColumn]) -> Value {
    let written = |column: &PrinterColumn| {
        let PrinterColumn {
            name,
            kind,
            path,
            description,
        } = column;
        json!({"name": name, "type": kind, "jsonPath": path, "description": description})
    };
    let wide = wide.iter().map(|column| {
        let mut column = written(column);
        column["priority"] = json!(1);
        column
    });
    shown.iter().map(written).chain(wide).collect()
}
