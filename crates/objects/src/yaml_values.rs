//! Values as people write them in files: texts that look like numbers (`cpu: 4` is a YAML number,
//! `cpu: 4m` a text), and amounts of the five resources.

use std::fmt;

use evenkeel_units::{Amount, AmountError, Resource, Resources};
use jiff::SignedDuration;
use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, Serialize, de};

/// A text that may be written without quotes although it looks like a number.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(transparent)]
pub struct YamlText(pub String);

impl From<&str> for YamlText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl From<SignedDuration> for YamlText {
    fn from(duration: SignedDuration) -> Self {
        Self(format!("{duration:#}"))
    }
}

impl AsRef<str> for YamlText {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

impl<'de> Deserialize<'de> for YamlText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;

        impl Visitor<'_> for TextVisitor {
            type Value = YamlText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<YamlText, E> {
                Ok(YamlText(text.to_owned()))
            }

            fn visit_u64<E: de::Error>(self, number: u64) -> Result<YamlText, E> {
                Ok(YamlText(number.to_string()))
            }

            fn visit_i64<E: de::Error>(self, number: i64) -> Result<YamlText, E> {
                Ok(YamlText(number.to_string()))
            }

            fn visit_f64<E: de::Error>(self, number: f64) -> Result<YamlText, E> {
                Ok(YamlText(number.to_string()))
            }
        }

        deserializer.deserialize_any(TextVisitor)
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(
    rename_all = "camelCase",
    deny_unknown_fields,
    default,
    expecting = "a mapping from resources to amounts"
)]
pub struct AmountTexts {
    cpu: Option<YamlText>,
    memory: Option<YamlText>,
    network_io: Option<YamlText>,
    disk_io: Option<YamlText>,
    disk: Option<YamlText>,
}

impl AmountTexts {
    /// The amounts, or the error with the text that is none; `None` for what is not written.
    pub fn parse(&self) -> Resources<Option<Result<Amount, (AmountError, &str)>>> {
        let Self {
            cpu,
            memory,
            network_io,
            disk_io,
            disk,
        } = self;
        let texts = Resources::new([cpu, memory, network_io, disk_io, disk]);
        Resources::from_fn(|resource: Resource| {
            let text = texts[resource].as_ref()?.as_ref();
            Some(resource.parse_amount(text).map_err(|error| (error, text)))
        })
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
            assert_eq!(
                from_value::<YamlText>(written).unwrap(),
                YamlText::from(text)
            );
        }
        assert!(from_value::<YamlText>(json!([])).is_err());
    }

    #[test]
    fn each_amount_is_read_in_the_unit_of_its_resource() {
        let written = json!({"cpu": 1.5, "memory": "1Ki", "networkIo": "8kbps", "disk": "lots"});
        let texts: AmountTexts = from_value(written).unwrap();
        let parsed = texts.parse();
        let good = |resource| parsed[resource].clone().and_then(Result::ok);
        assert_eq!(good(Resource::Cpu), Some(Amount::new(1500)));
        assert_eq!(good(Resource::Memory), Some(Amount::new(1024)));
        assert_eq!(good(Resource::NetworkIo), Some(Amount::new(1000)));
        assert_eq!(parsed[Resource::DiskIo], None);
        let refused = parsed[Resource::Disk].clone().unwrap().unwrap_err();
        assert_eq!(refused.1, "lots");
    }
}
