//! Parsing with the path of what is wrong, and the leniency of Go's JSON. A parser that tracks the
//! path is slower, so only a refused body is parsed a second time to find the path.

use std::fmt;
use std::marker::PhantomData;

use jiff::Timestamp;
use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, de};

use crate::serde_message::reworded;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {message}")]
pub struct ParseError {
    /// Where, such as `spec.containers[0].resources.requests.cpu`; `.` for the body as a whole.
    pub path: String,
    /// The fault in words.
    pub message: String,
}

impl ParseError {
    pub const fn reason(&self) -> &'static str {
        "malformed"
    }
}

/// The object in a JSON body.
///
/// # Errors
/// A [`ParseError`] with the path of the first value that does not parse.
pub fn from_slice<T: DeserializeOwned>(body: &[u8]) -> Result<T, ParseError> {
    serde_json::from_slice(body).map_err(|error| {
        let mut again = serde_json::Deserializer::from_slice(body);
        match serde_path_to_error::deserialize::<_, T>(&mut again) {
            Err(traced) => ParseError {
                path: traced.path().to_string(),
                message: reworded(&traced.inner().to_string()),
            },
            // The object is right, and the text after it is wrong.
            Ok(_) => ParseError {
                path: ".".to_owned(),
                message: reworded(&error.to_string()),
            },
        }
    })
}

/// The merge patch that makes `after` of `before`: what is in the one and not in the other is null.
pub fn merge_patch(before: &serde_json::Value, after: &serde_json::Value) -> serde_json::Value {
    let (Some(old), Some(new)) = (before.as_object(), after.as_object()) else {
        return after.clone();
    };
    let gone = old.keys().filter(|key| !new.contains_key(*key));
    let gone = gone.map(|key| (key.clone(), serde_json::Value::Null));
    let kept = new.iter().filter_map(|(key, value)| match old.get(key) {
        Some(before) if before == value => None,
        Some(before) => Some((key.clone(), merge_patch(before, value))),
        None => Some((key.clone(), value.clone())),
    });
    gone.chain(kept).collect()
}

/// The default where the value is `null`; use with `#[serde(default)]`.
///
/// # Errors
/// Any other value that is no `T`.
pub fn null_is_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de> + Default,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// The value, or `None` if absent or invalid: for fields that must not make an object unreadable.
///
/// # Errors
/// Malformed JSON.
pub fn lenient<'de, D, T>(deserializer: D) -> Result<Option<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    let value = serde_json::Value::deserialize(deserializer)?;
    Ok(T::deserialize(value).ok())
}

/// A time, or `None` if absent or invalid: for times that only show since when something holds.
///
/// # Errors
/// Malformed JSON.
pub fn lenient_time<'de, D>(deserializer: D) -> Result<Option<Timestamp>, D::Error>
where
    D: Deserializer<'de>,
{
    deserializer.deserialize_any(TimeVisitor)
}

/// The methods of a visitor that read `null` and these scalars as one value.
macro_rules! same_for_scalars {
    ($value:expr => $($visit:ident $type:ty),*) => {
        fn visit_unit<E: serde::de::Error>(self) -> Result<Self::Value, E> {
            Ok($value)
        }

        $(fn $visit<E: serde::de::Error>(self, _: $type) -> Result<Self::Value, E> {
            Ok($value)
        })*
    };
}
pub(crate) use same_for_scalars;

struct TimeVisitor;

impl<'de> Visitor<'de> for TimeVisitor {
    type Value = Option<Timestamp>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a time")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<Self::Value, E> {
        Ok(text.parse().ok())
    }

    same_for_scalars!(None => visit_bool bool, visit_i64 i64, visit_u64 u64, visit_f64 f64);

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(None)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        while seq.next_element::<IgnoredAny>()?.is_some() {}
        Ok(None)
    }
}

/// A list in which `null` elements are left out, and `null` for the list means none.
///
/// # Errors
/// No list, or an element that is no `T`.
pub fn list<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: Deserialize<'de>,
{
    deserializer.deserialize_option(ListVisitor(PhantomData))
}

struct ListVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ListVisitor<T> {
    type Value = Vec<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list")
    }

    fn visit_none<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_unit<E: de::Error>(self) -> Result<Self::Value, E> {
        Ok(Vec::new())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_seq(self)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Self::Value, A::Error> {
        let mut values = Vec::with_capacity(seq.size_hint().unwrap_or(0).min(16));
        while let Some(value) = seq.next_element::<Option<T>>()? {
            values.extend(value);
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::Pod;

    #[test]
    fn a_malformed_quantity_is_named_by_its_path() {
        for (body, path, message) in [
            (
                r#"{"spec":{"containers":[{},{"resources":{"requests":{"cpu":"1 core"}}}]}}"#,
                "spec.containers[1].resources.requests.cpu",
                "\"1 core\" is not accepted",
            ),
            (
                r#"{"spec":{"overhead":{"memory":true}}}"#,
                "spec.overhead.memory",
                "a Kubernetes quantity",
            ),
            (r#"{"spec":5}"#, "spec", "5 is not accepted"),
            ("", ".", "EOF"),
            ("{} trailing", ".", "trailing"),
        ] {
            let error = from_slice::<Pod>(body.as_bytes()).expect_err(body);
            assert_eq!(error.path, path, "{error}");
            assert!(error.message.contains(message), "{error}");
        }
    }

    #[test]
    fn times_that_are_none_do_no_harm() {
        for time in [
            "null",
            "5",
            "-5",
            "0.5",
            "true",
            "\"yesterday\"",
            "{\"a\":1}",
            "[1]",
        ] {
            let body = format!(r#"{{"status":{{"startTime":{time},"phase":"Running"}}}}"#);
            let pod: Pod = from_slice(body.as_bytes()).unwrap();
            assert_eq!(pod.status.start_time, None, "{time}");
        }
    }
}
