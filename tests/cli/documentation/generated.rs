//! Reference pages that are made from the program, the definitions and the manifests.

mod advice;
mod alerts;
mod api;
mod chart;
mod commands;
mod dashboards;
mod headlamp;
mod permissions;

use std::fs;

use super::root;

/// Holds the page at `path` against `made`, or writes it where that is asked for.
fn hold(path: &str, made: &str) {
    let file = root().join(path);
    if std::env::var_os("EVENKEEL_WRITE_DOCS").is_some() {
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, made).unwrap();
        return;
    }
    let there = fs::read_to_string(&file).unwrap_or_default();
    assert!(
        there == made,
        "{path} differs from what the program says; write it anew by \
         EVENKEEL_WRITE_DOCS=1 cargo test --test cli documentation"
    );
}

/// A text in one cell of a table.
fn cell(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace('|', "\\|")
}
