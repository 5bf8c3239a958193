//! Strategic merge patches, which know keyed lists, with the directives of `kubectl apply` and
//! `kubectl edit`.

use serde_json::{Map, Value};

use crate::patch::merge_keys;
use crate::patch::merge_keys::ListKind;

const DIRECTIVE: &str = "$patch";
const RETAIN: &str = "$retainKeys";
const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

pub(super) fn merge(target: &mut Value, patch: &Value) -> Result<(), String> {
    let Some(patch) = patch.as_object() else {
        return Err("the patch is not an object".to_owned());
    };
    merge_map(target, patch, "")
}

fn merge_map(target: &mut Value, patch: &Map<String, Value>, parent: &str) -> Result<(), String> {
    match patch.get(DIRECTIVE).and_then(Value::as_str) {
        Some("replace") => {
            let kept = patch.iter().filter(|(key, _)| *key != DIRECTIVE);
            *target = Value::Object(kept.map(|(k, v)| (k.clone(), v.clone())).collect());
            return Ok(());
        }
        Some("delete") => {
            *target = Value::Object(Map::new());
            return Ok(());
        }
        Some("merge") | None => {}
        Some(other) => return Err(format!("unknown directive $patch: {other}")),
    }
    if !target.is_object() {
        *target = Value::Object(Map::new());
    }
    let Some(fields) = target.as_object_mut() else {
        return Ok(());
    };
    if let Some(Value::Array(kept)) = patch.get(RETAIN) {
        fields.retain(|key, _| kept.iter().any(|name| name == key));
    }
    for (key, value) in patch {
        if key == DIRECTIVE || key == RETAIN || key.starts_with(ORDER) {
            continue;
        }
        if let Some(field) = key.strip_prefix(DELETE) {
            remove_words(fields.get_mut(field), value);
            continue;
        }
        match value {
            Value::Null => drop(fields.remove(key)),
            Value::Object(inner) => {
                let field = fields.entry(key.as_str()).or_insert(Value::Null);
                merge_map(field, inner, key)?;
                if inner
                    .get(DIRECTIVE)
                    .is_some_and(|directive| directive == "delete")
                {
                    fields.remove(key);
                }
            }
            Value::Array(items) => {
                let order = patch.get(&format!("{ORDER}{key}"));
                let field = fields.entry(key.as_str()).or_insert(Value::Null);
                merge_list(field, items, order, merge_keys::of(parent, key), key)?;
            }
            other => drop(fields.insert(key.clone(), other.clone())),
        }
    }
    reorder_untouched(fields, patch, parent);
    Ok(())
}

fn remove_words(list: Option<&mut Value>, words: &Value) {
    if let (Some(Value::Array(list)), Value::Array(words)) = (list, words) {
        list.retain(|word| !words.contains(word));
    }
}

/// The order of a list without changed items.
fn reorder_untouched(fields: &mut Map<String, Value>, patch: &Map<String, Value>, parent: &str) {
    for (key, order) in patch {
        let Some(field) = key
            .strip_prefix(ORDER)
            .filter(|field| !patch.contains_key(*field))
        else {
            continue;
        };
        if let Some(Value::Array(list)) = fields.get_mut(field) {
            reorder(list, order, merge_keys::of(parent, field));
        }
    }
}

fn merge_list(
    target: &mut Value,
    items: &[Value],
    order: Option<&Value>,
    kind: ListKind,
    field: &str,
) -> Result<(), String> {
    let replaces = |item: &Value| item[DIRECTIVE] == "replace";
    if kind == ListKind::Atomic || items.iter().any(replaces) {
        let kept = items.iter().filter(|item| !replaces(item));
        *target = Value::Array(kept.cloned().collect());
        return Ok(());
    }
    if !target.is_array() {
        *target = Value::Array(Vec::new());
    }
    let Some(list) = target.as_array_mut() else {
        return Ok(());
    };
    for item in items {
        match kind {
            ListKind::Keyed(keys) => merge_item(list, item, keys[0], field)?,
            _ if list.contains(item) => {}
            _ => list.push(item.clone()),
        }
    }
    if let Some(order) = order {
        reorder(list, order, kind);
    }
    Ok(())
}

fn merge_item(list: &mut Vec<Value>, item: &Value, key: &str, field: &str) -> Result<(), String> {
    let (Some(patch), Some(id)) = (item.as_object(), item.get(key)) else {
        return Err(format!(
            "an item of {field} does not contain the merge key {key}"
        ));
    };
    let position = list
        .iter()
        .position(|existing| existing.get(key) == Some(id));
    if item[DIRECTIVE] == "delete" {
        list.retain(|existing| existing.get(key) != Some(id));
        return Ok(());
    }
    if let Some(position) = position {
        return merge_map(&mut list[position], patch, field);
    }
    let mut new = Value::Null;
    merge_map(&mut new, patch, field)?;
    list.push(new);
    Ok(())
}

/// Orders items as in the patch; unnamed items stay behind them.
fn reorder(list: &mut [Value], order: &Value, kind: ListKind) {
    let order = order.as_array().map_or(&[][..], Vec::as_slice);
    list.sort_by_key(|item| {
        let same = |wanted: &Value| match kind {
            ListKind::Keyed(keys) => wanted.get(keys[0]) == item.get(keys[0]),
            _ => wanted == item,
        };
        order.iter().position(same).unwrap_or(order.len())
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn merged(mut target: Value, patch: &Value) -> Value {
        merge(&mut target, patch).expect("a good patch");
        target
    }

    #[test]
    fn keyed_lists_merge_and_others_are_replaced() {
        let target = json!({"spec": {"containers": [
            {"name": "a", "image": "1", "args": ["x", "y"], "env": [{"name": "K", "value": "1"}]},
            {"name": "b", "image": "1"}]}});
        let patch = json!({"spec": {"containers": [
            {"name": "a", "image": "2", "args": ["z"], "env": [{"name": "L", "value": "2"}]},
            {"name": "b", "$patch": "delete"},
            {"name": "c", "image": "3"}]}});
        let expected = json!({"spec": {"containers": [
            {"name": "a", "image": "2", "args": ["z"],
                "env": [{"name": "K", "value": "1"}, {"name": "L", "value": "2"}]},
            {"name": "c", "image": "3"}]}});
        assert_eq!(merged(target, &patch), expected);
    }

    #[test]
    fn directives_do_what_kubectl_means() {
        for (target, patch, expected) in [
            (
                json!({"spec": {"strategy": {"type": "R", "rollingUpdate": {"x": 1}}}}),
                json!({"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}),
                json!({"spec": {"strategy": {"type": "Recreate"}}}),
            ),
            (
                json!({"metadata": {"finalizers": ["a", "b"]}}),
                json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"], "finalizers": ["c"]}}),
                json!({"metadata": {"finalizers": ["b", "c"]}}),
            ),
            (
                json!({"spec": {"volumes": [{"name": "a"}]}}),
                json!({"spec": {"volumes": [{"$patch": "replace"}, {"name": "b"}]}}),
                json!({"spec": {"volumes": [{"name": "b"}]}}),
            ),
            (
                json!({"spec": {"containers": [{"name": "a"}, {"name": "b"}]}}),
                json!({"spec": {"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]}}),
                json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}}),
            ),
            (
                json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
                json!({"metadata": {"labels": {"a": null, "$patch": "merge"}}}),
                json!({"metadata": {"labels": {"b": "2"}}}),
            ),
            (
                json!({"status": {"conditions": [{"type": "Ready", "status": "False", "reason": "r"}]}}),
                json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}}),
                json!({"status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}}),
            ),
        ] {
            assert_eq!(merged(target, &patch), expected);
        }
    }

    #[test]
    fn an_item_without_its_key_is_refused() {
        let mut target = json!({});
        let patch = json!({"spec": {"containers": [{"image": "x"}]}});
        assert!(merge(&mut target, &patch).is_err());
    }
}
