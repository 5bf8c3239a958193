//! A stored version of an object and its place in a collection.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use serde_json::Value;

use crate::meta;

/// The namespace is empty for cluster-scoped objects.
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

    /// Serialised at the first call.
    pub(crate) fn json(&self) -> Bytes {
        self.json
            .get_or_init(|| self.value.to_string().into())
            .clone()
    }

    pub(crate) fn key(&self) -> ObjectKey {
        ObjectKey::new(meta::namespace(&self.value), meta::name(&self.value))
    }
}

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
