//! `metadata.managedFields`: whether this program wrote the record on an object, of its bounds or, on a
//! Pod, of its resize.
//!
//! The API server notes for each field who changed it last, by the name that the writer gives
//! itself. Anybody who may write an object may give that name, or clear the list: it tells an
//! annotation that came with a template, a copy or a backup from one that was written here, and is
//! no proof. What a forged record of bounds can do is what its author could write into the spec as well. A
//! resize is a right of its own: `deploy/base/resize-record-guard.yaml` lets nobody without it write a record
//! under this name.
//!
//! The list is larger than all else that is read of an object; so one bit of it is kept, and the
//! rest is skipped while it is parsed. A list of another form claims nothing.

use std::fmt;

use serde::Deserializer;
use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// The name by which the API server knows what this program writes.
pub const MANAGER: &str = "evenkeel";

/// The place of a record in the fields of one entry: at each step the keys that lead there. An object
/// carries no more than one of the two.
const RECORD: [&[&str]; 3] = [
    &["f:metadata"],
    &["f:annotations"],
    &["f:evenkeel.dev/bounds", "f:evenkeel.dev/resized"],
];

/// True where one of the entries says that the record was written by [`MANAGER`].
pub(super) fn held_record<'de, D: Deserializer<'de>>(deserializer: D) -> Result<bool, D::Error> {
    Look::Entries.deserialize(deserializer)
}

/// The part of the list that is looked at.
#[derive(Clone, Copy)]
enum Look {
    Entries,
    Entry,
    /// The name, which has to be that of the manager.
    Manager,
    /// The fields, which have to hold this path.
    Fields(&'static [&'static [&'static str]]),
}

impl<'de> DeserializeSeed<'de> for Look {
    type Value = bool;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<bool, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl Look {
    /// The answer for a value that has nothing in it.
    const fn ends(self) -> bool {
        matches!(self, Self::Fields([]))
    }
}

impl<'de> Visitor<'de> for Look {
    type Value = bool;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("managed fields")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<bool, A::Error> {
        let mut found = self.ends();
        let inner = match self {
            Self::Entries => Self::Entry,
            Self::Entry | Self::Manager | Self::Fields(_) => Self::Fields(&[&["-"]]),
        };
        while let Some(one) = seq.next_element_seed(inner)? {
            found |= one;
        }
        Ok(found)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<bool, A::Error> {
        let (mut ours, mut found) = (false, self.ends());
        while let Some(key) = map.next_key::<std::borrow::Cow<'de, str>>()? {
            match (self, &*key) {
                (Self::Entry, "manager") => ours = map.next_value_seed(Self::Manager)?,
                (Self::Entry, "fieldsV1") => found = map.next_value_seed(Self::Fields(&RECORD))?,
                (Self::Fields([step, rest @ ..]), key) if step.contains(&key) => {
                    found |= map.next_value_seed(Self::Fields(rest))?;
                }
                _ => drop(map.next_value::<IgnoredAny>()?),
            }
        }
        Ok(match self {
            Self::Entry => ours && found,
            Self::Entries | Self::Manager | Self::Fields(_) => found,
        })
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<bool, E> {
        Ok(self.ends() || matches!(self, Self::Manager) && text == MANAGER)
    }

    fn visit_unit<E: Error>(self) -> Result<bool, E> {
        Ok(false)
    }

    fn visit_bool<E: Error>(self, _: bool) -> Result<bool, E> {
        Ok(self.ends())
    }

    fn visit_i64<E: Error>(self, _: i64) -> Result<bool, E> {
        Ok(self.ends())
    }

    fn visit_u64<E: Error>(self, _: u64) -> Result<bool, E> {
        Ok(self.ends())
    }

    fn visit_f64<E: Error>(self, _: f64) -> Result<bool, E> {
        Ok(self.ends())
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ManagedFieldsEntry;
    use serde_json::{Value, json};

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
        for (entries, ours) in [
            (json!([entry("evenkeel", &record)]), true),
            (
                json!([entry("flux", &record), entry("evenkeel", &status)]),
                false,
            ),
            (
                json!([entry("flux", &status), entry("evenkeel", &record)]),
                true,
            ),
            (json!([entry("evenkeel", &resize)]), true),
            (json!([entry("kubectl", &resize)]), false),
            (json!([entry("evenkeel-2", &record)]), false),
            (json!([entry("evenkeel", &status)]), false),
            (
                json!([{"manager": "evenkeel"}, {"fieldsV1": record}]),
                false,
            ),
            (json!([]), false),
        ] {
            let typed: Vec<ManagedFieldsEntry> = serde_json::from_value(entries.clone()).unwrap();
            for text in [
                // As the API server orders the fields of an entry, and by the alphabet.
                entries.to_string(),
                serde_json::to_string(&typed).unwrap(),
            ] {
                let meta: Meta =
                    serde_json::from_str(&format!(r#"{{"managedFields":{text}}}"#)).unwrap();
                assert_eq!(meta.holds_own_record, ours, "{text}");
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
            assert!(!meta.holds_own_record, "{odd}");
        }
    }
}
