//! The fields that applying an object would change.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// `kubectl apply` keeps the applied object in it.
const APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// Fields that identify items of a list; the first that all items have counts.
const KEYS: [&str; 2] = ["name", "mountPath"];

/// Paths of differing fields. Fields that only the cluster has are defaults or foreign, and count
/// only if `kubectl apply` wrote them before.
pub fn changed_fields(desired: &Value, live: &Value) -> Vec<String> {
    let applied = live["metadata"]["annotations"][APPLIED].as_str();
    let applied = applied.and_then(|text| serde_json::from_str(text).ok());
    let mut changed = Vec::new();
    let mut desired = desired.clone();
    if let Some(fields) = desired.as_object_mut() {
        // The answers of lists leave them out.
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    let applied = applied.unwrap_or(Value::Null);
    compare("", &desired, live, &applied, &mut changed);
    changed.retain(|path| path != "apiVersion" && path != "kind");
    changed
}

fn compare(path: &str, desired: &Value, live: &Value, applied: &Value, changed: &mut Vec<String>) {
    match (desired, live) {
        (Value::Object(desired), Value::Object(live)) => {
            compare_fields(path, desired, live, applied, changed);
        }
        (Value::Array(desired), Value::Array(live)) => {
            compare_items(path, desired, live, applied, changed);
        }
        (Value::Number(desired), Value::Number(live)) if desired.as_f64() == live.as_f64() => {}
        (Value::String(desired), Value::String(live)) => {
            compare_texts(path, desired, live, changed);
        }
        (desired, live) if desired == live || (is_empty(desired) && live.is_null()) => {}
        _ => changed.push(path.to_owned()),
    }
}

/// The API server leaves out empty values.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null | Value::Bool(false) => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(fields) => fields.is_empty(),
        Value::String(text) => text.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    }
}

fn compare_fields(
    path: &str,
    desired: &Map<String, Value>,
    live: &Map<String, Value>,
    applied: &Value,
    changed: &mut Vec<String>,
) {
    for (name, value) in desired {
        let there = live.get(name).unwrap_or(&Value::Null);
        compare(&below(path, name), value, there, &applied[name], changed);
    }
    let before = applied.as_object().into_iter().flat_map(Map::keys);
    let gone = before.filter(|name| !desired.contains_key(*name) && live.contains_key(*name));
    changed.extend(gone.map(|name| below(path, name)));
}

fn compare_items(
    path: &str,
    desired: &[Value],
    live: &[Value],
    applied: &Value,
    changed: &mut Vec<String>,
) {
    let keyed = KEYS.iter().find(|key| {
        let has = |item: &Value| item[**key].is_string();
        !desired.is_empty() && desired.iter().chain(live).all(has)
    });
    let Some(key) = keyed else {
        if desired.len() != live.len() {
            changed.push(path.to_owned());
            return;
        }
        for (at, (desired, live)) in desired.iter().zip(live).enumerate() {
            compare(
                &format!("{path}[{at}]"),
                desired,
                live,
                &applied[at],
                changed,
            );
        }
        return;
    };
    let named =
        |items: &[Value], name: &Value| items.iter().find(|item| item[*key] == *name).cloned();
    let before = applied.as_array();
    for item in desired {
        let name = &item[*key];
        let path = format!("{path}[{}]", name.as_str().unwrap_or_default());
        let before = before
            .and_then(|items| named(items, name))
            .unwrap_or(Value::Null);
        match named(live, name) {
            Some(live) => compare(&path, item, &live, &before, changed),
            None => changed.push(path),
        }
    }
    // Another controller may have added items; without a record of the applied object, all count as
    // ours.
    for item in live {
        let name = &item[*key];
        let was_ours = before.is_none_or(|items| named(items, name).is_some());
        if was_ours && named(desired, name).is_none() {
            changed.push(format!("{path}[{}]", name.as_str().unwrap_or_default()));
        }
    }
}

/// Compares texts that are YAML files by their fields.
fn compare_texts(path: &str, desired: &str, live: &str, changed: &mut Vec<String>) {
    if desired == live {
        return;
    }
    let parse = |text: &str| {
        let options = serde_saphyr::options! { strict_booleans: true };
        let parsed = serde_saphyr::from_str_with_options::<Value>(text, options);
        parsed
            .ok()
            .filter(|value| value.is_object() && text.contains('\n'))
    };
    let (Some(new), Some(old)) = (parse(desired), parse(live)) else {
        changed.push(path.to_owned());
        return;
    };
    let mut fields = Vec::new();
    compare("", &new, &old, &old, &mut fields);
    if fields.is_empty() {
        changed.push(format!("{path} (comments)"));
    }
    let fields: BTreeSet<String> = fields.into_iter().collect();
    changed.extend(fields.into_iter().map(|field| format!("{path}: {field}")));
}

fn below(path: &str, name: &str) -> String {
    if path.is_empty() {
        name.to_owned()
    } else {
        format!("{path}.{name}")
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment() -> Value {
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "a"}, "spec": {
            "replicas": 2, "paused": false, "template": {"spec": {"containers": [
                {"name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}], "args": ["run"]}]}}}})
    }

    #[test]
    fn defaults_of_the_server_and_fields_of_others_are_no_change() {
        let live = json!({"metadata": {"name": "a", "uid": "1", "annotations": {"other": "1"}}, "spec": {
            "replicas": 2.0, "revisionHistoryLimit": 10, "template": {"spec": {"containers": [{
                "name": "a", "image": "a:1", "env": [{"name": "X", "value": "1"}], "args": ["run"],
                "imagePullPolicy": "Always"}]}}}, "status": {}});
        assert_eq!(changed_fields(&deployment(), &live), Vec::<String>::new());
    }

    #[test]
    fn each_change_is_named_by_its_path() {
        let mut live = deployment();
        let container = &mut live["spec"]["template"]["spec"]["containers"][0];
        container["image"] = json!("a:0");
        container["env"] = json!([{"name": "OLD", "value": "1"}]);
        container["args"] = json!(["run", "--fast"]);
        let container = "spec.template.spec.containers[a]";
        let expected =
            ["args", "env[X]", "env[OLD]", "image"].map(|field| format!("{container}.{field}"));
        assert_eq!(changed_fields(&deployment(), &live), expected);
    }

    #[test]
    fn what_kubectl_applied_before_and_is_no_more_is_a_change() {
        let mut live = deployment();
        live["spec"]["minReadySeconds"] = json!(5);
        let containers = live["spec"]["template"]["spec"]["containers"].as_array_mut();
        containers.unwrap().push(json!({"name": "injected"}));
        let mut applied = deployment();
        applied["spec"]["minReadySeconds"] = json!(5);
        live["metadata"]["annotations"] = json!({APPLIED: applied.to_string()});
        assert_eq!(
            changed_fields(&deployment(), &live),
            ["spec.minReadySeconds"]
        );
    }

    #[test]
    fn a_file_in_a_config_map_is_compared_by_its_fields() {
        let map = |text: &str| json!({"data": {"config.yaml": text}});
        let new = map("# new\nwrites: enabled\nscaling: {mode: floor}\n");
        let changed = |text: &str| changed_fields(&new, &map(text));
        let fields = changed("writes: enabled\nscaling: {mode: off}\nlog: {level: debug}\n");
        assert_eq!(
            fields,
            ["data.config.yaml: log", "data.config.yaml: scaling.mode"]
        );
        let fields = changed("writes: enabled\nscaling:\n  mode: floor\n");
        assert_eq!(fields, ["data.config.yaml (comments)"]);
    }
}
