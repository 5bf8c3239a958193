//! Each crate uses what the table of ARCHITECTURE.md says.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use super::root;

/// Every crate can use these, so the table leaves them out.
const GROUND: [&str; 3] = ["label-selector", "quantity", "units"];

/// The first and the last crate of decisions in the table.
const PURE: (&str, &str) = ("units", "training");

/// Prefixes of the dependencies that crates of decisions may not use.
const IMPURE: [&str; 18] = [
    "async-",
    "axum",
    "evenkeel-apiserver",
    "evenkeel-clock",
    "evenkeel-http-client",
    "futures",
    "http",
    "hyper",
    "kube-client",
    "kube-runtime",
    "log",
    "opentelemetry",
    "reqwest",
    "rustix",
    "tokio",
    "tonic",
    "tower",
    "tracing",
];

type Names = BTreeSet<String>;

/// The crates of the table, in its order, with what each uses.
fn table() -> Vec<(String, Names)> {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let rows = text
        .lines()
        .skip_while(|line| !line.starts_with("| crate |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let mut table: Vec<(String, Names)> = Vec::new();
    for row in rows {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let name = cells[1].trim_matches('`');
        let name = name.strip_prefix("crates/").unwrap_or(name);
        let listed = cells[3].strip_prefix("all but ").unwrap_or(cells[3]);
        let listed = listed.split(',').map(str::trim);
        let mut uses: Names = listed
            .filter(|name| *name != "none")
            .map(str::to_owned)
            .collect();
        if cells[3].starts_with("all but ") {
            for except in &uses {
                let is_above = table.iter().any(|(name, _)| name == except);
                assert!(is_above, "{name}: {except} is no crate above it");
            }
            let above = table.iter().map(|(name, _)| name);
            let above = above.filter(|name| !GROUND.contains(&name.as_str()));
            uses = above
                .filter(|name| !uses.contains(*name))
                .cloned()
                .collect();
        }
        table.push((name.to_owned(), uses));
    }
    table
}

/// The manifest of a crate.
fn manifest(name: &str) -> String {
    let folder = if name == "src" {
        root().to_path_buf()
    } else {
        root().join("crates").join(name)
    };
    fs::read_to_string(folder.join("Cargo.toml")).unwrap()
}

/// The dependencies in one section of a manifest: one line each, in two plain sections.
fn dependencies(manifest: &str, section: &str) -> Result<Names, String> {
    let mut names = Names::new();
    let mut current = "";
    for line in manifest.lines() {
        if line.trim_start().starts_with('[') {
            current = line;
            let is_plain = ["[dependencies]", "[dev-dependencies]"].contains(&line);
            if line.contains("dependencies") && !is_plain && line != "[workspace.dependencies]" {
                return Err(format!("{line} is no plain section"));
            }
        } else if current.is_empty() {
            if line.contains("dependencies") {
                return Err(format!("{line} stands in no section"));
            }
        } else if current.ends_with("dependencies]") && !line.is_empty() && !line.starts_with('#') {
            let (name, rest) = line
                .split_once(" = ")
                .ok_or_else(|| format!("{line} is no dependency"))?;
            let name = name.strip_suffix(".workspace").unwrap_or(name);
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
            if !name.bytes().all(is_plain) || rest.contains("package") {
                return Err(format!("{line} renames a dependency"));
            }
            if current == section {
                names.insert(name.to_owned());
            }
        }
    }
    Ok(names)
}

fn section_of(name: &str, section: &str) -> Names {
    let read = dependencies(&manifest(name), section);
    read.unwrap_or_else(|error| panic!("{name}: {error}"))
}

fn of_the_workspace(names: &Names) -> Names {
    let own = names
        .iter()
        .filter_map(|name| name.strip_prefix("evenkeel-"));
    own.map(str::to_owned).collect()
}

#[test]
fn each_crate_uses_what_the_table_of_architecture_says() {
    let table = table();
    let mut differences = Vec::new();
    for (name, uses) in &table {
        let found = of_the_workspace(&section_of(name, "[dependencies]"));
        let found: Names = found
            .into_iter()
            .filter(|used| !GROUND.contains(&used.as_str()))
            .collect();
        if found != *uses {
            differences.push(format!(
                "{name} uses {found:?}, and the table says {uses:?}"
            ));
        }
    }
    assert!(differences.is_empty(), "{}", differences.join("\n"));
    let listed: Names = table.into_iter().map(|(name, _)| name).collect();
    let mut there: Names = fs::read_dir(root().join("crates"))
        .unwrap()
        .map(|folder| folder.unwrap().file_name().into_string().unwrap())
        .collect();
    there.insert("src".to_owned());
    assert_eq!(listed, there);
}

#[test]
fn crates_use_only_crates_that_stand_above_them_in_the_table_in_tests_too() {
    let table = table();
    let place: BTreeMap<&str, usize> = table
        .iter()
        .enumerate()
        .map(|(at, (name, _))| (name.as_str(), at))
        .collect();
    for (name, _) in &table {
        for section in ["[dependencies]", "[dev-dependencies]"] {
            for used in of_the_workspace(&section_of(name, section)) {
                let is_below = place[used.as_str()] < place[name.as_str()];
                assert!(is_below, "{name} uses {used} in {section}");
            }
        }
    }
}

#[test]
fn decisions_know_no_client_task_or_log() {
    let table = table();
    let names = table.iter().map(|(name, _)| name.as_str());
    let mut pure: Vec<_> = names.skip_while(|name| *name != PURE.0).collect();
    let end = pure.iter().position(|name| *name == PURE.1).unwrap();
    pure.truncate(end + 1);
    assert!(pure.len() > 10, "{pure:?}");
    pure.extend(GROUND);
    for name in pure {
        for used in section_of(name, "[dependencies]") {
            let is_impure = IMPURE.iter().any(|begin| used.starts_with(begin));
            assert!(!is_impure && used != "kube", "{name} uses {used}");
        }
    }
}

#[test]
fn dependencies_that_would_be_overlooked_are_refused() {
    let plain = "[features]\na = [\"dep:c\"]\n\n[dependencies]\n# a comment\nb.workspace = true\nc = { workspace = true }\n";
    let read = dependencies(plain, "[dependencies]").unwrap();
    assert_eq!(read, Names::from(["b".to_owned(), "c".to_owned()]));
    assert_eq!(dependencies(plain, "[dev-dependencies]"), Ok(Names::new()));
    for planted in [
        "[dependencies.tokio]",
        "[build-dependencies]",
        "[dependencies] # all",
        "  [target.'cfg(unix)'.dependencies]",
        "dependencies.tokio.workspace = true",
        "[dependencies]\n\"tokio\".workspace = true",
        "[dependencies]\na = { path = \"../b\", package=\"tokio\" }",
        "[dependencies]\ntokio=\"1\"",
    ] {
        assert!(
            dependencies(planted, "[dependencies]").is_err(),
            "{planted}"
        );
    }
}
