//! The Secret that keeps the certificates which Evenkeel makes itself.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use evenkeel_objects::kinds::Kind;
use evenkeel_objects::object_ref::ObjectRef;
use evenkeel_objects::plan::write::{ObjectChange, WriteOperation};
use serde_json::{Value, json};

pub type Files = BTreeMap<String, Vec<u8>>;

/// The change that makes the Secret; that it exists already is as good.
pub fn create(namespace: &str, name: &str, files: &Files) -> ObjectChange {
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
    change(namespace, name, WriteOperation::Create(body))
}

/// The change that replaces the contents of `resource_version`, and sets or removes annotations.
pub fn replace(
    namespace: &str,
    name: &str,
    resource_version: &str,
    files: &Files,
    annotations: &[(&str, Option<String>)],
) -> ObjectChange {
    let annotations: serde_json::Map<_, _> = annotations
        .iter()
        .map(|(key, value)| ((*key).to_owned(), Value::from(value.clone())))
        .collect();
    let mut patch = json!({
        "metadata": { "resourceVersion": resource_version },
        "data": encoded(files),
    });
    if !annotations.is_empty() {
        patch["metadata"]["annotations"] = annotations.into();
    }
    change(namespace, name, WriteOperation::Merge(patch))
}

/// The change that makes a Secret hold `wanted` and nothing else; `found` is its present version.
pub fn hold(
    namespace: &str,
    name: &str,
    found: Option<(&str, &Files)>,
    wanted: &Files,
) -> Option<ObjectChange> {
    let Some((resource_version, files)) = found else {
        return Some(create(namespace, name, wanted));
    };
    if files == wanted {
        return None;
    }
    let mut data = encoded(wanted);
    for surplus in files.keys().filter(|file| !wanted.contains_key(*file)) {
        data[surplus] = Value::Null;
    }
    let patch = json!({ "metadata": { "resourceVersion": resource_version }, "data": data });
    Some(change(namespace, name, WriteOperation::Merge(patch)))
}

fn change(namespace: &str, name: &str, operation: WriteOperation) -> ObjectChange {
    ObjectChange {
        target: ObjectRef::in_namespace(Kind::Secret, namespace, name),
        operation,
    }
}

fn encoded(files: &Files) -> Value {
    files
        .iter()
        .map(|(file, content)| (file.clone(), Value::from(STANDARD.encode(content))))
        .collect::<serde_json::Map<_, _>>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(all: &[(&str, &str)]) -> Files {
        let owned = |(file, text): &(&str, &str)| ((*file).to_owned(), text.as_bytes().to_vec());
        all.iter().map(owned).collect()
    }

    fn patch(change: Option<ObjectChange>) -> Value {
        match change.map(|change| change.operation) {
            Some(WriteOperation::Merge(patch)) => patch,
            other => panic!("a merge patch, not {other:?}"),
        }
    }

    #[test]
    fn a_secret_is_written_only_where_it_differs_and_keeps_nothing_else() {
        let wanted = files(&[("tls.crt", "new"), ("ca.crt", "a")]);
        assert_eq!(hold("keel", "s", Some(("5", &wanted)), &wanted), None);
        let found = files(&[("tls.crt", "old"), ("ca.crt", "a"), ("ca.key", "secret")]);
        assert_eq!(
            patch(hold("keel", "s", Some(("5", &found)), &wanted)),
            json!({
                "metadata": {"resourceVersion": "5"},
                "data": {"tls.crt": "bmV3", "ca.crt": "YQ==", "ca.key": null},
            })
        );
        let made = hold("keel", "s", None, &wanted).unwrap();
        assert_eq!(made, create("keel", "s", &wanted));
    }

    #[test]
    fn annotations_are_set_and_taken_off_with_the_contents() {
        let annotations = [("a", Some("1".to_owned())), ("b", None)];
        let change = replace("keel", "s", "5", &files(&[("f", "x")]), &annotations);
        assert_eq!(
            patch(Some(change)),
            json!({
                "metadata": {"resourceVersion": "5", "annotations": {"a": "1", "b": null}},
                "data": {"f": "eA=="},
            })
        );
    }
}
