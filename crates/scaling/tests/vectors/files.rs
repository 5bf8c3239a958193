//! Vector files: those beside the tests, and those of the folder `EVENKEEL_EXTRA_VECTORS` names.
//!
//! The folder is laid out as `fixtures/vectors` is, and may hold files of other subjects, or gzipped
//! ones. It must hold some case that is known, or it is not the folder that was meant.

#![allow(clippy::print_stdout)] // how many cases ran is part of what these tests report

use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use serde::Deserialize;
use serde::de::DeserializeOwned;

/// Every vector file that some test of this project reads.
const KNOWN: [&str; 15] = [
    "forecast/adaptive_alpha",
    "forecast/arima",
    "forecast/brown_tes",
    "forecast/dhpa_threshold",
    "forecast/elasticnet",
    "forecast/gru",
    "forecast/hpa_aware",
    "hpa/behavior_random",
    "hpa/behavior_upstream",
    "hpa/replicas_random",
    "hpa/replicas_upstream",
    "hpa/scenarios_random",
    "hpa/scenarios_upstream",
    "scheduling/ahp",
    "scheduling/clbp",
];

/// The environment variable that names a folder with further vectors.
const EXTRA: &str = "EVENKEEL_EXTRA_VECTORS";

#[derive(Deserialize)]
struct File<T> {
    cases: Vec<T>,
}

/// The cases of `name`, such as `scheduling/ahp`, of the own and the extra folder.
///
/// Prints how many there are of each. Panics where a file does not parse, where the own folder has
/// no case, and where the extra folder holds no case of any file in [`KNOWN`].
pub(super) fn cases<T: DeserializeOwned>(name: &str) -> Vec<T> {
    assert!(KNOWN.contains(&name), "{name} is not a known vector file");
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/vectors");
    let mut cases = read(&own, name);
    println!("{name}: {} cases", cases.len());
    assert!(!cases.is_empty(), "{name} has no case");
    if let Some(extra) = extra_folder() {
        let known: usize = KNOWN
            .iter()
            .map(|name| read::<serde_json::Value>(&extra, name).len())
            .sum();
        assert!(known > 0, "{} holds no known case", extra.display());
        let more = read(&extra, name);
        println!("{name}: {} cases in {}", more.len(), extra.display());
        cases.extend(more);
    }
    cases
}

#[allow(clippy::disallowed_methods)] // the folder is an argument of the test run
fn extra_folder() -> Option<PathBuf> {
    std::env::var_os(EXTRA)
        .filter(|folder| !folder.is_empty())
        .map(PathBuf::from)
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Vec<T> {
    let plain = folder.join(format!("{name}.json"));
    let zipped = folder.join(format!("{name}.json.gz"));
    let mut cases = Vec::new();
    for path in [plain, zipped] {
        if path.exists() {
            let text = text_of(&path);
            cases.extend(
                parsed(&text).unwrap_or_else(|error: serde_json::Error| {
                    panic!("{}: {error}", path.display())
                }),
            );
        }
    }
    cases
}

/// A file is an array of cases, or an object that has one.
fn parsed<T: DeserializeOwned>(text: &str) -> serde_json::Result<Vec<T>> {
    if text.trim_start().starts_with('[') {
        return serde_json::from_str(text);
    }
    serde_json::from_str(text).map(|File { cases }| cases)
}

fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    if path.extension().is_none_or(|extension| extension != "gz") {
        return String::from_utf8(bytes).expect("vector files are UTF-8");
    }
    let mut text = String::new();
    GzDecoder::new(bytes.as_slice())
        .read_to_string(&mut text)
        .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}
