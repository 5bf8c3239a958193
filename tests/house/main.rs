//! Checks the structure of the sources: each crate uses what the table of ARCHITECTURE.md says, imports between
//! files and folders point one way, and clock, environment and arguments are each read in one place.
//!
//! The sources are parsed, so that a path in a comment or a literal counts for nothing, and re-exports
//! are followed to the file that defines a name. The checks are functions of text, and each kind of
//! breach is planted in a small house of its own: a fence that cannot fail would only look like one.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

mod circles;
mod dependencies;
mod graph;
mod names;
mod types;

use std::fs;
use std::path::{Path, PathBuf};

use circles::{between_files, between_folders};
use graph::Graph;
use names::Source;

/// Longest file, its unit tests not counted.
const MOST_LINES: usize = 400;

/// Paths, given by how they end, that only the given files name, and why.
const PLACES: [(&[&str], &[&str], &str); 3] = [
    (
        &[
            "Instant::now",
            "SystemTime::now",
            "Timestamp::now",
            "Zoned::now",
        ],
        &["crates/clock/src/lib.rs", "crates/apiserver/src/clock.rs"],
        "time is an argument",
    ),
    (
        &["env::var", "env::var_os", "env::vars", "env::vars_os"],
        &["crates/service/src/config.rs", "crates/service/src/config/"],
        "the environment is read in one place",
    ),
    (
        &["env::args", "env::args_os"],
        &["src/main.rs"],
        "arguments are passed in",
    ),
];

/// Paths, given by how they begin, that no file of these folders names but those of the others, and
/// why.
const FENCES: [Fence; 2] = [
    Fence {
        heads: &["std::fs", "std::net", "std::process", "std::thread"],
        within: &[
            "crates/api/",
            "crates/certificates/",
            "crates/cron/",
            "crates/disk-io/",
            "crates/forecast/",
            "crates/hpa/",
            "crates/label-selector/",
            "crates/metrics/",
            "crates/objects/",
            "crates/placement/",
            "crates/quantity/",
            "crates/replica-profile/",
            "crates/scaling/",
            "crates/tuning/",
            "crates/units/",
        ],
        but: &[],
        why: "decisions do no I/O",
    },
    Fence {
        heads: &["serde_json"],
        within: &[
            "crates/cron/",
            "crates/forecast/",
            "crates/replica-profile/src/decision/",
            "crates/scaling/src/recommend/",
            "crates/scaling/src/recommend.rs",
            "crates/scaling/src/merge.rs",
            "crates/scaling/src/stability/",
            "crates/scaling/src/staged_change/",
            "crates/scaling/src/tracker/",
            "crates/tuning/src/decision/",
            "crates/units/",
        ],
        but: &[],
        why: "decisions know no wire format",
    },
];

struct Fence {
    heads: &'static [&'static str],
    within: &'static [&'static str],
    but: &'static [&'static str],
    why: &'static str,
}

impl Fence {
    /// True where this file must not name this path.
    fn stops(&self, file: &str, path: &str) -> bool {
        let names_it = self.heads.iter().any(|head| {
            let rest = path.strip_prefix(head);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        });
        let begins = |folder: &&'static str| file.starts_with(folder);
        names_it && self.within.iter().any(begins) && !self.but.iter().any(begins)
    }
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

/// The crates of the workspace: name in paths, and folder.
fn crates() -> Vec<(String, PathBuf)> {
    let mut crates = vec![("evenkeel".to_owned(), root().join("src"))];
    for entry in fs::read_dir(root().join("crates")).unwrap() {
        let folder = entry.unwrap();
        let name = folder.file_name().into_string().unwrap().replace('-', "_");
        crates.push((format!("evenkeel_{name}"), folder.path().join("src")));
    }
    crates.sort();
    crates
}

/// Every source of the workspace but unit tests in files of their own.
fn sources() -> Vec<Source> {
    let mut sources = Vec::new();
    for (name, folder) in crates() {
        let mut found = Vec::new();
        files(&folder, &mut found);
        found.sort();
        for file in found {
            let inner = file.strip_prefix(&folder).unwrap();
            if inner.components().any(|part| part.as_os_str() == "tests")
                || inner.file_stem().is_some_and(|stem| stem == "tests")
            {
                continue;
            }
            let path = file.strip_prefix(root()).unwrap();
            let text = fs::read_to_string(&file).unwrap();
            sources.push(Source::read(
                &name,
                &path.to_string_lossy().replace('\\', "/"),
                &inner.to_string_lossy().replace('\\', "/"),
                &text,
            ));
        }
    }
    assert!(sources.len() > 100, "the sources were not found");
    sources
}

#[test]
fn files_import_each_other_in_one_direction() {
    let circles = between_files(&Graph::new(&sources()));
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn folders_import_each_other_in_one_direction() {
    let circles = between_folders(&Graph::new(&sources()));
    assert!(circles.is_empty(), "\n{}", circles.join("\n"));
}

#[test]
fn types_have_names_of_the_field() {
    let found = types::breaches(&sources());
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_file_keeps_the_rules_of_form() {
    let found: Vec<String> = sources().iter().flat_map(breaches).collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn every_test_that_the_threat_model_names_is_there() {
    let model = fs::read_to_string(root().join("docs/project/threat-model.md")).unwrap();
    let named: Vec<&str> = tests_named_in(&model).collect();
    assert!(named.len() > 20, "{named:?}");
    let mut found = Vec::new();
    for folder in ["src", "crates", "tests"] {
        files(&root().join(folder), &mut found);
    }
    let texts: Vec<String> = found
        .iter()
        .map(|file| fs::read_to_string(file).unwrap())
        .collect();
    let is_there = |name: &str| {
        let head = format!("fn {name}(");
        texts.iter().any(|text| text.contains(&head))
    };
    let gone: Vec<&str> = named.into_iter().filter(|name| !is_there(name)).collect();
    assert!(gone.is_empty(), "{gone:?}");
}

/// Cargo runs no function with an attribute of a test in a program with a `main` of its own.
#[test]
fn programs_with_lists_of_tests_have_no_attribute_that_runs_nothing() {
    let mut found = Vec::new();
    for folder in ["tests/scenarios", "tests/machine", "crates/apiserver/tests"] {
        files(&root().join(folder), &mut found);
    }
    for shared in ["scaling_store", "writes"] {
        found.push(root().join(format!("tests/whole/{shared}.rs")));
    }
    assert!(found.len() > 40, "{found:?}");
    let attribute = |line: &str| line.starts_with("#[test]") || line.starts_with("#[tokio::test");
    for file in found {
        let text = fs::read_to_string(&file).unwrap();
        let dead = text
            .lines()
            .map(str::trim_start)
            .find(|line| attribute(line));
        assert_eq!(dead, None, "{}: name it in `suite!`", file.display());
    }
}

/// The names of tests in a text: in backticks, of four words or more with `_` between them.
fn tests_named_in(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2).filter(|name| {
        let is_plain =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_';
        name.bytes().all(is_plain) && name.matches('_').count() >= 3
    })
}

#[test]
fn names_of_tests_are_told_from_other_code() {
    let text = "`a_test_of_this_kind`, `evenkeel_leader`, `kubectl apply`, a_bare_name_not_meant";
    let named: Vec<&str> = tests_named_in(text).collect();
    assert_eq!(named, ["a_test_of_this_kind"]);
}

/// Breaches of a file's form, of the places where clock, environment and arguments are read, and of
/// the fences.
fn breaches(source: &Source) -> Vec<String> {
    let path = &source.path;
    let mut found = Vec::new();
    if !source.has_header {
        found.push(format!(
            "{path}: begins without a `//!` that tells its purpose"
        ));
    }
    if source.lines > MOST_LINES {
        let lines = source.lines;
        found.push(format!(
            "{path}: {lines} lines, more than {MOST_LINES}: split it by noun"
        ));
    }
    if path.ends_with("/mod.rs") {
        found.push(format!("{path}: name.rs beside name/ instead"));
    }
    for (tails, places, why) in PLACES {
        let allowed = places
            .iter()
            .any(|place| path == place || (place.ends_with('/') && path.starts_with(place)));
        for named in &source.named {
            let shown = named.join("::");
            let names_it = tails
                .iter()
                .any(|tail| shown == *tail || shown.ends_with(&format!("::{tail}")));
            if names_it && !allowed {
                found.push(format!("{path}: `{shown}`: only in {places:?}: {why}"));
            }
        }
    }
    for named in &source.named {
        let shown = named.join("::");
        let stopping = FENCES.iter().filter(|fence| fence.stops(path, &shown));
        found.extend(stopping.map(|fence| format!("{path}: `{shown}`: {}", fence.why)));
    }
    found
}

/// A house of the given files, by path and text, in the crate `evenkeel`.
fn house(files: &[(&str, &str)]) -> Vec<Source> {
    files
        .iter()
        .map(|(inner, text)| {
            let folder = if *inner == "main.rs" {
                ""
            } else {
                "crates/service/"
            };
            Source::read(
                "evenkeel",
                &format!("{folder}src/{inner}"),
                inner,
                &format!("//! A file.\n{text}"),
            )
        })
        .collect()
}

#[test]
fn circles_that_are_planted_are_found() {
    let planted: [&[(&str, &str)]; 5] = [
        &[
            ("a.rs", "use crate::b::B; pub struct A;"),
            ("b.rs", "use crate::a::A; pub struct B;"),
        ],
        // Through a parent that only hands on.
        &[
            ("lib.rs", "mod p;"),
            ("p.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
            ("p/a.rs", "use super::B; pub struct A;"),
            ("p/b.rs", "fn f() { super::A::g() } pub struct B;"),
        ],
        // A child that takes what its parent defines, while the parent calls the child.
        &[
            ("p.rs", "mod a; pub struct P; fn f() { a::g() }"),
            ("p/a.rs", "use super::P; pub fn g() {}"),
        ],
        // By the name of a module.
        &[
            ("a.rs", "use crate::b; fn f() -> b::B { todo() }"),
            ("b.rs", "type T = crate::a::A; pub struct B;"),
        ],
        // Of three.
        &[
            ("a.rs", "use crate::{b::B}; pub struct A;"),
            ("b.rs", "use crate::c::*; pub struct B;"),
            ("c.rs", "impl crate::a::A {} pub struct C;"),
        ],
    ];
    for files in planted {
        let circles = between_files(&Graph::new(&house(files)));
        assert_eq!(circles.len(), 1, "{files:?}: {circles:?}");
    }
    // No two files are in a circle here, but the two folders are.
    let folders = house(&[
        ("a/one.rs", "use crate::b::two::Two;"),
        ("b/two.rs", "pub struct Two;"),
        ("b/three.rs", "use crate::a::four::Four;"),
        ("a/four.rs", "pub struct Four;"),
    ]);
    let graph = Graph::new(&folders);
    assert_eq!(between_files(&graph), Vec::<String>::new());
    assert_eq!(between_folders(&graph).len(), 1);
}

#[test]
fn arrows_that_point_one_way_are_let_through() {
    let house = house(&[
        ("lib.rs", "mod p; pub use p::A;"),
        ("p.rs", "mod a; mod b; pub use a::A; pub use b::B;"),
        (
            "p/a.rs",
            "use super::b::B; // use crate::q::Q\n pub struct A; const T: &str = \"crate::q::Q\";",
        ),
        (
            "p/b.rs",
            "pub struct B; #[cfg(test)] mod tests { use super::super::a::A; }",
        ),
        (
            "q.rs",
            "use crate::p::{self, A}; fn f(_: p::B) {} pub struct Q;",
        ),
    ]);
    let graph = Graph::new(&house);
    assert_eq!(between_files(&graph), Vec::<String>::new());
    assert_eq!(between_folders(&graph), Vec::<String>::new());
}

#[test]
fn breaches_of_form_that_are_planted_are_found() {
    let long = "fn f() {}\n".repeat(MOST_LINES);
    let tests = format!(
        "fn f() {{}}\n#[cfg(test)]\nmod tests {{\n{}}}\n",
        "\n".repeat(500)
    );
    for (inner, text, expected) in [
        (
            "a.rs",
            "fn f() { jiff::Timestamp::now(); }",
            Some("time is an argument"),
        ),
        (
            "a.rs",
            "use std::time::Instant; fn f() { Instant::now(); }",
            Some("time is an argument"),
        ),
        ("a.rs", "use std::env::var;", Some("in one place")),
        (
            "main.rs",
            "fn f() { std::env::var(\"A\"); }",
            Some("in one place"),
        ),
        ("a.rs", "fn f() { std::env::args(); }", Some("passed in")),
        ("a/mod.rs", "", Some("beside name/")),
        ("a.rs", &long, Some("split it")),
        ("a.rs", &tests, None),
        (
            "config/a.rs",
            "use std::env; fn f() { env::var_os(\"A\"); }",
            None,
        ),
        ("main.rs", "fn f() { std::env::args(); }", None),
    ] {
        let found = breaches(&house(&[(inner, text)])[0]);
        let right = expected.map_or(found.is_empty(), |expected| {
            found.len() == 1 && found[0].contains(expected)
        });
        assert!(right, "{inner} {text:.60}: {found:?}");
    }
    let bare = Source::read("evenkeel", "src/a.rs", "a.rs", "fn f() {}\n");
    assert!(breaches(&bare)[0].contains("begins without"));
}

#[test]
fn paths_over_a_fence_are_found() {
    for (path, text, stopped) in [
        ("crates/scaling/src/a.rs", "use std::fs::read;", true),
        (
            "crates/objects/src/a.rs",
            "fn f() { std::thread::spawn(f); }",
            true,
        ),
        ("crates/sandbox/src/a.rs", "use std::fs::read;", false),
        ("crates/units/src/a.rs", "use serde_json::Value;", true),
        ("crates/objects/src/a.rs", "use serde_json::Value;", false),
    ] {
        let source = Source::read("evenkeel", path, "a.rs", &format!("//! A file.\n{text}"));
        assert_eq!(!breaches(&source).is_empty(), stopped, "{path}: {text}");
    }
}
