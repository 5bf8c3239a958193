//! An object without the parts that nest too deep. A parser refuses deep nesting with everything
//! around it, and the author decides the depth. What Evenkeel restores is near the root, so deeper
//! parts are skipped.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// The deepest nesting that is kept: several times that of a Pod, and less than a parser follows.
const DEEPEST: u8 = 64;

/// An object of any kind, with null for what nests deeper than 64 levels.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct ShallowObject(pub(super) Value);

impl ShallowObject {
    pub(super) fn name(&self) -> &str {
        self.0["metadata"]["name"].as_str().unwrap_or_default()
    }

    /// `None` for an object of the cluster.
    pub(super) fn namespace(&self) -> Option<&str> {
        self.0["metadata"]["namespace"].as_str()
    }
}

impl<'de> Deserialize<'de> for ShallowObject {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Level { left: DEEPEST }.deserialize(deserializer).map(Self)
    }
}

#[derive(Clone, Copy)]
struct Level {
    left: u8,
}

impl Level {
    /// The level of what the value holds; `None` where it may hold nothing.
    fn below(self) -> Option<Self> {
        let left = self.left.checked_sub(1)?;
        Some(Self { left })
    }
}

impl<'de> DeserializeSeed<'de> for Level {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Level {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let Some(below) = self.below() else {
            while seq.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut items = Vec::new();
        while let Some(item) = seq.next_element_seed(below)? {
            items.push(item);
        }
        Ok(items.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let Some(below) = self.below() else {
            while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut fields = Map::new();
        while let Some(key) = map.next_key()? {
            fields.insert(key, map.next_value_seed(below)?);
        }
        Ok(fields.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(flag.into())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(number.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> Value {
        let object: ShallowObject = serde_json::from_str(text).unwrap();
        object.0
    }

    /// The harm: an object with deep managed fields was unreadable, and so was not restored.
    #[test]
    fn what_nests_too_deep_is_null_and_all_else_is_there() {
        for depth in [65, 127, 128, 129, 100_000] {
            for (open, close) in [("[", "]"), (r#"{"f:a":"#, "}")] {
                let deep = format!("{}1{}", open.repeat(depth), close.repeat(depth));
                let text = format!(r#"{{"before": {deep}, "metadata": {{"name": "web"}}}}"#);
                let object = ShallowObject(read(&text));
                assert_eq!(
                    (object.name(), object.namespace()),
                    ("web", None),
                    "{depth}"
                );
            }
        }
        let nested = |depth: usize| format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(read(&nested(64)).to_string(), nested(64));
        assert_eq!(
            read(&nested(65)).to_string(),
            nested(64).replace('1', "null")
        );
        assert!(serde_json::from_str::<ShallowObject>("[1").is_err());
    }

    fn values() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            Just(Value::Null),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            any::<u64>().prop_map(Value::from),
            // Eighths: without `float_roundtrip`, serde_json may read the last digit of others differently.
            any::<i32>().prop_map(|eighths| Value::from(f64::from(eighths) / 8.0)),
            ".*".prop_map(Value::from),
        ];
        leaf.prop_recursive(6, 64, 6, |inner| {
            prop_oneof![
                prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
                prop::collection::btree_map(".*", inner, 0..6).prop_map(|map| json!(map)),
            ]
        })
    }

    proptest! {
        #[test]
        fn an_object_that_is_not_deep_is_read_as_it_is(value in values()) {
            prop_assert_eq!(read(&value.to_string()), value);
        }
    }
}
