//! A page for each of Evenkeel's own kinds, made from the definitions that are installed.

use std::fmt::Write as _;

use serde_json::Value;

use super::{cell, hold};
use crate::evenkeel;

/// The type of a field in a word, with its values and bounds.
fn type_of(schema: &Value) -> String {
    let text = |key: &str| schema.get(key).and_then(Value::as_str);
    if schema.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        return "quantity or number".to_owned();
    }
    let mut word = match text("type") {
        Some("array") => format!("list of {}", type_of(&schema["items"])),
        Some("object") if schema.get("additionalProperties").is_some() => "map".to_owned(),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    };
    if let Some(format) = text("format") {
        let _ = write!(word, " ({format})");
    }
    if let Some(Value::Array(values)) = schema.get("enum") {
        let values: Vec<String> = values
            .iter()
            .map(|value| format!("`{}`", value.as_str().unwrap_or_default()))
            .collect();
        let _ = write!(word, ": {}", values.join(", "));
    }
    for (key, name) in [
        ("minimum", "at least"),
        ("maximum", "at most"),
        ("minLength", "length at least"),
        ("maxLength", "length at most"),
        ("minItems", "items at least"),
        ("maxItems", "items at most"),
        ("maxProperties", "entries at most"),
    ] {
        if let Some(bound) = schema.get(key) {
            let _ = write!(word, ", {name} {bound}");
        }
    }
    if let Some(pattern) = text("pattern") {
        let _ = write!(word, ", pattern `{pattern}`");
    }
    word
}

/// The rows of a field and of all below it.
fn rows(path: &str, schema: &Value, required: bool, table: &mut String) {
    let schema = if schema["type"] == "array" {
        &schema["items"]
    } else {
        schema
    };
    let _ = required;
    let Some(properties) = schema.get("properties").and_then(Value::as_object) else {
        return;
    };
    let needed: Vec<&str> = schema["required"]
        .as_array()
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    for (name, inner) in properties {
        let here = format!("{path}.{name}");
        let is_needed = needed.contains(&name.as_str());
        let mut meaning = cell(inner["description"].as_str().unwrap_or_default());
        if let Some(default) = inner.get("default") {
            let _ = write!(meaning, " Default: `{default}`.");
        }
        let kind = cell(&type_of(inner));
        let mark = if is_needed { "yes" } else { "" };
        let _ = writeln!(table, "| `{here}` | {kind} | {mark} | {meaning} |");
        let below = if inner["type"] == "array" {
            format!("{here}[]")
        } else {
            here
        };
        rows(&below, inner, is_needed, table);
    }
}

/// The rules of a definition, wherever they stand in it.
fn rules(path: &str, schema: &Value, found: &mut Vec<(String, String)>) {
    for rule in schema["x-kubernetes-validations"]
        .as_array()
        .into_iter()
        .flatten()
    {
        let message = rule["message"]
            .as_str()
            .or(rule["messageExpression"].as_str());
        found.push((path.to_owned(), message.unwrap_or_default().to_owned()));
    }
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        for (name, inner) in properties {
            rules(&format!("{path}.{name}"), inner, found);
        }
    }
    if schema.get("items").is_some_and(Value::is_object) {
        rules(&format!("{path}[]"), &schema["items"], found);
    }
}

fn page(definition: &Value) -> (String, String) {
    let spec = &definition["spec"];
    let kind = spec["names"]["kind"].as_str().unwrap();
    let version = &spec["versions"][0];
    let schema = &version["schema"]["openAPIV3Schema"];
    let mut page = format!(
        "# {kind}\n\n{}\n\n| | |\n| --- | --- |\n| apiVersion | `{}/{}` |\n| short name | `{}` |\n",
        cell(schema["description"].as_str().unwrap_or_default()),
        spec["group"].as_str().unwrap(),
        version["name"].as_str().unwrap(),
        spec["names"]["shortNames"][0].as_str().unwrap_or_default(),
    );
    for part in ["spec", "status"] {
        let inner = &schema["properties"][part];
        if inner.is_null() {
            continue;
        }
        let _ = write!(
            page,
            "\n## {part}\n\n| field | type | required | meaning |\n| --- | --- | --- | --- |\n"
        );
        let mut table = String::new();
        rows(part, inner, false, &mut table);
        page.push_str(&table);
    }
    let mut found = Vec::new();
    rules("spec", &schema["properties"]["spec"], &mut found);
    if !found.is_empty() {
        page.push_str("\n## Validation\n\nThe API server refuses what breaks one of these rules.\n\n| at | message |\n| --- | --- |\n");
        for (path, message) in found {
            let _ = writeln!(page, "| `{path}` | {} |", cell(&message));
        }
    }
    (
        format!("docs/reference/api/{}.md", kind.to_ascii_lowercase()),
        page,
    )
}

#[test]
fn each_kind_has_its_page() {
    let definitions = evenkeel(&["crds"]).stdout;
    let mut seen = 0;
    for document in definitions.split("\n---\n") {
        let definition: Value = serde_saphyr::from_str(document).unwrap();
        if definition["kind"] != "CustomResourceDefinition" {
            continue;
        }
        seen += 1;
        let (path, page) = page(&definition);
        hold(&path, &page);
    }
    assert_eq!(seen, 4);
}
