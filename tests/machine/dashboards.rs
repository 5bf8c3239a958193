//! The queries of the Grafana dashboards, read by promtool.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::manifests::read::root;

/// The queries of all panels.
fn queries() -> Vec<String> {
    let mut found = Vec::new();
    for entry in fs::read_dir(root().join("deploy/grafana")).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let dashboard: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
        for panel in dashboard["panels"].as_array().unwrap() {
            // A row has none.
            let targets = panel["targets"].as_array().into_iter().flatten();
            found.extend(targets.map(|target| target["expr"].as_str().unwrap().to_owned()));
        }
    }
    found
}

fn prometheus_reads_the_queries_of_the_dashboards() {
    let queries = queries();
    assert!(queries.len() > 50, "{}", queries.len());
    let rules: Vec<Value> = queries
        .iter()
        .enumerate()
        .map(|(place, query)| {
            let query = query.replace("$namespace", ".*").replace("$name", ".*");
            json!({"record": format!("dashboard:query:{place}"), "expr": query})
        })
        .collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("rules.json");
    let rules = json!({"groups": [{"name": "dashboards", "rules": rules}]});
    fs::write(&file, rules.to_string()).unwrap();
    let output = Command::new("promtool")
        .args(["check", "rules"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
}

crate::support::trial::suite!(
    [crate::support::trial::Requirement::Program("promtool")] => [
        prometheus_reads_the_queries_of_the_dashboards,
    ],
);
