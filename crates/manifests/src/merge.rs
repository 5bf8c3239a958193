//! Strategic merge patches, as far as the manifests use them.

use serde_json::{Map, Value};

use crate::conditional_part::{ConditionalPart, ManifestPart};

/// `cause` is the component of the patch, if any.
///
/// # Errors
/// An unimplemented part of the patch: a directive, a null, a list without a known key, or a field
/// that another component writes too.
pub(crate) fn merge(
    part: &mut ManifestPart,
    patch: &Map<String, Value>,
    cause: Option<&'static str>,
) -> Result<(), String> {
    let ManifestPart::Map(fields) = part else {
        return Err("a mapping is merged into something else".to_owned());
    };
    for (name, value) in patch {
        if name.starts_with('$') || value.is_null() {
            return Err(format!("{name}: {value} is not implemented"));
        }
        let found: Vec<usize> = (0..fields.len())
            .filter(|at| fields[*at].0 == *name)
            .collect();
        match found[..] {
            [] => fields.push((name.clone(), ConditionalPart::new(value, cause))),
            [at] => {
                let choice = &mut fields[at].1;
                let after = share(choice, cause)
                    .and_then(|()| merge_choice(choice, name, value, cause))
                    .map_err(|error| format!("{name}: {error}"))?;
                if let Some(after) = after {
                    fields.insert(at + 1, (name.clone(), after));
                }
            }
            _ => return Err(format!("{name} is written by two components")),
        }
    }
    Ok(())
}

/// Adds this component to a list or map of other components; the content stays theirs.
fn share(choice: &mut ConditionalPart, cause: Option<&'static str>) -> Result<(), String> {
    if choice.when.is_always() {
        return Ok(());
    }
    let inner: Vec<&mut ConditionalPart> = match &mut choice.part {
        ManifestPart::Scalar(_) => return Err("it is written by two components".to_owned()),
        ManifestPart::Map(fields) => fields.iter_mut().map(|(_, choice)| choice).collect(),
        ManifestPart::List(items) => items.iter_mut().collect(),
    };
    for inner in inner {
        inner.when = inner.when.and(&choice.when);
    }
    choice.when.or(cause);
    Ok(())
}

/// Merges into one field; returns the replacement for the component being on.
fn merge_choice(
    choice: &mut ConditionalPart,
    name: &str,
    value: &Value,
    cause: Option<&'static str>,
) -> Result<Option<ConditionalPart>, String> {
    match (&mut choice.part, value) {
        (part @ ManifestPart::Map(_), Value::Object(patch)) => {
            merge(part, patch, cause).map(|()| None)
        }
        (ManifestPart::List(items), Value::Array(patch)) => {
            merge_list(items, name, patch, cause).map(|()| None)
        }
        (ManifestPart::Scalar(before), after) if before == after => Ok(None),
        (ManifestPart::Scalar(_), scalar) if !scalar.is_object() && !scalar.is_array() => {
            Ok(choice.replace(scalar, cause))
        }
        _ => Err("the patch is of another shape".to_owned()),
    }
}

/// Merges items with the same key; others come first, as in kustomize.
fn merge_list(
    items: &mut Vec<ConditionalPart>,
    name: &str,
    patch: &[Value],
    cause: Option<&'static str>,
) -> Result<(), String> {
    let key = match name {
        "containers" | "env" | "volumes" => "name",
        "volumeMounts" => "mountPath",
        "ports" => "containerPort",
        _ => return Err("a list without a known key".to_owned()),
    };
    let mut added = Vec::new();
    for value in patch {
        let Some(patch) = value.as_object().filter(|item| item.contains_key(key)) else {
            return Err(format!("an item without {key}"));
        };
        let same = |item: &&mut ConditionalPart| match &item.part {
            ManifestPart::Map(fields) => fields.iter().any(|(name, choice)| {
                name == key && choice.part.plain().as_ref() == patch.get(key)
            }),
            _ => false,
        };
        let mut found: Vec<&mut ConditionalPart> = items.iter_mut().filter(same).collect();
        match &mut found[..] {
            [] => added.push(ConditionalPart::new(value, cause)),
            [item] if item.when.is_always() => merge(&mut item.part, patch, cause)?,
            _ => return Err(format!("{} is written by two components", patch[key])),
        }
    }
    items.splice(0..0, added);
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn merged(object: &Value, patches: &[(&'static str, Value)]) -> Result<ManifestPart, String> {
        let mut part = ManifestPart::from(object);
        for (component, patch) in patches {
            merge(&mut part, patch.as_object().unwrap(), Some(component))?;
        }
        Ok(part)
    }

    #[test]
    fn each_component_has_its_effect_and_nothing_else() {
        let object = json!({"env": [{"name": "A", "value": "1"}], "replicas": 1});
        let part = merged(
            &object,
            &[
                (
                    "one",
                    json!({"env": [{"name": "B", "value": "2"}], "replicas": 2}),
                ),
                ("two", json!({"env": [{"name": "C", "value": "3"}]})),
            ],
        )
        .unwrap();
        assert_eq!(part.with(&BTreeSet::new()), object);
        let one = part.with(&BTreeSet::from(["one"]));
        let expected = json!({
            "env": [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}], "replicas": 2});
        assert_eq!(one, expected);
        let both = part.with(&BTreeSet::from(["one", "two"]));
        assert_eq!(both["env"][0]["name"], "C");
        assert_eq!(both["env"].as_array().unwrap().len(), 3);
    }

    #[test]
    fn what_is_not_implemented_is_an_error() {
        let object = json!({"env": [{"name": "A"}], "args": ["a"], "labels": {"a": "b"}});
        for patch in [
            json!({"$patch": "delete"}),
            json!({"labels": {"a": null}}),
            json!({"args": ["b"]}),
            json!({"env": [{"value": "b"}]}),
            json!({"labels": ["b"]}),
        ] {
            assert!(
                merged(&object, &[("one", patch.clone())]).is_err(),
                "{patch}"
            );
        }
        let twice = [
            ("one", json!({"labels": {"new": "1"}})),
            ("two", json!({"labels": {"new": "2"}})),
        ];
        assert!(
            merged(&object, &twice)
                .unwrap_err()
                .contains("two components")
        );
    }

    #[test]
    fn a_list_that_several_components_bring_is_there_for_each_of_them() {
        let patches = ["one", "two", "three"]
            .map(|name| (name, json!({"env": [{"name": name, "value": "1"}]})));
        let part = merged(&json!({"image": "x"}), &patches).unwrap();
        assert_eq!(part.with(&BTreeSet::new()), json!({"image": "x"}));
        let with = part.with(&BTreeSet::from(["one", "three"]));
        let names = with["env"]
            .as_array()
            .unwrap()
            .iter()
            .map(|item| &item["name"]);
        assert!(names.eq(["three", "one"]), "{with}");
    }
}
