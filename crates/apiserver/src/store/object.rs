//! A stored version of an object and its place in a collection.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use crate::meta;

/// Namespace (empty for cluster-scoped objects) and name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct ObjectKey {
    pub(crate) namespace: String,
    pub(crate) name: String,
}

impl ObjectKey {
    pub(crate) fn new(namespace: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// One version of an object.
#[derive(Debug)]
pub(crate) struct StoredObject {
    pub(crate) value: Value,
    pub(crate) version: u64,
    json: OnceLock<Bytes>,
}

impl StoredObject {
    pub(super) fn new(mut value: Value, version: u64) -> Arc<Self> {
        meta::child(&mut value, "metadata")["resourceVersion"] = version.to_string().into();
        Arc::new(Self {
            value,
            version,
            json: OnceLock::new(),
        })
    }

    /// The object as JSON, made at the first call.
    pub(crate) fn json(&self) -> Bytes {
        self.json
            .get_or_init(|| self.value.to_string().into())
            .clone()
    }

    /// The namespace and name of the object.
    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::new(meta::namespace(&self.value), meta::name(&self.value))
    }
}

/// The place of an object in the store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Location {
    pub(crate) collection: Arc<str>,
    pub(crate) key: ObjectKey,
}

impl Location {
    pub(crate) fn new(collection: &Arc<str>, key: ObjectKey) -> Self {
        Self {
            collection: Arc::clone(collection),
            key,
        }
    }
}
