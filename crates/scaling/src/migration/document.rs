//! Readers of a manifest that take nothing for granted: a field that is not known is refused.

use evenkeel_api::cron_hpa::spec::ScaledRef;
use serde_json::{Map, Value};

use super::conversion::MigrateError;

/// The place of a field of the object at a place.
fn at(path: &str, field: &str) -> String {
    if path.is_empty() {
        field.to_owned()
    } else {
        format!("{path}.{field}")
    }
}

/// The refusal of fields at these places, which would be lost.
pub(super) fn lost(unknown: &[String], known: &str) -> MigrateError {
    let are = if unknown.len() == 1 { "is" } else { "are" };
    let message = format!("{are} not known and would be lost; {known}");
    MigrateError::new(unknown.join(", "), message)
}

pub(super) struct ManifestFields<'a> {
    path: String,
    fields: Option<&'a Map<String, Value>>,
}

impl<'a> ManifestFields<'a> {
    /// The object at a place, in which no field but those `known` stands.
    ///
    /// # Errors
    /// Another value than an object, and a field that is not known.
    pub(super) fn new(
        path: impl Into<String>,
        value: &'a Value,
        known: &[&str],
    ) -> Result<Self, MigrateError> {
        let path = path.into();
        let fields = match value {
            Value::Null => None,
            Value::Object(fields) => Some(fields),
            _ => return Err(MigrateError::new(path, "is not an object")),
        };
        let names = fields.into_iter().flat_map(Map::keys);
        let unknown = names.filter(|name| !known.contains(&name.as_str()));
        let unknown: Vec<String> = unknown.map(|name| at(&path, name)).collect();
        if !unknown.is_empty() {
            let known = format!("accepted: {}", known.join(", "));
            return Err(lost(&unknown, &known));
        }
        Ok(Self { path, fields })
    }

    pub(super) fn at(&self, field: &str) -> String {
        at(&self.path, field)
    }

    /// The object in a field, in which no field but those `known` stands.
    ///
    /// # Errors
    /// Another value than an object, and a field that is not known.
    pub(super) fn object(&self, field: &str, known: &[&str]) -> Result<Self, MigrateError> {
        Self::new(self.at(field), self.get(field), known)
    }

    pub(super) fn get(&self, field: &str) -> &'a Value {
        const NULL: &Value = &Value::Null;
        let value = self.fields.and_then(|fields| fields.get(field));
        value.unwrap_or(NULL)
    }

    fn read<T>(
        &self,
        field: &str,
        what: &str,
        read: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, MigrateError> {
        let value = self.get(field);
        if value.is_null() {
            return Ok(None);
        }
        let found = read(value).ok_or_else(|| MigrateError::new(self.at(field), what));
        found.map(Some)
    }

    pub(super) fn text(&self, field: &str) -> Result<Option<String>, MigrateError> {
        self.read(field, "is not text", |value| {
            value.as_str().map(str::to_owned)
        })
    }

    pub(super) fn required(&self, field: &str) -> Result<String, MigrateError> {
        self.text(field)?
            .ok_or_else(|| MigrateError::new(self.at(field), "is missing"))
    }

    pub(super) fn flag(&self, field: &str) -> Result<Option<bool>, MigrateError> {
        self.read(field, "is neither true nor false", Value::as_bool)
    }

    pub(super) fn count(&self, field: &str) -> Result<Option<i32>, MigrateError> {
        let read = |value: &Value| {
            i32::try_from(value.as_i64()?)
                .ok()
                .filter(|count| *count >= 0)
        };
        self.read(field, "is not a replica count", read)
    }

    pub(super) fn list(&self, field: &str) -> Result<&'a [Value], MigrateError> {
        let list = self.read(field, "is not a list", |value| {
            value.as_array().map(Vec::as_slice)
        })?;
        Ok(list.unwrap_or_default())
    }

    pub(super) fn reference(&self, field: &str) -> Result<Option<ScaledRef>, MigrateError> {
        if self.get(field).is_null() {
            return Ok(None);
        }
        let known = ["apiVersion", "kind", "name"];
        let fields = ManifestFields::new(self.at(field), self.get(field), &known)?;
        Ok(Some(ScaledRef {
            api_version: fields.text("apiVersion")?,
            kind: fields.required("kind")?,
            name: fields.required("name")?,
        }))
    }
}
