//! JSON values that are unknown here, kept verbatim and in no more memory than their text.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::value::{RawValue, to_raw_value};

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct RawBoundsValue(Box<RawValue>);

/// The fields of a JSON object, each as it was written.
pub(super) type RawFields = BTreeMap<String, RawBoundsValue>;

impl RawBoundsValue {
    /// The text of a value; the keys of its maps must be texts.
    pub(super) fn of(value: &impl Serialize) -> Self {
        Self(to_raw_value(value).expect("the keys are texts"))
    }

    pub(super) fn read<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    pub(super) fn fields_without(&self, known: &[&str]) -> RawFields {
        let mut fields: RawFields = self.read().unwrap_or_default();
        fields.retain(|name, _| !known.contains(&name.as_str()));
        fields
    }
}

impl PartialEq for RawBoundsValue {
    fn eq(&self, other: &Self) -> bool {
        self.0.get() == other.0.get()
    }
}

/// Takes a field out; one that is absent or cannot be read is as by default.
pub(super) fn take<T: DeserializeOwned + Default>(fields: &mut RawFields, name: &str) -> T {
    let raw = fields.remove(name);
    raw.and_then(|raw| raw.read().ok()).unwrap_or_default()
}
