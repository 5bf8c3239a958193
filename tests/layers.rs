//! Holds the house together: who may use whom, what may read the clock or the environment, and what
//! a file looks like.
//!
//! The tiers are read from `src/lib.rs`, where they are declared, so there is one list of them. The
//! checker is a function of text, and tests plant each kind of breach in it: a fence that cannot
//! fail would only look like one. Unit tests at a file's end are free of it.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

#[path = "layers/source.rs"]
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use source::{Named, named_paths, without_tests};

/// Longest file, its unit tests not counted.
const MAX_LINES: usize = 400;

/// Paths, given by how they begin, that tiers up to the given one may not name. A later tier is free
/// to: what stands here is what makes a decision hard to test.
const FENCES: &[(u8, &[&str], &str)] = &[
    (1, &["serde_json"], "numbers know no wire format"),
    (
        2,
        &["kube", "k8s_openapi", "json_patch"],
        "decisions know no Kubernetes types",
    ),
    (
        3,
        &[
            "tokio",
            "tokio_util",
            "tokio_rustls",
            "futures",
            "async_trait",
        ],
        "decisions and translation are synchronous",
    ),
    (
        3,
        &["axum", "hyper", "hyper_util", "tower", "reqwest", "rustls"],
        "sockets belong to tier 4",
    ),
    (
        3,
        &[
            "kube::Client",
            "kube::client",
            "kube::Api",
            "kube::api::Api",
            "kube::runtime",
        ],
        "the client belongs to tier 4",
    ),
    (
        3,
        &[
            "std::fs",
            "std::process",
            "std::thread",
            "std::net::TcpStream",
            "std::net::TcpListener",
            "std::net::UdpSocket",
        ],
        "decisions and translation read nothing but their arguments",
    ),
];

/// Paths, given by how they end, that may be named in the given files only. A trailing `/` stands
/// for everything below a folder.
const PLACES: &[(&[&str], &[&str], &str)] = &[
    (
        &[
            "Instant::now",
            "SystemTime::now",
            "Timestamp::now",
            "Zoned::now",
        ],
        &["src/clock.rs"],
        "time is an argument",
    ),
    (
        &["env::var", "env::var_os", "env::vars", "env::vars_os"],
        &["src/config.rs", "src/config/"],
        "the environment is read in one place",
    ),
    (
        &["env::args", "env::args_os"],
        &["src/main.rs"],
        "arguments are passed in",
    ),
    (
        &["rand::rng", "thread_rng", "rand::random"],
        &[],
        "randomness is seeded and passed in",
    ),
];

/// The tier of each module that `lib` declares.
fn tiers(lib: &str) -> BTreeMap<String, u8> {
    let mut tiers = BTreeMap::new();
    let mut tier = 0;
    for line in lib.lines() {
        if let Some(rest) = line.strip_prefix("// Tier ") {
            tier = rest
                .split(',')
                .next()
                .and_then(|number| number.parse().ok())
                .expect("a tier's comment begins with its number and a comma");
        }
        let module = line.strip_prefix("pub mod ").or(line.strip_prefix("mod "));
        if let Some(module) = module.and_then(|rest| rest.strip_suffix(';')) {
            assert!(tier > 0, "module {module} stands above the first tier");
            tiers.insert(module.to_owned(), tier);
        }
    }
    tiers
}

/// What is wrong with the file at `path`, a line for each.
fn breaches(tiers: &BTreeMap<String, u8>, path: &str, text: &str) -> Vec<String> {
    let mut found = Vec::new();
    if !text.starts_with("//!") {
        found.push(format!(
            "{path}:1: begins without a `//!` that says what it decides"
        ));
    }
    let code = without_tests(text);
    let lines = code.lines().count();
    if lines > MAX_LINES {
        found.push(format!(
            "{path}: {lines} lines, more than {MAX_LINES}: split it by noun"
        ));
    }
    let module = module_path(path);
    let tier = module.first().and_then(|top| tiers.get(top)).copied();
    if module.first().is_some_and(|top| top != "main") && tier.is_none() {
        found.push(format!(
            "{path}: its module stands in no tier of src/lib.rs"
        ));
    }
    for named in named_paths(code) {
        let wrong = [
            tier.and_then(|tier| upward(tiers, tier, &module, &named)),
            tier.and_then(|tier| beyond_fence(tier, &named)),
            out_of_place(path, &named),
        ];
        let shown = named.path.join("::");
        let line = named.line;
        found.extend(
            wrong
                .into_iter()
                .flatten()
                .map(|why| format!("{path}:{line}: `{shown}`: {why}")),
        );
    }
    found
}

/// `src/placement/balance.rs` is `["placement", "balance"]`; `src/lib.rs` is empty.
fn module_path(path: &str) -> Vec<String> {
    let inner = path
        .strip_prefix("src/")
        .and_then(|path| path.strip_suffix(".rs"))
        .expect("sources stand in src/ and end in .rs");
    if inner == "lib" {
        return Vec::new();
    }
    inner.split('/').map(ToOwned::to_owned).collect()
}

fn upward(
    tiers: &BTreeMap<String, u8>,
    tier: u8,
    module: &[String],
    named: &Named,
) -> Option<String> {
    let supers = named
        .path
        .iter()
        .take_while(|part| *part == "super")
        .count();
    let top = match named.path.first()?.as_str() {
        "crate" => named.path.get(1)?,
        "super" if supers == module.len() => named.path.get(supers)?,
        _ => return None,
    };
    match tiers.get(top) {
        Some(used) if *used > tier => Some(format!("tier {tier} uses tier {used}")),
        Some(_) => None,
        None => Some(format!("{top} stands in no tier of src/lib.rs")),
    }
}

fn beyond_fence(tier: u8, named: &Named) -> Option<String> {
    let begins = |fence: &str| {
        let parts: Vec<_> = fence.split("::").collect();
        named.path.len() >= parts.len() && parts.iter().zip(&named.path).all(|(a, b)| a == b)
    };
    FENCES
        .iter()
        .find(|(up_to, paths, _)| tier <= *up_to && paths.iter().any(|path| begins(path)))
        .map(|(_, _, why)| format!("not in tier {tier}: {why}"))
}

fn out_of_place(path: &str, named: &Named) -> Option<String> {
    let shown = named.path.join("::");
    let ends = |tail: &str| shown == tail || shown.ends_with(&format!("::{tail}"));
    PLACES
        .iter()
        .filter(|(tails, _, _)| tails.iter().any(|tail| ends(tail)))
        .find(|(_, files, _)| {
            !files
                .iter()
                .any(|file| path == *file || (file.ends_with('/') && path.starts_with(file)))
        })
        .map(|(_, files, why)| format!("only in {files:?}: {why}"))
}

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            sources(&path, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            found.push(path);
        }
    }
}

#[test]
fn every_source_file_keeps_the_house_rules() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let tiers = tiers(&fs::read_to_string(root.join("src/lib.rs")).unwrap());
    let mut files = Vec::new();
    sources(&root.join("src"), &mut files);
    files.sort();
    assert!(files.len() > 20, "the sources were not found: {files:?}");
    let found: Vec<_> = files
        .iter()
        // `name/tests.rs` is the unit tests of `name.rs`.
        .filter(|file| file.file_name().is_some_and(|name| name != "tests.rs"))
        .flat_map(|file| {
            let path = file
                .strip_prefix(root)
                .unwrap()
                .to_string_lossy()
                .replace('\\', "/");
            breaches(&tiers, &path, &fs::read_to_string(file).unwrap())
        })
        .collect();
    assert!(found.is_empty(), "\n{}", found.join("\n"));
}

#[test]
fn no_module_is_a_mod_rs() {
    let mut files = Vec::new();
    sources(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src"),
        &mut files,
    );
    let found: Vec<_> = files
        .iter()
        .filter(|file| file.ends_with("mod.rs"))
        .collect();
    assert!(found.is_empty(), "name.rs beside name/ instead: {found:?}");
}

/// A house of five tiers with one module each.
fn small_house() -> BTreeMap<String, u8> {
    let lib = "// Tier 1, numbers.\npub mod units;\n\n// Tier 2, decisions.\npub mod placement;\n\n\
               // Tier 3, translation.\npub mod kubernetes;\n\n// Tier 4, I/O.\npub mod clock;\n\
               mod cluster;\n\n// Tier 5, composition.\npub mod cli;\npub mod config;\n";
    tiers(lib)
}

#[test]
fn tiers_are_read_from_the_declarations() {
    let expected = [
        ("cli", 5),
        ("clock", 4),
        ("cluster", 4),
        ("config", 5),
        ("kubernetes", 3),
        ("placement", 2),
        ("units", 1),
    ];
    let expected = expected.map(|(module, tier)| (module.to_owned(), tier));
    assert_eq!(small_house(), BTreeMap::from(expected));
}

/// A file, what stands in it, and what is said of it.
const PLANTED: &[(&str, &str, &str)] = &[
    (
        "src/units.rs",
        "use crate::placement::Policy;",
        "tier 1 uses tier 2",
    ),
    (
        "src/units/ratio.rs",
        "use crate::{units::A, cluster::B};",
        "tier 1 uses tier 4",
    ),
    (
        "src/units/ratio.rs",
        "use super::super::cli::Run;",
        "tier 1 uses tier 5",
    ),
    (
        "src/placement.rs",
        "use super::cluster;",
        "tier 2 uses tier 4",
    ),
    (
        "src/placement.rs",
        "fn f() { crate::cluster::go() }",
        "tier 2 uses tier 4",
    ),
    (
        "src/placement.rs",
        "pub use crate::cluster as c;",
        "tier 2 uses tier 4",
    ),
    (
        "src/cluster.rs",
        "use crate::cli::{self};",
        "tier 4 uses tier 5",
    ),
    ("src/cluster.rs", "use crate::nowhere::A;", "no tier"),
    ("src/nowhere.rs", "", "no tier"),
    ("src/units.rs", "use serde_json::Value;", "not in tier 1"),
    (
        "src/units.rs",
        "use {std::fmt, tokio::sync};",
        "not in tier 1",
    ),
    ("src/units.rs", "use tokio;", "not in tier 1"),
    (
        "src/placement.rs",
        "type P = ::k8s_openapi::Pod;",
        "not in tier 2",
    ),
    (
        "src/placement.rs",
        "fn f(p: &Vec<kube::core::Meta>) {}",
        "not in tier 2",
    ),
    (
        "src/kubernetes.rs",
        "use kube::{Resource, api::{Api, List}};",
        "not in tier 3",
    ),
    (
        "src/kubernetes/pod.rs",
        "fn f(c: kube::Client) {}",
        "not in tier 3",
    ),
    (
        "src/kubernetes.rs",
        "#[axum::debug_handler] fn f() {}",
        "not in tier 3",
    ),
    (
        "src/kubernetes.rs",
        "fn f() { std::fs::read::<P>(x) }",
        "not in tier 3",
    ),
    (
        "src/cluster.rs",
        "fn f() { let t = jiff::Timestamp::now(); }",
        "time is an argument",
    ),
    (
        "src/cluster.rs",
        "fn f() { Instant::now() }",
        "time is an argument",
    ),
    ("src/cluster.rs", "use std::env::var;", "in one place"),
    (
        "src/main.rs",
        "fn f() { std::env::var(\"A\") }",
        "in one place",
    ),
    ("src/cli.rs", "fn f() { rand::rng() }", "seeded"),
];

#[test]
fn planted_breaches_are_found() {
    for (path, code, expected) in PLANTED {
        let found = breaches(&small_house(), path, &format!("//! Says what.\n{code}\n"));
        assert_eq!(found.len(), 1, "{path} {code}: {found:?}");
        assert!(found[0].contains(expected), "{path} {code}: {found:?}");
    }
}

#[test]
fn what_is_allowed_is_let_through() {
    let allowed = [
        ("src/cli.rs", "use crate::{cluster::A, units::{B, C}};"),
        (
            "src/units.rs",
            "pub(crate) fn f() { super::units::g(); self::tokio::h(); }",
        ),
        (
            "src/units/ratio.rs",
            "use super::tokio; // the module units::tokio",
        ),
        (
            "src/units.rs",
            "// use tokio::spawn\n/* kube::Client /* nested */ tokio::x */",
        ),
        (
            "src/units.rs",
            "const A: &str = \"tokio::spawn \\\" kube::Client\";",
        ),
        (
            "src/units.rs",
            "const A: &str = r#\"a \" tokio::spawn\"#; const B: char = '\"';",
        ),
        ("src/units.rs", "fn f<'a>(x: &'a str) -> char { '\\'' }"),
        (
            "src/units.rs",
            "fn f() {}\n\n#[cfg(test)]\nmod tests { use crate::cli::A; }",
        ),
        (
            "src/kubernetes.rs",
            "use kube::{Resource, api::ObjectMeta, core::Object};",
        ),
        ("src/clock.rs", "fn f() { Instant::now() }"),
        (
            "src/config/a.rs",
            "use std::env; fn f() { env::var_os(\"A\") }",
        ),
        ("src/main.rs", "use evenkeel::cli;"),
    ];
    for (path, code) in allowed {
        let found = breaches(&small_house(), path, &format!("//! Says what.\n{code}\n"));
        assert!(found.is_empty(), "{path} {code}: {found:?}");
    }
}

#[test]
fn the_form_of_a_file_is_checked() {
    let house = small_house();
    let found = breaches(&house, "src/units.rs", "use std::fmt;\n");
    assert!(found[0].contains("begins without"), "{found:?}");

    let code = "//! Says what.\n".to_owned() + &"fn f() {}\n".repeat(MAX_LINES - 1);
    let tests = code.clone() + "#[cfg(test)]\nmod tests {\n" + &"\n".repeat(500) + "}\n";
    assert!(breaches(&house, "src/units.rs", &code).is_empty());
    assert!(breaches(&house, "src/units.rs", &tests).is_empty());
    let found = breaches(&house, "src/units.rs", &(code + "fn g() {}\n"));
    assert!(found[0].contains("401 lines"), "{found:?}");
}
