//! The Helm chart: templates, values and their schema, from the manifests and the fields of the configuration.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use evenkeel_manifests::chart;
use evenkeel_service::config::Config;

use super::super::root;
use super::hold;

/// The files that are written by hand.
const OWN: [&str; 5] = [
    ".helmignore",
    "README.md",
    "templates/NOTES.txt",
    "templates/_helpers.tpl",
    "templates/tests/configuration.yaml",
];

fn collect(folder: &Path, chart: &Path, found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, chart, found);
        } else {
            let inner = path.strip_prefix(chart).unwrap();
            found.insert(inner.to_str().unwrap().to_owned());
        }
    }
}

#[test]
fn the_chart_is_that_of_the_manifests() {
    let files = chart::files(&Config::defaults()).unwrap();
    for (path, made) in &files {
        hold(&format!("deploy/chart/{path}"), made);
    }
    let folder = root().join("deploy/chart");
    let mut there = BTreeSet::new();
    collect(&folder, &folder, &mut there);
    let made = files.keys().map(String::as_str);
    let expected: BTreeSet<&str> = made.chain(OWN).collect();
    assert!(there.iter().eq(expected), "{there:#?}");
}
