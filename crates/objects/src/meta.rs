//! Metadata of objects, cut down to the fields that rules read.

use std::collections::BTreeMap;
use std::fmt;
use std::ops::{Deref, DerefMut};

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;
use serde::de::{Deserializer, Error, IgnoredAny, MapAccess, Visitor};

use super::annotations;
use super::json::{lenient_time, list, null_is_default};
use super::managed_fields::{self, OwnRecords};

/// The metadata that rules read, with labels as `L` keeps them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(
    default,
    rename_all = "camelCase",
    bound(deserialize = "L: Default + Deserialize<'de>")
)]
pub struct Meta<L = RelevantLabels> {
    /// The name; a new Pod of a controller has none yet.
    pub name: Option<String>,
    /// The prefix from which the API server makes a name where there is none.
    pub generate_name: Option<String>,
    /// The namespace; absent from objects of the cluster, and from Pods in some admission requests.
    pub namespace: Option<String>,
    /// The identity over time; an object of the same name made anew has another.
    pub uid: Option<String>,
    pub resource_version: Option<String>,
    pub generation: Option<i64>,
    /// The annotations that rules read; all others are left out.
    #[serde(deserialize_with = "null_is_default")]
    pub annotations: RelevantAnnotations,
    #[serde(deserialize_with = "null_is_default")]
    pub labels: L,
    /// The records on the object that Evenkeel wrote, by `managedFields`
    /// ([`super::managed_fields`]).
    #[serde(
        rename = "managedFields",
        deserialize_with = "managed_fields::own_records"
    )]
    pub own_records: OwnRecords,
    #[serde(deserialize_with = "list")]
    pub owner_references: Vec<OwnerReference>,
    #[serde(deserialize_with = "lenient_time")]
    pub creation_timestamp: Option<Timestamp>,
    /// The time by which the object is gone; set once it is being deleted.
    #[serde(deserialize_with = "lenient_time")]
    pub deletion_timestamp: Option<Timestamp>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelevantAnnotations {
    read: BTreeMap<String, String>,
    /// True where the object has annotations at all, these or others.
    pub is_there: bool,
}

impl Deref for RelevantAnnotations {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.read
    }
}

impl DerefMut for RelevantAnnotations {
    fn deref_mut(&mut self) -> &mut Self::Target {
        &mut self.read
    }
}

impl<'de> Deserialize<'de> for RelevantAnnotations {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RelevantEntries::deserialize(deserializer).map(|RelevantEntries(read)| Self {
            read,
            is_there: true,
        })
    }
}

/// The labels of an object that rules read; all others are left out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RelevantLabels(BTreeMap<String, String>);

impl Deref for RelevantLabels {
    type Target = BTreeMap<String, String>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl<'de> Deserialize<'de> for RelevantLabels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        RelevantEntries::deserialize(deserializer).map(|RelevantEntries(read)| Self(read))
    }
}

/// All labels of an object, for rules with keys that an operator chooses.
pub type AllLabels = BTreeMap<String, String>;

#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub struct OwnerReference {
    #[serde(deserialize_with = "null_is_default")]
    pub api_version: String,
    #[serde(deserialize_with = "null_is_default")]
    pub kind: String,
    #[serde(deserialize_with = "null_is_default")]
    pub name: String,
    #[serde(deserialize_with = "null_is_default")]
    pub uid: String,
    #[serde(deserialize_with = "null_is_default")]
    pub controller: bool,
}

impl Meta<AllLabels> {
    /// The metadata that rules read of every object, and all labels.
    pub(crate) fn split(self) -> (Meta, AllLabels) {
        let Self {
            name,
            generate_name,
            namespace,
            uid,
            resource_version,
            generation,
            annotations,
            labels,
            own_records,
            owner_references,
            creation_timestamp,
            deletion_timestamp,
        } = self;
        let read = labels.iter().filter(|(key, _)| annotations::is_read(key));
        let read = read
            .map(|(key, value)| (key.clone(), value.clone()))
            .collect();
        let meta = Meta {
            name,
            generate_name,
            namespace,
            uid,
            resource_version,
            generation,
            annotations,
            labels: RelevantLabels(read),
            own_records,
            owner_references,
            creation_timestamp,
            deletion_timestamp,
        };
        (meta, labels)
    }
}

impl Meta {
    /// The value of an annotation that rules read.
    pub fn annotation(&self, key: &str) -> Option<&str> {
        self.annotations.get(key).map(String::as_str)
    }

    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller)
    }

    /// The identity of an object and its version, and its controller.
    pub fn outline(&self) -> Self {
        Self {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            owner_references: self.controller().cloned().into_iter().collect(),
            ..Self::default()
        }
    }

    /// The fields by which a store and its watch know an object.
    pub fn identity(&self) -> ObjectMeta {
        ObjectMeta {
            name: self.name.clone(),
            namespace: self.namespace.clone(),
            uid: self.uid.clone(),
            resource_version: self.resource_version.clone(),
            ..ObjectMeta::default()
        }
    }
}

/// The most annotations or labels that are kept of an object; rules read about fifty. Without a
/// limit, an author could add thousands, and each would take six times its memory in the store.
const MOST_KEYS: usize = 64;
/// The most bytes of kept values of an object: a status, a record and all that users set.
const MOST_BYTES: usize = 64 * 1024;
/// The longest value that is kept, by a byte longer than the longest that any reader takes.
const LONGEST_VALUE: usize = 32 * 1024 + 1;

/// The records of Evenkeel's changes. They are kept whole, beyond [`MOST_KEYS`] and [`MOST_BYTES`]:
/// without a record, Evenkeel cannot undo the change, and a write that replaces a record tests all
/// of its text.
const RECORDS: [&str; 4] = [
    annotations::BOUNDS,
    annotations::RESIZED,
    annotations::DELETION_COST,
    annotations::POD_DELETION_COST,
];

/// A map that keeps only what rules read, at most [`MOST_KEYS`] and [`MOST_BYTES`] beside the
/// [`RECORDS`].
struct RelevantEntries(BTreeMap<String, String>);

impl<'de> Deserialize<'de> for RelevantEntries {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(RelevantVisitor)
    }
}

struct RelevantVisitor;

impl<'de> Visitor<'de> for RelevantVisitor {
    type Value = RelevantEntries;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys with their values")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let (mut kept, mut bytes) = (BTreeMap::new(), 0);
        while let Some(RelevantKey(key)) = map.next_key()? {
            let Some(key) = key else {
                map.next_value::<IgnoredAny>()?;
                continue;
            };
            let Some(mut value) = map.next_value::<Option<String>>()? else {
                continue;
            };
            let is_record = RECORDS.contains(&key.as_str());
            if value.len() > LONGEST_VALUE && !is_record {
                value.truncate(value.floor_char_boundary(LONGEST_VALUE));
                value.shrink_to_fit();
            }
            let is_room = kept.len() < MOST_KEYS && bytes + value.len() <= MOST_BYTES;
            if is_record {
                kept.insert(key, value);
            } else if is_room {
                bytes += value.len();
                kept.insert(key, value);
            }
        }
        Ok(RelevantEntries(kept))
    }
}

/// A key that is only copied where it is kept.
struct RelevantKey(Option<String>);

impl<'de> Deserialize<'de> for RelevantKey {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(KeyVisitor)
    }
}

struct KeyVisitor;

impl Visitor<'_> for KeyVisitor {
    type Value = RelevantKey;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E: Error>(self, key: &str) -> Result<Self::Value, E> {
        Ok(RelevantKey(
            annotations::is_read(key).then(|| key.to_owned()),
        ))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_rules_read_is_kept() {
        let meta: Meta = serde_json::from_value(json!({
            "name": "web-0",
            "annotations": {
                "evenkeel.dev/skip": "true",
                "kubectl.kubernetes.io/last-applied-configuration": {"not": "a text"},
                "kubernetes.io/ingress-bandwidth": "1M",
                "evenkeel.dev/profile": null,
            },
            "labels": {"app": "web", "evenkeel.dev/enabled": "true"},
            "managedFields": 5,
            "creationTimestamp": "2026-01-01T00:00:00Z",
        }))
        .unwrap();
        assert_eq!(meta.annotation("evenkeel.dev/skip"), Some("true"));
        assert_eq!(
            (meta.annotations.len(), meta.annotations.is_there),
            (2, true)
        );
        assert_eq!(meta.labels.len(), 1);
        assert!(meta.creation_timestamp.is_some());
        assert_eq!(meta.identity().name.as_deref(), Some("web-0"));
    }

    /// The harm: annotations with Evenkeel's prefix cost a replica six times their size in the
    /// store.
    #[test]
    fn no_object_makes_its_readers_keep_more_than_so_much() {
        let read = |annotations: BTreeMap<String, String>| -> Meta {
            serde_json::from_value(json!({"annotations": annotations})).unwrap()
        };
        let own = |number: usize| format!("evenkeel.dev/a{number:05}");
        let record = || RECORDS.map(|key| (key.to_owned(), "{}".to_owned()));
        for (keys, longest) in [(20_000, 0), (100, 2000), (10, 32_769), (4, 200_000)] {
            // Two bytes each, so that none ends where it is cut.
            let value = || "é".repeat(longest / 2);
            let texts = (0..keys).map(|number| (own(number), value()));
            let meta = read(texts.chain(record()).collect());
            let bytes: usize = meta.annotations.values().map(String::len).sum();
            assert!(
                meta.annotations.len() <= 68 && bytes <= 64 * 1024 + 8,
                "{keys} {bytes}"
            );
            for key in RECORDS {
                assert_eq!(meta.annotation(key), Some("{}"), "{keys} {key}");
            }
            assert!(meta.annotations.len() > RECORDS.len(), "{keys}");
        }
        let meta = read([(own(0), "x".repeat(40_000))].into());
        assert_eq!(meta.annotation(&own(0)).map(str::len), Some(32_769));
    }

    #[test]
    fn null_equals_absent() {
        let nulls: Meta = serde_json::from_value(json!({
            "name": null, "generateName": null, "namespace": null, "uid": null,
            "resourceVersion": null, "annotations": null, "labels": null,
            "ownerReferences": null, "creationTimestamp": null, "deletionTimestamp": null,
            "managedFields": null,
        }))
        .unwrap();
        assert_eq!(nulls, Meta::default());
    }

    #[test]
    fn the_controller_is_the_owner_that_manages() {
        let meta: Meta = serde_json::from_value(json!({"ownerReferences": [
            null,
            {"kind": "Other", "name": "a", "controller": null},
            {"kind": "ReplicaSet", "name": "b", "controller": true},
        ]}))
        .unwrap();
        assert_eq!(meta.controller().unwrap().name, "b");
    }
}
