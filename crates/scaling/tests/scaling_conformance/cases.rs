//! The files of cases, and how a function is run over its cases.

use std::fmt::Debug;
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use flate2::read::GzDecoder;
use jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde::de::{DeserializeOwned, Deserializer, Error as _};
use serde_json::value::RawValue;

use crate::FUNCTIONS;

/// The environment variable that names folders with further cases, separated by colons.
const EXTRA: &str = "EVENKEEL_EXTRA_VECTORS";
/// As many differences are shown.
const SHOWN: usize = 8;

#[derive(Deserialize)]
struct Case {
    id: String,
    #[serde(rename = "fn")]
    function: String,
    #[serde(rename = "in")]
    given: Box<RawValue>,
    out: Box<RawValue>,
}

/// The function that a case is of.
#[derive(Deserialize)]
struct Function {
    #[serde(rename = "fn")]
    function: Option<String>,
}

/// A file that is an object.
#[derive(Deserialize)]
struct Document<'a> {
    #[serde(borrow, default)]
    cases: Vec<&'a RawValue>,
}

/// The cases of one folder.
struct Folder {
    name: String,
    cases: Vec<Case>,
}

/// Compares what a function comes to with what Kubernetes came to, over all of its cases.
pub(crate) fn run<I, O>(function: &str, compute: impl Fn(&I, &O) -> O)
where
    I: DeserializeOwned,
    O: DeserializeOwned + PartialEq + Debug,
{
    static FOLDERS: OnceLock<Vec<Folder>> = OnceLock::new();
    let mut differences = Vec::new();
    for (index, folder) in FOLDERS.get_or_init(folders).iter().enumerate() {
        let cases = folder.cases.iter();
        let cases: Vec<_> = cases.filter(|case| case.function == function).collect();
        println!("{function}: {} cases in {}", cases.len(), folder.name);
        assert!(index > 0 || !cases.is_empty(), "no case of {function}");
        for Case { id, given, out, .. } in cases {
            let given: I = serde_json::from_str(given.get()).expect(id);
            let expected: O = serde_json::from_str(out.get()).expect(id);
            let found = compute(&given, &expected);
            if found != expected {
                differences.push(format!(
                    "{id}\n  expected {expected:?}\n  found    {found:?}"
                ));
            }
        }
    }
    let shown = &differences[..differences.len().min(SHOWN)];
    let count = differences.len();
    assert!(
        count == 0,
        "{count} cases of {function} differ:\n{}",
        shown.join("\n")
    );
}

#[allow(clippy::disallowed_methods)] // the folders are an argument of the test run
fn folders() -> Vec<Folder> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/vectors/hpa");
    let extra = std::env::var_os(EXTRA).unwrap_or_default();
    let extra = std::env::split_paths(&extra).filter(|path| !path.as_os_str().is_empty());
    [own]
        .into_iter()
        .chain(extra)
        .map(|path| folder(&path))
        .collect()
}

fn folder(path: &Path) -> Folder {
    let mut cases = Vec::new();
    for file in files(path) {
        let found = cases_of(&file);
        for Case { id, function, .. } in &found {
            let is_known = FUNCTIONS.contains(&function.as_str());
            assert!(
                is_known,
                "{}: {id} is of {function}, which is unknown",
                file.display()
            );
        }
        cases.extend(found);
    }
    let name = path.display().to_string();
    assert!(!cases.is_empty(), "{name} holds no case");
    Folder { name, cases }
}

/// The cases of a file: an array of them, or an object that has one. Cases of other subjects name no
/// function, and are left out.
fn cases_of(file: &Path) -> Vec<Case> {
    let text = text_of(file);
    let read = |result: serde_json::Result<Vec<Case>>| {
        result.unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    };
    let items = if text.trim_start().starts_with('[') {
        serde_json::from_str(&text)
    } else {
        serde_json::from_str(&text).map(|Document { cases }| cases)
    };
    read(items.and_then(|items: Vec<&RawValue>| {
        let of_function = items.into_iter().filter_map(|item| {
            let Function { function } = serde_json::from_str(item.get()).ok()?;
            function.map(|_| serde_json::from_str(item.get()))
        });
        of_function.collect()
    }))
}

/// The files below a folder, in a steady order.
fn files(path: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut paths: Vec<_> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    let is_case_file = |path: &PathBuf| {
        let name = path.to_string_lossy();
        name.ends_with(".json") || name.ends_with(".json.gz")
    };
    let below = |path: PathBuf| {
        if path.is_dir() {
            files(&path)
        } else {
            vec![path]
        }
    };
    paths
        .into_iter()
        .flat_map(below)
        .filter(is_case_file)
        .collect()
}

fn text_of(path: &Path) -> String {
    let bytes = fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let mut text = String::new();
    let read = if path.extension().is_some_and(|extension| extension == "gz") {
        GzDecoder::new(bytes.as_slice()).read_to_string(&mut text)
    } else {
        bytes.as_slice().read_to_string(&mut text)
    };
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text
}

/// The time that all times of the cases are relative to.
pub(crate) fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).expect("a time")
}

/// A time in seconds after [`now`].
pub(crate) fn at(seconds: i64) -> Timestamp {
    now() + SignedDuration::from_secs(seconds)
}

/// Seconds from [`now`] to a time.
pub(crate) fn relative(time: Timestamp) -> i64 {
    time.duration_since(now()).as_secs()
}

/// A float, to the last bit.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Float(pub(crate) f64);

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Box::<RawValue>::deserialize(deserializer)?;
        let float = text.get().parse();
        float.map(Self).map_err(D::Error::custom)
    }
}
