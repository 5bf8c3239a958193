//! Namespaces have their name as a label and are kept until they are empty.

use serde_json::{Value, json};

use crate::meta;

pub(super) fn defaults(namespace: &mut Value) {
    let name = meta::name(namespace).to_owned();
    if !meta::is_deleting(namespace) {
        meta::default(
            meta::child(namespace, "spec"),
            "finalizers",
            json!(["kubernetes"]),
        );
    }
    if !name.is_empty() {
        let labels = meta::child(meta::child(namespace, "metadata"), "labels");
        labels["kubernetes.io/metadata.name"] = name.into();
    }
}
