//! The documentation, held against the program: links, commands, lengths, and the reference pages.
//!
//! Pages that can be made from the code are made here. `EVENKEEL_WRITE_DOCS=1 cargo test --test cli
//! documentation` writes them anew; without the variable a page that differs fails the test.

mod commands;
mod generated;
mod links;
mod reference;
mod sentences;

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn text(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// README and all pages below `docs`, by their paths from the root.
fn pages() -> Vec<String> {
    let mut found = vec!["README.md".to_owned()];
    collect(&root().join("docs"), &mut found);
    found.sort();
    found
}

fn collect(folder: &Path, found: &mut Vec<String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path: PathBuf = entry.unwrap().path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.extension().is_some_and(|ending| ending == "md") {
            let inner = path.strip_prefix(root()).unwrap();
            found.push(inner.to_str().unwrap().to_owned());
        }
    }
}

/// The code blocks of a page: the word after the opening fence, and the lines.
fn code_blocks(page: &str) -> Vec<(String, Vec<&str>)> {
    let mut blocks: Vec<(String, Vec<&str>)> = Vec::new();
    let mut is_open = false;
    for line in page.lines() {
        match line.trim_start().strip_prefix("```") {
            Some(_) if is_open => is_open = false,
            Some(language) => {
                is_open = true;
                blocks.push((language.to_owned(), Vec::new()));
            }
            None if is_open => blocks.last_mut().unwrap().1.push(line),
            None => {}
        }
    }
    blocks
}

/// A page without its code blocks.
fn prose(page: &str) -> String {
    let mut is_code = false;
    let mut kept = String::new();
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            is_code = !is_code;
        } else if !is_code {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept
}

#[test]
fn pages_keep_their_lengths() {
    let readme = text("README.md");
    assert!(readme.lines().count() <= 250, "README.md");
    for page in pages() {
        let most = match page.split('/').nth(1) {
            Some("concepts") => 1200,
            Some("howto") => 800,
            _ => continue,
        };
        let words = prose(&text(&page)).split_whitespace().count();
        assert!(words <= most, "{page} has {words} words; at most {most}");
    }
}

#[test]
fn every_page_stands_in_the_summary() {
    let summary = text("docs/SUMMARY.md");
    for page in pages() {
        let Some(inner) = page.strip_prefix("docs/") else {
            continue;
        };
        let is_named = inner == "SUMMARY.md" || summary.contains(&format!("({inner})"));
        assert!(is_named, "{page} is not in docs/SUMMARY.md");
    }
}
