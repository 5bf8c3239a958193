//! The page on permissions, made from the roles in the manifests.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::super::root;
use super::{cell, hold};

fn manifests(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            manifests(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "yaml") {
            found.push(path);
        }
    }
}

fn list(rule: &Value, key: &str) -> String {
    let words = rule[key]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str);
    let words: Vec<String> = words
        .map(|word| {
            if word.is_empty() {
                "core".to_owned()
            } else {
                word.to_owned()
            }
        })
        .collect();
    words.join(", ")
}

/// The rows of a role.
fn rows(role: &Value, file: &str, page: &mut String) {
    let name = role["metadata"]["name"].as_str().unwrap_or_default();
    for rule in role["rules"].as_array().into_iter().flatten() {
        let mut what = list(rule, "resources");
        let names = list(rule, "resourceNames");
        if what.is_empty() {
            what = list(rule, "nonResourceURLs");
        }
        if !names.is_empty() {
            let _ = write!(what, " (only {names})");
        }
        let _ = writeln!(
            page,
            "| `{name}` | {} | {} | {} | `{file}` |",
            cell(&list(rule, "apiGroups")),
            cell(&what),
            list(rule, "verbs"),
        );
    }
}

#[test]
fn each_right_has_its_row() {
    let mut files = Vec::new();
    for folder in ["deploy/base", "deploy/components"] {
        manifests(&root().join(folder), &mut files);
    }
    files.sort();
    let mut page = String::from(
        "# Permissions\n\nThe rules of all roles in the manifests. Admission policies restrict several of them further \
         ([install](../start/install.md#what-evenkeel-may-write)).\n\n| role | API groups | resources | verbs | file |\n| --- | --- | --- | --- | --- |\n",
    );
    for file in files {
        let inner = file.strip_prefix(root()).unwrap().display().to_string();
        for document in fs::read_to_string(&file).unwrap().split("\n---\n") {
            let Ok(object) = serde_saphyr::from_str::<Value>(document) else {
                continue;
            };
            if matches!(object["kind"].as_str(), Some("Role" | "ClusterRole")) {
                rows(&object, &inner, &mut page);
            }
        }
    }
    hold("docs/reference/permissions.md", &page);
}
