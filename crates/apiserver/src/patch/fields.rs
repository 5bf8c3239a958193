//! Sets of managed fields: paths to leaves, with list items named by their keys, and their form in
//! `managedFields`.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use crate::meta;
use crate::patch::merge_keys::{ListKind, Position};

/// As written: `f:name`, `k:{"name":"a"}`, `v:"word"`.
pub(super) type FieldPathElement = String;
pub(super) type Path = Vec<FieldPathElement>;
pub(super) type ManagedFieldSet = BTreeSet<Path>;

/// Written by the server only.
const SYSTEM: [&str; 9] = [
    "name",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "generation",
    "managedFields",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

/// Fields that an object sets. A list of a custom resource is one field.
pub(super) fn of(object: &Value, builtin: bool) -> ManagedFieldSet {
    let mut fields = ManagedFieldSet::new();
    for (name, value) in object.as_object().into_iter().flatten() {
        match name.as_str() {
            "apiVersion" | "kind" => {}
            "metadata" => {
                let inner = value.as_object().into_iter().flatten();
                for (name, value) in inner.filter(|(name, _)| !SYSTEM.contains(&name.as_str())) {
                    let path = vec!["f:metadata".to_owned(), field(name)];
                    collect(
                        value,
                        path,
                        Position::new("metadata", name, true),
                        &mut fields,
                    );
                }
            }
            _ => {
                let at = Position::new("", name, builtin);
                collect(value, vec![field(name)], at, &mut fields);
            }
        }
    }
    fields
}

fn field(name: &str) -> FieldPathElement {
    format!("f:{name}")
}

fn collect(value: &Value, path: Path, at: Position<'_>, fields: &mut ManagedFieldSet) {
    match value {
        Value::Object(inner) if !inner.is_empty() => {
            for (key, value) in inner {
                let path = [path.as_slice(), &[field(key)]].concat();
                collect(value, path, at.child(key), fields);
            }
        }
        Value::Array(items) if !items.is_empty() => match at.list_kind() {
            ListKind::Atomic => drop(fields.insert(path)),
            ListKind::Set => {
                let steps = items.iter().map(|item| format!("v:{item}"));
                fields.extend(steps.map(|step| [path.as_slice(), &[step]].concat()));
            }
            ListKind::Keyed(keys) => {
                for item in items {
                    let path = [path.as_slice(), &[key_step(item, keys)]].concat();
                    fields.insert(path.clone());
                    collect(item, path, at, fields);
                }
            }
        },
        _ => drop(fields.insert(path)),
    }
}

pub(super) fn key_step(item: &Value, keys: &[&str]) -> FieldPathElement {
    let keys: Map<String, Value> = keys
        .iter()
        .map(|&key| {
            let missing = if key == "protocol" {
                json!("TCP")
            } else {
                Value::Null
            };
            (key.to_owned(), item.get(key).cloned().unwrap_or(missing))
        })
        .collect();
    format!("k:{}", Value::Object(keys))
}

pub(super) fn get<'a>(object: &'a Value, path: &[FieldPathElement]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, step| {
        if let Some(name) = step.strip_prefix("f:") {
            return value.get(name);
        }
        let items = value.as_array()?;
        items.iter().find(|item| is_item(item, step))
    })
}

fn is_item(item: &Value, step: &str) -> bool {
    if let Some(word) = step.strip_prefix("v:") {
        return serde_json::from_str(word).is_ok_and(|word: Value| word == *item);
    }
    let keys: Map<String, Value> = step
        .strip_prefix("k:")
        .and_then(|keys| serde_json::from_str(keys).ok())
        .unwrap_or_default();
    let names: Vec<&str> = keys.keys().map(String::as_str).collect();
    !keys.is_empty() && key_step(item, &names) == step
}

pub(super) fn remove(object: &mut Value, path: &[FieldPathElement]) {
    let Some((last, before)) = path.split_last() else {
        return;
    };
    let Some(parent) = get_mut(object, before) else {
        return;
    };
    if let Some(name) = last.strip_prefix("f:") {
        meta::remove(parent, name);
    } else if let Some(items) = parent.as_array_mut() {
        items.retain(|item| !is_item(item, last));
    }
}

fn get_mut<'a>(object: &'a mut Value, path: &[FieldPathElement]) -> Option<&'a mut Value> {
    path.iter().try_fold(object, |value, step| {
        if let Some(name) = step.strip_prefix("f:") {
            return value.get_mut(name);
        }
        value
            .as_array_mut()?
            .iter_mut()
            .find(|item| is_item(item, step))
    })
}

/// For people: `.spec.containers[name="a"].image`.
pub(super) fn display(path: &[FieldPathElement]) -> String {
    let mut text = String::new();
    for step in path {
        match step.split_once(':') {
            Some(("f", name)) => text.extend([".", name]),
            Some(("k", keys)) => {
                let keys: Map<String, Value> = serde_json::from_str(keys).unwrap_or_default();
                let keys: Vec<String> = keys.iter().map(|(k, v)| format!("{k}={v}")).collect();
                text.extend(["[", &keys.join(","), "]"]);
            }
            _ => text.extend(["[", step, "]"]),
        }
    }
    text
}

/// In the form of `managedFields`.
pub(super) fn write(fields: &ManagedFieldSet) -> Value {
    let mut root = json!({});
    for path in fields {
        let mut node = &mut root;
        for step in path {
            node = meta::child(node, step);
        }
        if path.last().is_some_and(|step| step.starts_with("k:")) {
            node["."] = json!({});
        }
    }
    root
}

/// Reads the form of [`write`].
pub(super) fn read(written: &Value) -> ManagedFieldSet {
    let mut fields = ManagedFieldSet::new();
    descend(written, &mut Vec::new(), &mut fields);
    fields
}

fn descend(node: &Value, path: &mut Path, fields: &mut ManagedFieldSet) {
    let Some(children) = node.as_object() else {
        return;
    };
    if (children.is_empty() || children.contains_key(".")) && !path.is_empty() {
        fields.insert(path.clone());
    }
    for (step, child) in children.iter().filter(|(step, _)| *step != ".") {
        path.push(step.clone());
        descend(child, path, fields);
        path.pop();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod() -> Value {
        json!({"kind": "Pod", "metadata": {"name": "a", "labels": {"app": "web"}, "finalizers": ["f"]},
            "spec": {"containers": [{"name": "a", "ports": [{"containerPort": 80}], "args": ["x"]}],
                "nodeSelector": {}}})
    }

    #[test]
    fn fields_are_written_and_read_back() {
        let fields = of(&pod(), true);
        assert_eq!(read(&write(&fields)), fields);
        let shown: Vec<String> = fields.iter().map(|path| display(path)).collect();
        assert!(
            shown.contains(&".spec.containers[name=\"a\"].args".to_owned()),
            "{shown:?}"
        );
        assert!(shown.contains(&".metadata.labels.app".to_owned()));
        assert!(!shown.contains(&".metadata.name".to_owned()));
    }

    #[test]
    fn values_are_found_and_removed_by_their_path() {
        let mut pod = pod();
        for path in of(&pod, true) {
            assert!(get(&pod, &path).is_some(), "{}", display(&path));
        }
        let container = vec![
            "f:spec".to_owned(),
            "f:containers".to_owned(),
            r#"k:{"name":"a"}"#.to_owned(),
        ];
        remove(&mut pod, &container);
        assert_eq!(pod["spec"]["containers"], json!([]));
    }
}
