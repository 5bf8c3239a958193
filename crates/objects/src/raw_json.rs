//! A field in which any JSON may stand, kept as text up to a limit of length and depth. The
//! object's author decides its size: a list of zeros takes sixteen times its text in memory, and a
//! parser refuses deep nesting with everything around it. So the text is copied unparsed, and a
//! longer or deeper value is skipped and marked.

use std::fmt;

use serde::de::{DeserializeSeed, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use serde_json::Value;

/// The most bytes of the text: several times what a CronJob takes.
pub const LONGEST: usize = 32 * 1024;

/// The deepest nesting: several times a CronJob's, and with its surroundings within a parser's
/// limit.
pub const DEEPEST: usize = 64;

pub const ACCEPTED: &str = "at most 32 KiB of JSON that nests at most 64 deep";

#[derive(Debug, Clone)]
pub struct RawJson(Result<Box<str>, TooMuch>);

/// A value that is too long or too deep to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("accepted: {ACCEPTED}")]
pub struct TooMuch;

impl Default for RawJson {
    fn default() -> Self {
        Self(Ok("null".into()))
    }
}

/// The same value is the same in whatever order its keys stand.
impl PartialEq for RawJson {
    fn eq(&self, other: &Self) -> bool {
        self.0 == other.0 || self.value() == other.value()
    }
}

impl Eq for RawJson {}

impl RawJson {
    /// The value.
    ///
    /// # Errors
    /// It was too much to be kept.
    pub fn value(&self) -> Result<Value, TooMuch> {
        let text = self.0.as_ref().map_err(|too_much| *too_much)?;
        serde_json::from_str(text).map_err(|_| TooMuch)
    }

    pub const fn is_too_much(&self) -> bool {
        self.0.is_err()
    }
}

/// A value that was too much is written as null.
impl Serialize for RawJson {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value().unwrap_or_default().serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for RawJson {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Transcript::default();
        let deeper = DEEPEST;
        let part = TranscriptSeed {
            text: &mut text,
            deeper,
        };
        part.deserialize(deserializer)?;
        if text.is_too_much {
            return Ok(Self(Err(TooMuch)));
        }
        let text = String::from_utf8(text.bytes).map_err(de::Error::custom)?;
        Ok(Self(Ok(text.into())))
    }
}

/// The text as far as it is written.
#[derive(Default)]
struct Transcript {
    bytes: Vec<u8>,
    is_too_much: bool,
}

impl Transcript {
    /// Takes a piece, unless it is too much with it.
    fn push(&mut self, piece: &[u8]) {
        self.is_too_much |= self.bytes.len() + piece.len() > LONGEST;
        if self.is_too_much {
            self.bytes = Vec::new();
        } else {
            self.bytes.extend_from_slice(piece);
        }
    }

    /// Ends a list or an object, in which a comma follows each item.
    fn close(&mut self, bracket: &[u8]) {
        if self.bytes.last() == Some(&b',') {
            self.bytes.pop();
        }
        self.push(bracket);
    }

    fn push_value<E: de::Error>(&mut self, value: &(impl Serialize + ?Sized)) -> Result<(), E> {
        if !self.is_too_much {
            let piece = serde_json::to_vec(value).map_err(E::custom)?;
            self.push(&piece);
        }
        Ok(())
    }
}

/// Writes down a value and as many levels below it.
struct TranscriptSeed<'a> {
    text: &'a mut Transcript,
    deeper: usize,
}

impl TranscriptSeed<'_> {
    /// The parts of this one; `None` where they are too deep.
    fn below(&mut self) -> Option<usize> {
        let deeper = self.deeper.checked_sub(1);
        self.text.is_too_much |= deeper.is_none();
        deeper.filter(|_| !self.text.is_too_much)
    }
}

impl<'de> DeserializeSeed<'de> for TranscriptSeed<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for TranscriptSeed<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_bool<E: de::Error>(self, value: bool) -> Result<(), E> {
        self.text.push_value(&value)
    }

    fn visit_i64<E: de::Error>(self, value: i64) -> Result<(), E> {
        self.text.push_value(&value)
    }

    fn visit_u64<E: de::Error>(self, value: u64) -> Result<(), E> {
        self.text.push_value(&value)
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<(), E> {
        self.text.push_value(&value)
    }

    fn visit_str<E: de::Error>(self, value: &str) -> Result<(), E> {
        self.text.push_value(value)
    }

    fn visit_none<E: de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_unit<E: de::Error>(self) -> Result<(), E> {
        self.text.push(b"null");
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut items: A) -> Result<(), A::Error> {
        let Some(deeper) = self.below() else {
            while items.next_element::<IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let Self { text, .. } = self;
        text.push(b"[");
        loop {
            let item = TranscriptSeed {
                text: &mut *text,
                deeper,
            };
            if items.next_element_seed(item)?.is_none() {
                break;
            }
            text.push(b",");
        }
        text.close(b"]");
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut entries: A) -> Result<(), A::Error> {
        let Some(deeper) = self.below() else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(());
        };
        let Self { text, .. } = self;
        text.push(b"{");
        while let Some(key) = entries.next_key::<String>()? {
            text.push_value(&key)?;
            text.push(b":");
            entries.next_value_seed(TranscriptSeed {
                text: &mut *text,
                deeper,
            })?;
            text.push(b",");
        }
        text.close(b"}");
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(text: &str) -> RawJson {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_value_is_kept_as_it_is() {
        for value in [
            json!(null),
            json!([]),
            json!({}),
            json!([[], [{}], null, [1, -2, 0.5, true]]),
            json!({"a\n\"": {"b": ["c", {}], "d": u64::MAX}, "e": i64::MIN, "ü": "\u{1}"}),
        ] {
            let free = read(&value.to_string());
            assert_eq!(free.value(), Ok(value.clone()));
            assert_eq!(serde_json::to_value(&free).unwrap(), value);
            let again: RawJson = serde_json::from_value(value).unwrap();
            assert_eq!(again, free);
        }
        assert_eq!(RawJson::default(), read("null"));
        assert_eq!(read(r#"{"b": 1, "a": 2}"#), read(r#"{"a": 2, "b": 1}"#));
        assert_ne!(read(r#"{"a": 1}"#), read(r#"{"a": 2}"#));
    }

    #[test]
    fn what_is_too_long_or_too_deep_is_skipped_and_known_as_that() {
        let deep = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        let long = |bytes: usize| format!("\"{}\"", "a".repeat(bytes - 2));
        let zeros = |many: usize| format!("[{}0]", "0,".repeat(many));
        for (text, is_too_much) in [
            (deep(DEEPEST), false),
            (deep(DEEPEST + 1), true),
            (deep(5000), true),
            (format!("{{\"a\": {}, \"b\": 1}}", deep(500)), true),
            (long(LONGEST), false),
            (long(LONGEST + 1), true),
            (zeros(LONGEST / 2 - 2), false),
            (zeros(700_000), true),
        ] {
            let both: (RawJson, u8) = serde_json::from_str(&format!("[{text}, 7]")).unwrap();
            assert_eq!(both.0.is_too_much(), is_too_much, "{text:.40}");
            assert_eq!(both.0.value().is_err(), is_too_much);
            assert_eq!(both.1, 7, "what follows is read");
        }
    }
}
