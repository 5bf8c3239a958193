//! The Secret that keeps the certificates which Evenkeel makes itself.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use super::write::{Operation, Purpose, Write};
use crate::kinds::Kind;
use crate::object_ref::ObjectRef;

/// Contents by file name.
pub type Files = BTreeMap<String, Vec<u8>>;

/// The write that makes the Secret; that it exists already is as good.
#[must_use]
pub fn create(namespace: &str, name: &str, files: &Files) -> Write {
    let body = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": { "app.kubernetes.io/name": "evenkeel" },
        },
        "type": "Opaque",
        "data": encoded(files),
    });
    write(namespace, name, Operation::Create(body))
}

/// The write that puts other contents in place of those of `resource_version`.
#[must_use]
pub fn replace(namespace: &str, name: &str, resource_version: &str, files: &Files) -> Write {
    let patch = json!({
        "metadata": { "resourceVersion": resource_version },
        "data": encoded(files),
    });
    write(namespace, name, Operation::Merge(patch))
}

fn write(namespace: &str, name: &str, operation: Operation) -> Write {
    let target = ObjectRef::in_namespace(Kind::Secret, namespace, name);
    Write::new(Purpose::Certificates, target, operation)
}

fn encoded(files: &Files) -> Value {
    files
        .iter()
        .map(|(file, content)| (file.clone(), Value::from(STANDARD.encode(content))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}
