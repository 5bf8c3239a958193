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
