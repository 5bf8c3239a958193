//! The dashboard's page in a real browser: the tests in `tests/page`, against their stand-in and
//! against the service of `evenkeel dev`.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

use super::manifests::read::root;
use crate::support::trial::{Requirement, suite, variable};

/// Names the browser.
const CHROMIUM: &str = "EVENKEEL_CHROMIUM";

fn has_browser() -> Result<(), String> {
    let browser = variable(CHROMIUM)
        .ok_or_else(|| format!("{CHROMIUM} names no Chromium, such as /usr/bin/chromium"))?;
    let is_there = std::path::Path::new(&browser).is_file();
    assert!(is_there, "{CHROMIUM}: {} is no file", browser.display());
    Ok(())
}

fn has_packages() -> Result<(), String> {
    let packages = root().join("tests/page/node_modules/playwright-core");
    packages
        .is_dir()
        .then_some(())
        .ok_or_else(|| "tests/page has no packages: run npm ci there".to_owned())
}

/// `evenkeel dev`, which ends in good order with this.
struct DevRun(Child);

impl DevRun {
    /// Starts a run; returns it with the address of its page.
    fn start() -> (Self, String) {
        let mut run = Command::new(env!("CARGO_BIN_EXE_evenkeel"))
            .args(["dev", "--patience", "10s", "-o", "json"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = BufReader::new(run.stdout.take().unwrap());
        let run = Self(run);
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        // Its later output must not block it.
        std::thread::spawn(move || std::io::copy(&mut said, &mut std::io::sink()));
        let started: Value = serde_json::from_str(&line).unwrap();
        let address = started["dashboard"].as_str().unwrap();
        (run, format!("http://{address}/"))
    }
}

impl Drop for DevRun {
    fn drop(&mut self) {
        let pid = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, Signal::TERM));
        let _ = self.0.wait();
    }
}

fn the_page_passes_its_tests_in_a_browser() {
    let (_run, dashboard) = DevRun::start();
    let tested = Command::new("node")
        .args(["--test", "--test-concurrency=1", "page.test.mjs"])
        .current_dir(root().join("tests/page"))
        .env("EVENKEEL_DASHBOARD", dashboard)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tested.stdout);
    assert!(tested.status.success(), "{said}");
    assert!(!said.contains("# SKIP"), "{said}");
}

suite!(
    [
        Requirement::Condition(has_browser),
        Requirement::Condition(has_packages),
        Requirement::Program("node"),
    ] => [the_page_passes_its_tests_in_a_browser],
);
