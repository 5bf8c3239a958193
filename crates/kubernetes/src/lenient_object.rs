//! One object of a list or a watch, read so that its faults do not affect the others. Evenkeel cuts
//! out the text of each object before it parses it, so one unreadable or deeply nested object does
//! not lose the list. It copies nothing of the text; kube's own guard holds each object two more
//! times.

use std::borrow::Cow;
use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube_core::Resource;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

use crate::json::null_is_default;
use crate::meta::Meta;

/// An object, or what is known of an unreadable one. Only for JSON text; watch events must name
/// their type before their object, as those of API servers do.
#[derive(Debug, Clone)]
pub struct LenientObject<K>(pub Result<K, UnreadableObject>);

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{error}")]
pub struct UnreadableObject {
    /// Name, namespace, uid and resource version, as far as they can be read.
    pub metadata: ObjectMeta,
    /// The fault, in the parser's words.
    pub error: String,
}

/// The items of a list that cannot be read, which leave all others as they are.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UnreadableItems {
    pub count: u64,
    pub first: Option<UnreadableObject>,
}

impl UnreadableItems {
    pub fn add(&mut self, item: UnreadableObject) {
        self.count += 1;
        self.first.get_or_insert(item);
    }

    /// The item, or nothing where it cannot be read and is counted.
    pub fn readable<K>(&mut self, LenientObject(item): LenientObject<K>) -> Option<K> {
        item.map_err(|unreadable| self.add(unreadable)).ok()
    }

    /// These items, or nothing where all can be read.
    #[must_use]
    pub fn any(self) -> Option<Self> {
        (self.count > 0).then_some(self)
    }
}

impl fmt::Display for UnreadableItems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of its items cannot be read", self.count)?;
        let Some(UnreadableObject { metadata, error }) = &self.first else {
            return Ok(());
        };
        let name = metadata.name.as_deref().unwrap_or("one without a name");
        match metadata.namespace.as_deref() {
            Some(namespace) => write!(f, ", the first is {namespace}/{name}: {error}"),
            None => write!(f, ", the first is {name}: {error}"),
        }
    }
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Outline {
    #[serde(deserialize_with = "null_is_default")]
    metadata: Meta,
}

impl<'de, K: DeserializeOwned> Deserialize<'de> for LenientObject<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = <&RawValue>::deserialize(deserializer)?.get();
        Ok(Self(serde_json::from_str(text).map_err(|error| {
            let outline = serde_json::from_str::<Outline>(text).unwrap_or_default();
            UnreadableObject {
                metadata: outline.metadata.identity(),
                error: error.to_string(),
            }
        })))
    }
}

impl<K: Resource> Resource for LenientObject<K> {
    type DynamicType = K::DynamicType;
    type Scope = K::Scope;

    fn kind(resource: &K::DynamicType) -> Cow<'_, str> {
        K::kind(resource)
    }

    fn group(resource: &K::DynamicType) -> Cow<'_, str> {
        K::group(resource)
    }

    fn version(resource: &K::DynamicType) -> Cow<'_, str> {
        K::version(resource)
    }

    fn plural(resource: &K::DynamicType) -> Cow<'_, str> {
        K::plural(resource)
    }

    fn meta(&self) -> &ObjectMeta {
        match &self.0 {
            Ok(object) => object.meta(),
            Err(unreadable) => &unreadable.metadata,
        }
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        match &mut self.0 {
            Ok(object) => object.meta_mut(),
            Err(unreadable) => &mut unreadable.metadata,
        }
    }
}

#[cfg(test)]
mod tests {
    use kube_core::{ObjectList, WatchEvent};

    use super::*;
    use crate::watched_types::{WatchedHorizontalPortrait, WatchedIhpa, WatchedJob, WatchedPod};

    fn nested(levels: usize) -> String {
        format!("{}1{}", r#"{"f:a":"#.repeat(levels), "}".repeat(levels))
    }

    /// The names in a list of one object with these fields and one without any.
    fn listed<K: Resource + Clone + DeserializeOwned>(fields: &str) -> Vec<(String, bool)> {
        let item = |name: &str, fields: &str| {
            format!(r#"{{"metadata": {{"name": "{name}", "namespace": "shop"}}{fields}}}"#)
        };
        let text = format!(
            r#"{{"kind": "List", "apiVersion": "v1", "metadata": {{}}, "items": [{}, {}]}}"#,
            item("bad", fields),
            item("good", "")
        );
        let list: ObjectList<LenientObject<K>> = serde_json::from_str(&text).unwrap();
        let named = list.items.iter().map(|one| {
            let name = one.meta().name.clone().unwrap_or_default();
            (name, one.0.is_ok())
        });
        named.collect()
    }

    /// The harm: one object of one tenant made every later list of its kind fail.
    #[test]
    fn an_object_that_cannot_be_read_is_left_out_of_its_list_alone() {
        for fields in [
            r#", "spec": 5"#.to_owned(),
            format!(r#", "spec": {{"containers": {}}}"#, nested(500)),
        ] {
            let bad = [("bad".to_owned(), false), ("good".to_owned(), true)];
            assert_eq!(listed::<WatchedPod>(&fields), bad, "{fields}");
        }
    }

    #[test]
    fn depth_where_anything_may_stand_hides_no_object() {
        let deep = nested(500);
        let both = [("bad".to_owned(), true), ("good".to_owned(), true)];
        let config = format!(r#", "spec": {{"algorithm": {{"config": {deep}}}}}"#);
        assert_eq!(listed::<WatchedHorizontalPortrait>(&config), both);
        let template = format!(
            r#", "spec": {{"portraitProviders": [{{"type": "Dynamic", "dynamic": {{"algorithm": {{"config": {deep},
                "externalJob": {{"job": {{"cronJob": {{"template": {{"spec": {deep}}}}}}}}}}}}}}}]}}"#
        );
        assert_eq!(listed::<WatchedIhpa>(&template), both);
        // Managed fields, which objects of every kind have.
        let fields = format!(
            r#", "metadata": {{"name": "bad", "managedFields": [{{"manager": "a", "fieldsV1": {deep}}}]}}"#
        );
        let list = |text: &str| {
            let text = format!(r#"{{"type": "ADDED", "object": {{"kind": "Job"{text}}}}}"#);
            let event: WatchEvent<LenientObject<WatchedJob>> = serde_json::from_str(&text).unwrap();
            let WatchEvent::Added(job) = event else {
                panic!("{event:?}")
            };
            job.0.unwrap().metadata.name.unwrap()
        };
        assert_eq!(list(&fields), "bad");
    }
}
