//! The regular expressions of a schema, compiled once.
//!
//! Kubernetes uses Go's RE2, in which `\d`, `\w` and `\s` are ASCII. So are they in `regex-lite`,
//! which in return lacks classes by Unicode property, such as `\p{L}`: a definition with one is
//! refused like one with a broken pattern.

use std::collections::{BTreeSet, HashMap};

use regex_lite::Regex;
use serde_json::Value;

/// Compiled expressions by their text.
pub(super) type Patterns = HashMap<String, Regex>;

/// Compiles every `pattern` in the schema, except those that are not valid.
pub(super) fn compile(schema: &Value) -> Patterns {
    let mut all = BTreeSet::new();
    texts(schema, "pattern", &mut all);
    let compiled = all
        .into_iter()
        .filter_map(|pattern| Some((pattern.clone(), Regex::new(&pattern).ok()?)));
    compiled.collect()
}

/// Collects every text that stands under `key` anywhere in the schema.
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
