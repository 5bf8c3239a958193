//! Reads the name of a node object from its raw text without parsing the rest. Node objects have
//! some 6 KB. Go writes `metadata.name` first, so reading stops within the first bytes; other
//! orders are read as far as needed.

use std::borrow::Cow;
use std::fmt;

use serde::de::{Deserialize, DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor};

/// `metadata.name` of a JSON object; `None` when it has none.
pub(super) fn read(object: &str) -> Option<Cow<'_, str>> {
    let mut found = None;
    let mut deserializer = serde_json::Deserializer::from_str(object);
    // An error stops the reading once the name is known: the text was checked to be JSON when it
    // was cut out of the body, and the rest does not matter.
    let _ = JsonPathVisitor {
        path: &["metadata", "name"],
        found: &mut found,
    }
    .deserialize(&mut deserializer);
    found
}

/// Walks down `path` and stores the string at its end.
struct JsonPathVisitor<'p, 'f, 'de> {
    path: &'p [&'static str],
    found: &'f mut Option<Cow<'de, str>>,
}

impl<'de> DeserializeSeed<'de> for JsonPathVisitor<'_, '_, 'de> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        if self.path.is_empty() {
            *self.found = Some(BorrowedText::deserialize(deserializer)?.0);
            return Ok(());
        }
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for JsonPathVisitor<'_, '_, 'de> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with metadata.name")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let Some((wanted, rest)) = self.path.split_first() else {
            return Ok(());
        };
        while let Some(key) = map.next_key::<BorrowedText<'de>>()? {
            if key.0 != *wanted {
                map.next_value::<IgnoredAny>()?;
                continue;
            }
            map.next_value_seed(JsonPathVisitor {
                path: rest,
                found: &mut *self.found,
            })?;
            if self.found.is_some() {
                return Err(serde::de::Error::custom("found"));
            }
        }
        Ok(())
    }
}

#[derive(serde::Deserialize)]
#[serde(transparent)]
struct BorrowedText<'a>(#[serde(borrow)] Cow<'a, str>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_is_found_wherever_it_stands() {
        for (object, name) in [
            (
                r#"{"metadata":{"name":"a","labels":{"name":"no"}},"spec":{}}"#,
                Some("a"),
            ),
            (
                r#"{"spec":{"name":"no"},"metadata":{"uid":"1","name":"a"}}"#,
                Some("a"),
            ),
            (r#"{"metadata":{"labels":{"name":"no"}},"name":"no"}"#, None),
            (r#"{"metadata":{"name":null}}"#, None),
            (r#"{"metadata":null}"#, None),
            (r#"{"metadata":{"name":"\u0061\"b"}}"#, Some("a\"b")),
            ("[]", None),
            ("\"metadata\"", None),
        ] {
            assert_eq!(read(object).as_deref(), name, "{object}");
        }
    }
}
