//! The regular expressions of a schema, compiled once. In Kubernetes (Go's RE2) and in
//! `regex-lite`, `\d`, `\w` and `\s` are ASCII. `regex-lite` lacks classes by Unicode property,
//! such as `\p{L}`: a definition with one is refused like one with a broken pattern.

use std::collections::{BTreeSet, HashMap};

use regex_lite::Regex;
use serde_json::Value;

pub(super) type Patterns = HashMap<String, Regex>;

/// Every valid `pattern` in the schema.
pub(super) fn compile(schema: &Value) -> Patterns {
    let mut all = BTreeSet::new();
    texts(schema, "pattern", &mut all);
    let compiled = all
        .into_iter()
        .filter_map(|pattern| Some((pattern.clone(), Regex::new(&pattern).ok()?)));
    compiled.collect()
}

/// All texts under `key` anywhere in the schema.
pub(super) fn texts(schema: &Value, key: &str, found: &mut BTreeSet<String>) {
    match schema {
        Value::Object(fields) => {
            found.extend(fields.get(key).and_then(Value::as_str).map(str::to_owned));
            fields.values().for_each(|inner| texts(inner, key, found));
        }
        Value::Array(items) => items.iter().for_each(|item| texts(item, key, found)),
        _ => {}
    }
}
