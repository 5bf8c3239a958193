//! Kinds of custom resources with the subresource `scale`, and the fields that it reads. Evenkeel
//! reads these fields from watched objects, without a call for each object. Templates of Pods,
//! which are most of an object, and deeply nested parts are skipped while parsing.

use std::fmt;

use serde::de::{DeserializeSeed, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

use crate::json::{null_is_default, same_for_scalars};
use crate::meta::Meta;

/// The most keys of a path below `spec` or `status` that are followed.
const DEEPEST: usize = 16;

/// A kind of custom resource. Its names are leaked: few kinds exist, and each is made once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CustomKind(&'static DiscoveredKind);

/// A kind as the API server serves it.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct DiscoveredKind {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    /// The resource as URLs and rights name it.
    pub(crate) plural: String,
    pub(crate) paths: ScalePaths,
}

/// The fields that a Scale is made of, as a definition names them: `.spec.replicas`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct ScalePaths {
    /// The count that is asked for.
    #[serde(rename = "specReplicasPath")]
    pub replicas: String,
    /// The count that there is.
    #[serde(rename = "statusReplicasPath")]
    pub status_replicas: String,
    /// The label selector of its Pods, as a text; a definition may name none.
    #[serde(rename = "labelSelectorPath")]
    pub selector: Option<String>,
}

/// A custom resource, of which fields are read by paths.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CustomObject {
    #[serde(deserialize_with = "null_is_default")]
    pub metadata: Meta,
    #[serde(deserialize_with = "fields")]
    pub(crate) spec: Value,
    #[serde(deserialize_with = "fields")]
    pub(crate) status: Value,
}

impl DiscoveredKind {
    /// The kind by which all else takes it.
    pub fn into_kind(self) -> CustomKind {
        CustomKind(Box::leak(Box::new(self)))
    }
}

impl CustomKind {
    pub(crate) const fn group(self) -> &'static str {
        self.0.group.as_str()
    }

    pub(crate) const fn version(self) -> &'static str {
        self.0.version.as_str()
    }

    pub(crate) const fn kind(self) -> &'static str {
        self.0.kind.as_str()
    }

    /// The resource as URLs and rights name it.
    pub const fn plural(self) -> &'static str {
        self.0.plural.as_str()
    }

    pub(crate) fn count_path(self) -> Vec<&'static str> {
        segments(&self.0.paths.replicas).collect()
    }

    pub const fn paths(self) -> &'static ScalePaths {
        &self.0.paths
    }
}

impl CustomObject {
    pub(crate) fn count(&self, path: &str) -> Option<i32> {
        i32::try_from(self.at(path)?.as_i64()?).ok()
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.at(path)?.as_str()
    }

    fn at(&self, path: &str) -> Option<&Value> {
        let mut keys = segments(path);
        let root = match keys.next()? {
            "spec" => &self.spec,
            "status" => &self.status,
            _ => return None,
        };
        keys.try_fold(root, |value, key| value.get(key))
    }
}

/// The keys of a path; definitions take only simple ones, without lists.
fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

/// Reads what a path can lead to: whole numbers and text, in no list.
fn fields<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Value, D::Error> {
    ScalarFieldsSeed { deeper: DEEPEST }.deserialize(deserializer)
}

/// Reads a value as [`fields`] does, and as many levels below it.
struct ScalarFieldsSeed {
    deeper: usize,
}

impl<'de> DeserializeSeed<'de> for ScalarFieldsSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ScalarFieldsSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    same_for_scalars!(Value::Null => visit_bool bool, visit_f64 f64);

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(number.into())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(text.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        while items.next_element::<IgnoredAny>()?.is_some() {}
        Ok(Value::Null)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let Some(deeper) = self.deeper.checked_sub(1) else {
            while entries.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
            return Ok(Value::Null);
        };
        let mut found = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            let value = entries.next_value_seed(Self { deeper })?;
            if !value.is_null() {
                found.insert(key, value);
            }
        }
        Ok(if found.is_empty() {
            Value::Null
        } else {
            found.into()
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_read_by_the_paths_of_the_definition() {
        let object = json!({"metadata": {"name": "web"},
            "spec": {"replicas": 3, "size": {"workers": 5}, "text": "7", "many": 9_000_000_000_i64},
            "status": {"selector": "app=web"}});
        let object: CustomObject = serde_json::from_value(object).unwrap();
        for (path, count) in [
            (".spec.replicas", Some(3)),
            ("spec.replicas", Some(3)),
            (".spec.size.workers", Some(5)),
            (".spec.size", None),
            (".spec.text", None),
            (".spec.many", None),
            (".spec.none.at.all", None),
            (".status.replicas", None),
            (".metadata.name", None),
            ("", None),
        ] {
            assert_eq!(object.count(path), count, "{path}");
        }
        assert_eq!(object.text(".status.selector"), Some("app=web"));
        let bare: CustomObject = serde_json::from_value(json!({"spec": null})).unwrap();
        assert_eq!(bare.count(".spec.replicas"), None);
    }

    /// The harm: pages of whole objects were held, with the templates of Pods in them.
    #[test]
    fn what_no_path_can_lead_to_is_not_kept() {
        let object = json!({"spec": {"replicas": 3, "paused": true, "weight": 0.5, "none": null,
            "template": {"spec": {"containers": [{"name": "app", "env": [{"name": "a"}]}]}},
            "size": {"workers": 5}}, "status": {"selector": "app=web", "conditions": []}});
        let read: CustomObject = serde_json::from_value(object).unwrap();
        assert_eq!(read.spec, json!({"replicas": 3, "size": {"workers": 5}}));
        assert_eq!(read.status, json!({"selector": "app=web"}));
    }

    /// The harm: serde_json refuses what nests deeper than 128, and with it the whole list.
    #[test]
    fn depth_stops_no_reading() {
        for (open, close) in [(r#"{"a":"#, "}"), ("[", "]")] {
            let deep = format!("{}1{}", open.repeat(500), close.repeat(500));
            let text = format!(r#"{{"spec": {{"replicas": 3, "deep": {deep}}}}}"#);
            serde_json::from_str::<Value>(&text).expect_err("it is too deep for a reader of all");
            let object: CustomObject = serde_json::from_str(&text).unwrap();
            assert_eq!(object.count(".spec.replicas"), Some(3), "{open}");
        }
        let path = ["spec"; DEEPEST].join(".");
        let text = format!("{}7{}", r#"{"spec":"#.repeat(DEEPEST), "}".repeat(DEEPEST));
        let object: CustomObject = serde_json::from_str(&text).unwrap();
        assert_eq!(object.count(&path), Some(7));
    }

    #[test]
    fn kinds_are_the_same_by_what_was_found() {
        let found = |plural: &str| {
            let (group, version) = ("argoproj.io".to_owned(), "v1alpha1".to_owned());
            let (kind, plural) = ("Rollout".to_owned(), plural.to_owned());
            let paths = ScalePaths::default();
            DiscoveredKind {
                group,
                version,
                kind,
                plural,
                paths,
            }
            .into_kind()
        };
        assert_eq!(found("rollouts"), found("rollouts"));
        assert_ne!(found("rollouts"), found("rolls"));
    }
}
