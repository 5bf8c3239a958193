//! Requests as they were recorded: those beside the tests, and those of the folder that
//! `EVENKEEL_EXTRA_FIXTURES` names.
//!
//! The folder is laid out as `fixtures` is. It must hold some request, or it is not the folder that
//! was meant.

#![allow(clippy::print_stdout)] // how many requests there were is part of what these tests report

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use flate2::read::GzDecoder;
use serde::Deserialize;
use serde_json::Value;

const EXTRA: &str = "EVENKEEL_EXTRA_FIXTURES";

/// One request.
#[derive(Debug)]
pub(crate) struct Recorded {
    /// The name of its files.
    pub name: String,
    /// Path and query.
    pub target: String,
    /// The headers as they were sent.
    pub headers: Vec<(String, String)>,
    /// True if the client showed a certificate.
    #[allow(dead_code)] // of interest to the extender alone
    pub client_certificate: bool,
    pub body: Bytes,
}

#[derive(Deserialize)]
struct Head {
    target: String,
    headers: Vec<(String, String)>,
    tls: Option<Tls>,
}

#[derive(Deserialize)]
struct Tls {
    client_cert: bool,
}

impl Recorded {
    /// The body as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("recorded bodies are JSON")
    }
}

/// The requests in the folder `kind` of the own and the extra fixtures, sorted by name.
///
/// Prints how many there are. Panics where one cannot be read or where a folder has none.
pub(crate) fn requests(kind: &str) -> Vec<Recorded> {
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let mut requests = read(&own.join(kind));
    println!("{kind}: {} recorded requests", requests.len());
    assert!(!requests.is_empty(), "{kind} has no request");
    #[allow(clippy::disallowed_methods)] // the switch of the tests, not of the service
    if let Some(extra) = std::env::var_os(EXTRA).filter(|folder| !folder.is_empty()) {
        let folder = Path::new(&extra).join(kind);
        let more = read(&folder);
        println!("{kind}: {} in {}", more.len(), folder.display());
        assert!(!more.is_empty(), "{} has no request", folder.display());
        requests.extend(more);
    }
    requests
}

fn read(folder: &Path) -> Vec<Recorded> {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut paths: Vec<PathBuf> = entries
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.sort();
    paths.iter().filter_map(|path| request(path)).collect()
}

fn request(path: &Path) -> Option<Recorded> {
    let file = path.file_name()?.to_str()?;
    let name = file
        .strip_suffix(".gz")
        .unwrap_or(file)
        .strip_suffix(".json")?;
    if name.strip_suffix(".http").is_some() {
        return None;
    }
    let read = |path: &Path| fs::read(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    let mut body = read(path);
    if file.strip_suffix(".gz").is_some() {
        let mut plain = Vec::new();
        let unzipped = GzDecoder::new(body.as_slice()).read_to_end(&mut plain);
        unzipped.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        body = plain;
    }
    let head: Head =
        serde_json::from_slice(&read(&path.with_file_name(format!("{name}.http.json"))))
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    Some(Recorded {
        name: name.to_owned(),
        target: head.target,
        headers: head.headers,
        client_certificate: head.tls.is_some_and(|tls| tls.client_cert),
        body: body.into(),
    })
}
