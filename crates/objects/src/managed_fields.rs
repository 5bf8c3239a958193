//! `metadata.managedFields`: they show if Evenkeel wrote the records on an object, of its bounds
//! and, on a Pod, of its resize.
//!
//! The API server notes each field's last writer by a name that any writer can give, so the list is
//! no proof. It only separates Evenkeel's annotation from one of a template, a copy or a backup. A
//! forger of bounds could write the same into the spec. A resize needs a right of its own, so
//! `deploy/base/resize-record-guard.yaml` lets only its holders write a record under this name. The
//! list is large, so only a bit for each record is kept. A list of another form claims nothing.

use std::borrow::Cow;
use std::fmt;
use std::ops::{BitAnd, BitOrAssign};

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

use crate::json::same_for_scalars;

pub const MANAGER: &str = "evenkeel";

/// The records on an object that Evenkeel wrote. Each has its own bit: a writer of one record is
/// not trusted for the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnRecords {
    pub bounds: bool,
    pub resize: bool,
}

impl OwnRecords {
    const BOTH: Self = Self {
        bounds: true,
        resize: true,
    };

    /// The record that a key among the annotations of an entry stands for.
    fn of(key: &str) -> Self {
        Self {
            bounds: key == "f:evenkeel.dev/bounds",
            resize: key == "f:evenkeel.dev/resized",
        }
    }
}

impl BitAnd for OwnRecords {
    type Output = Self;

    fn bitand(self, other: Self) -> Self {
        Self {
            bounds: self.bounds && other.bounds,
            resize: self.resize && other.resize,
        }
    }
}

impl BitOrAssign for OwnRecords {
    fn bitor_assign(&mut self, other: Self) {
        self.bounds |= other.bounds;
        self.resize |= other.resize;
    }
}

/// The records that entries say were written by [`MANAGER`].
pub(crate) fn own_records<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<OwnRecords, D::Error> {
    ManagedFieldsLevel::Entries.deserialize(deserializer)
}

#[derive(Clone, Copy)]
enum ManagedFieldsLevel {
    Entries,
    Entry,
    Manager,
    /// The fields, and what leads to the records in them.
    Fields,
    Metadata,
    Annotations,
}

impl<'de> DeserializeSeed<'de> for ManagedFieldsLevel {
    type Value = OwnRecords;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<OwnRecords, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ManagedFieldsLevel {
    type Value = OwnRecords;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<OwnRecords, A::Error> {
        let mut found = OwnRecords::default();
        if matches!(self, Self::Entries) {
            while let Some(one) = seq.next_element_seed(Self::Entry)? {
                found |= one;
            }
        } else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OwnRecords, A::Error> {
        let (mut ours, mut found) = (OwnRecords::default(), OwnRecords::default());
        while let Some(key) = map.next_key::<Cow<'de, str>>()? {
            match (self, &*key) {
                (Self::Entry, "manager") => ours = map.next_value_seed(Self::Manager)?,
                (Self::Entry, "fieldsV1") => found = map.next_value_seed(Self::Fields)?,
                (Self::Fields, "f:metadata") => found |= map.next_value_seed(Self::Metadata)?,
                (Self::Metadata, "f:annotations") => {
                    found |= map.next_value_seed(Self::Annotations)?;
                }
                (Self::Annotations, key) => {
                    found |= OwnRecords::of(key);
                    map.next_value::<IgnoredAny>()?;
                }
                _ => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(match self {
            Self::Entry => ours & found,
            _ => found,
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<OwnRecords, E> {
        let is_name = matches!(self, Self::Manager) && text == MANAGER;
        Ok(if is_name {
            OwnRecords::BOTH
        } else {
            OwnRecords::default()
        })
    }

    same_for_scalars! {
        OwnRecords::default() => visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
    use serde_json::{Value, json};

    use super::OwnRecords;
    use crate::meta::Meta;

    fn entry(manager: &str, fields: &Value) -> Value {
        json!({"manager": manager, "operation": "Update", "apiVersion": "autoscaling/v2",
               "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1", "fieldsV1": fields})
    }

    #[test]
    fn the_writer_of_the_record_is_found_and_nobody_else() {
        let record =
            json!({"f:metadata": {"f:annotations": {".": {}, "f:evenkeel.dev/bounds": {}}}});
        let resize = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/resized": {}}}});
        let status = json!({"f:metadata": {"f:annotations": {"f:evenkeel.dev/scaling-status": {}}},
                            "f:evenkeel.dev/bounds": {}});
        let (bounds, resized, none) = (
            OwnRecords {
                bounds: true,
                ..OwnRecords::default()
            },
            OwnRecords {
                resize: true,
                ..OwnRecords::default()
            },
            OwnRecords::default(),
        );
        for (entries, ours) in [
            // The harm: a writer of one record in this program's name was trusted for the other.
            (
                json!([entry("evenkeel", &record), entry("kubectl", &resize)]),
                bounds,
            ),
            (
                json!([entry("kubectl", &record), entry("evenkeel", &resize)]),
                resized,
            ),
            (json!([entry("evenkeel", &record)]), bounds),
            (
                json!([entry("flux", &record), entry("evenkeel", &status)]),
                none,
            ),
            (
                json!([entry("flux", &status), entry("evenkeel", &record)]),
                bounds,
            ),
            (json!([entry("evenkeel", &resize)]), resized),
            (json!([entry("kubectl", &resize)]), none),
            (json!([entry("evenkeel-2", &record)]), none),
            (json!([entry("evenkeel", &status)]), none),
            (json!([{"manager": "evenkeel"}, {"fieldsV1": record}]), none),
            (json!([]), none),
        ] {
            let typed: Vec<ManagedFieldsEntry> = serde_json::from_value(entries.clone()).unwrap();
            for text in [
                // As the API server orders the fields of an entry, and by the alphabet.
                entries.to_string(),
                serde_json::to_string(&typed).unwrap(),
            ] {
                let meta: Meta =
                    serde_json::from_str(&format!(r#"{{"managedFields":{text}}}"#)).unwrap();
                assert_eq!(meta.own_records, ours, "{text}");
            }
        }
    }

    #[test]
    fn no_object_is_lost_for_a_list_of_another_form() {
        let record = json!({"f:metadata": 5});
        for odd in [
            json!(null),
            json!(5),
            json!(-5),
            json!(0.5),
            json!(true),
            json!("evenkeel"),
            json!({"manager": "evenkeel"}),
            json!([null, 5, [[]], "x"]),
            json!([{"manager": 5, "fieldsV1": [{}]}]),
            json!([entry("evenkeel", &record)]),
        ] {
            let meta: Meta = serde_json::from_value(json!({"name": "a", "managedFields": odd}))
                .expect("an object like any other");
            assert_eq!(meta.own_records, OwnRecords::default(), "{odd}");
        }
    }
}
