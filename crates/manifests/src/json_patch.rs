//! JSON patches (RFC 6902) on objects with parts that depend on components.

use serde::Deserialize;
use serde_json::Value;

use crate::conditional_part::{ConditionalPart, ManifestPart};

#[derive(Debug, Deserialize)]
#[serde(tag = "op", rename_all = "lowercase", deny_unknown_fields)]
pub(crate) enum JsonPatchOperation {
    Add { path: String, value: Value },
    Replace { path: String, value: Value },
    Remove { path: String },
    Test { path: String, value: Value },
}

enum PatchLocation<'a> {
    Field(&'a mut Vec<(String, ConditionalPart)>, String),
    Item(&'a mut Vec<ConditionalPart>, usize),
    End(&'a mut Vec<ConditionalPart>),
}

/// `cause` is the component of the operations, if any.
///
/// # Errors
/// A path that leads nowhere, a failed test, an index that depends on components, or an insertion
/// before items.
pub(crate) fn apply(
    part: &mut ManifestPart,
    operations: &[JsonPatchOperation],
    cause: Option<&'static str>,
) -> Result<(), String> {
    for operation in operations {
        let (path, done) = match operation {
            JsonPatchOperation::Add { path, value } => {
                (path, add(place(part, path)?, value, cause))
            }
            JsonPatchOperation::Replace { path, value } => {
                (path, replace(place(part, path)?, value, cause))
            }
            JsonPatchOperation::Remove { path } => (path, remove(place(part, path)?, cause)),
            JsonPatchOperation::Test { path, value } => (path, test(place(part, path)?, value)),
        };
        done.map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

fn place<'a>(part: &'a mut ManifestPart, path: &str) -> Result<PatchLocation<'a>, String> {
    let steps: Vec<String> = path
        .split('/')
        .skip(1)
        .map(|step| step.replace("~1", "/").replace("~0", "~"))
        .collect();
    let Some((last, before)) = steps.split_last() else {
        return Err(format!("{path:?} is no path"));
    };
    let nowhere = || format!("{path} leads nowhere");
    let mut part = part;
    for step in before {
        part = match part {
            ManifestPart::Map(_) => &mut part.field_mut(step).ok_or_else(nowhere)?.part,
            ManifestPart::List(items) => {
                let at = index(items, step)?;
                &mut items[at].part
            }
            ManifestPart::Scalar(_) => return Err(nowhere()),
        };
    }
    match part {
        ManifestPart::Map(fields) => Ok(PatchLocation::Field(fields, last.clone())),
        ManifestPart::List(items) => {
            let at = (last != "-").then(|| index(items, last)).transpose()?;
            Ok(match at {
                Some(at) => PatchLocation::Item(items, at),
                None => PatchLocation::End(items),
            })
        }
        ManifestPart::Scalar(_) => Err(nowhere()),
    }
}

/// An index up to which no item depends on a component.
fn index(items: &[ConditionalPart], step: &str) -> Result<usize, String> {
    let at: usize = step.parse().map_err(|_| format!("{step:?} is no index"))?;
    match items.get(..=at) {
        None => Err(format!("there is no item {at}")),
        Some(upto) if upto.iter().all(|item| item.when.is_always()) => Ok(at),
        Some(_) => Err(format!("which item is number {at} depends on components")),
    }
}

fn add(place: PatchLocation<'_>, value: &Value, cause: Option<&'static str>) -> Result<(), String> {
    match place {
        PatchLocation::Field(fields, name) if fields.iter().any(|(key, _)| *key == name) => {
            replace(PatchLocation::Field(fields, name), value, cause)
        }
        PatchLocation::Field(fields, name) => {
            fields.push((name, ConditionalPart::new(value, cause)));
            Ok(())
        }
        PatchLocation::End(items) => {
            items.push(ConditionalPart::new(value, cause));
            Ok(())
        }
        PatchLocation::Item(..) => Err("an insertion before an item is not implemented".to_owned()),
    }
}

fn replace(
    place: PatchLocation<'_>,
    value: &Value,
    cause: Option<&'static str>,
) -> Result<(), String> {
    match place {
        PatchLocation::Field(fields, name) => {
            let at = only(fields, &name)?;
            if let Some(after) = fields[at].1.replace(value, cause) {
                fields.insert(at + 1, (name, after));
            }
        }
        PatchLocation::Item(items, at) => {
            if let Some(after) = items[at].replace(value, cause) {
                items.insert(at + 1, after);
            }
        }
        PatchLocation::End(_) => return Err("there is nothing to replace".to_owned()),
    }
    Ok(())
}

fn remove(place: PatchLocation<'_>, cause: Option<&'static str>) -> Result<(), String> {
    match (place, cause) {
        (PatchLocation::Field(fields, name), _) => {
            let at = only(fields, &name)?;
            match cause {
                Some(component) => fields[at].1.when.require(component, false),
                None => drop(fields.remove(at)),
            }
        }
        (PatchLocation::Item(items, at), Some(component)) => {
            items[at].when.require(component, false);
        }
        (PatchLocation::Item(items, at), None) => drop(items.remove(at)),
        (PatchLocation::End(_), _) => return Err("there is nothing to remove".to_owned()),
    }
    Ok(())
}

fn test(place: PatchLocation<'_>, value: &Value) -> Result<(), String> {
    let choice = match place {
        PatchLocation::Field(fields, name) => {
            let at = only(fields, &name)?;
            &fields[at].1
        }
        PatchLocation::Item(items, at) => &items[at],
        PatchLocation::End(_) => return Err("there is nothing to test".to_owned()),
    };
    let there = choice.part.plain().filter(|_| choice.when.is_always());
    if there.as_ref() == Some(value) {
        Ok(())
    } else {
        Err(format!("{value} was expected"))
    }
}

/// The index of a field that occurs once in a map.
fn only(fields: &[(String, ConditionalPart)], name: &str) -> Result<usize, String> {
    let mut found = (0..fields.len()).filter(|at| fields[*at].0 == name);
    match (found.next(), found.next()) {
        (Some(at), None) => Ok(at),
        (None, _) => Err("there is no such field".to_owned()),
        (Some(_), Some(_)) => Err("which field it is depends on components".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::*;

    fn applied(patches: &[(&'static str, Value)]) -> Result<ManifestPart, String> {
        let mut part =
            ManifestPart::from(&json!({"rules": [{"verbs": "get"}], "tls": {"ca": "own"}}));
        for (component, patch) in patches {
            let operations: Vec<JsonPatchOperation> =
                serde_json::from_value(patch.clone()).unwrap();
            apply(&mut part, &operations, Some(component))?;
        }
        Ok(part)
    }

    #[test]
    fn each_operation_acts_where_its_component_is_on() {
        let part = applied(&[
            ("one", json!([{"op": "add", "path": "/rules/-", "value": {"verbs": "list"}}])),
            ("two", json!([{"op": "replace", "path": "/tls/ca", "value": "given"}])),
            ("three", json!([{"op": "test", "path": "/rules/0/verbs", "value": "get"},
                {"op": "remove", "path": "/tls"}, {"op": "add", "path": "/scheme", "value": "http"}])),
        ])
        .unwrap();
        let with = |on: &[&'static str]| part.with(&on.iter().copied().collect::<BTreeSet<_>>());
        let rules = json!([{"verbs": "get"}]);
        assert_eq!(with(&[]), json!({"rules": rules, "tls": {"ca": "own"}}));
        assert_eq!(with(&["one"])["rules"][1], json!({"verbs": "list"}));
        assert_eq!(with(&["two"])["tls"]["ca"], "given");
        assert_eq!(
            with(&["two", "three"]),
            json!({"rules": rules, "scheme": "http"})
        );
    }

    #[test]
    fn what_depends_on_components_or_is_not_there_is_an_error() {
        let added = (
            "one",
            json!([{"op": "add", "path": "/rules/-", "value": {}}]),
        );
        for patch in [
            json!([{"op": "replace", "path": "/rules/1", "value": {}}]),
            json!([{"op": "add", "path": "/rules/0", "value": {}}]),
            json!([{"op": "test", "path": "/tls/ca", "value": "given"}]),
            json!([{"op": "remove", "path": "/absent"}]),
            json!([{"op": "replace", "path": "/absent/field", "value": 1}]),
        ] {
            let applied = applied(&[added.clone(), ("two", patch.clone())]);
            assert!(applied.is_err(), "{patch}");
        }
        let unknown = json!([{"op": "move", "from": "/tls", "path": "/other"}]);
        assert!(serde_json::from_value::<Vec<JsonPatchOperation>>(unknown).is_err());
    }
}
