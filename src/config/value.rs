//! Leaf types of the file as it is written, before anything is checked.
//!
//! They exist for their messages: serde's own would tell an operator to expect an `f64`.

use std::fmt;

use jiff::SignedDuration;
use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize};

/// A text that may be written without quotes although it looks like a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Text(pub(crate) String);

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<SignedDuration> for Text {
    fn from(duration: SignedDuration) -> Self {
        Self(format!("{duration:#}"))
    }
}

impl AsRef<str> for Text {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl Visitor<'_> for TextVisitor {
            type Value = Text;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Text, E> {
                Ok(Text(text.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Text, E> {
                Ok(Text(number.to_string()))
            }
        }

        deserializer.deserialize_any(TextVisitor)
    }
}

/// A number, whole or not.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(transparent)]
pub(crate) struct Number(pub(crate) f64);

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct NumberVisitor;

        impl Visitor<'_> for NumberVisitor {
            type Value = Number;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a number")
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<Number, E> {
                Ok(Number(number))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Number, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<Number, E> {
                self.visit_str(&number.to_string())
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Number, E> {
                text.parse()
                    .map(Number)
                    .map_err(|_| E::invalid_value(de::Unexpected::Str(text), &self))
            }
        }

        deserializer.deserialize_any(NumberVisitor)
    }
}

/// A whole number that counts something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub(crate) struct Count(pub(crate) u32);

impl<'de> Deserialize<'de> for Count {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct CountVisitor;

        impl Visitor<'_> for CountVisitor {
            type Value = Count;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a whole number from 0 to 4294967295")
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<Count, E> {
                u32::try_from(number)
                    .map(Count)
                    .map_err(|_| E::invalid_value(de::Unexpected::Unsigned(number), &self))
            }
        }

        deserializer.deserialize_any(CountVisitor)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json};

    use super::*;

    #[test]
    fn a_text_may_look_like_a_number() {
        for (written, text) in [
            (json!("3Mi"), "3Mi"),
            (json!(3_145_728), "3145728"),
            (json!(-1), "-1"),
            (json!(0.5), "0.5"),
        ] {
            assert_eq!(from_value::<Text>(written).unwrap(), Text::from(text));
        }
        assert!(from_value::<Text>(json!([])).is_err());
    }

    #[test]
    fn messages_say_what_is_accepted() {
        let message = from_value::<Number>(json!("high")).unwrap_err().to_string();
        assert!(message.contains("expected a number"), "{message}");
        let message = from_value::<Count>(json!(-1)).unwrap_err().to_string();
        assert!(message.contains("a whole number from 0"), "{message}");
        assert_eq!(from_value::<Number>(json!(3)).unwrap(), Number(3.0));
    }
}
