//! The built binary, called as a user calls it: output, messages and exit codes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// How a call ended.
struct Called {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Called {
    fn json(&self) -> Value {
        assert_eq!(self.code, 0, "{}", self.stderr);
        serde_json::from_str(&self.stdout).expect("standard output is JSON")
    }

    /// The call was refused with all of `parts` in the message, and printed no result.
    fn is_refused(&self, code: i32, parts: &[&str]) {
        assert_eq!(self.code, code, "{}{}", self.stdout, self.stderr);
        for part in parts {
            assert!(self.stderr.contains(part), "{part:?} in {}", self.stderr);
        }
    }
}

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command
        .args(arguments)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear();
    command
}

fn finish(
    Output {
        status,
        stdout,
        stderr,
    }: Output,
) -> Called {
    Called {
        code: status.code().expect("it was not killed"),
        stdout: String::from_utf8(stdout).expect("text"),
        stderr: String::from_utf8(stderr).expect("text"),
    }
}

fn evenkeel(arguments: &[&str]) -> Called {
    finish(command(arguments).output().expect("the binary runs"))
}

fn evenkeel_with_input(arguments: &[&str], input: &str) -> Called {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary runs");
    let mut stdin = child.stdin.take().expect("it is piped");
    stdin
        .write_all(input.as_bytes())
        .expect("it reads its input");
    drop(stdin);
    finish(child.wait_with_output().expect("it ends"))
}

#[test]
fn help_and_version_are_no_failures() {
    for arguments in [
        &["--help"][..],
        &["--version"],
        &["help", "serve"],
        &["ahp", "-h"],
    ] {
        let called = evenkeel(arguments);
        assert_eq!(called.code, 0, "{arguments:?}: {}", called.stderr);
        assert!(!called.stdout.is_empty(), "{arguments:?}");
    }
    evenkeel(&[]).is_refused(2, &["Usage: evenkeel"]);
    evenkeel(&["steer"]).is_refused(2, &["unrecognized subcommand 'steer'"]);
}

#[test]
fn the_help_of_serve_names_every_variable() {
    let help = evenkeel(&["serve", "--help"]).stdout;
    for (variable, path) in evenkeel::config::Config::variables() {
        assert!(
            help.contains(&variable) && help.contains(&path),
            "{variable}"
        );
    }
}

#[test]
fn check_prints_the_effective_configuration() {
    let file = "tests/fixtures/config/complete.yaml";
    let printed = finish(
        command(&[
            "serve",
            "--check",
            "-c",
            file,
            "-o",
            "json",
            "--headroom",
            "0.7",
        ])
        .env("EVENKEEL_METRICS_INTERVAL", "20s")
        .env("EVENKEEL_SERVICE_HOST", "10.0.0.1")
        .env("EVENKEEL_SCHEDULING_HEADROOM", "0.6")
        .output()
        .expect("the binary runs"),
    )
    .json();
    assert_eq!(printed["scheduling"]["headroom"], 0.7);
    assert_eq!(printed["metrics"]["interval"], "20s");
    assert_eq!(printed["writes"], "disabled");
    let people = evenkeel(&["serve", "--check"]);
    assert_eq!(people.code, 0, "{}", people.stderr);
    assert!(
        people
            .stdout
            .starts_with("apiVersion: config.evenkeel.dev/v1alpha1")
    );
}

#[test]
fn a_wrong_configuration_is_a_wrong_call() {
    evenkeel(&["serve", "--check", "-c", "nowhere.yaml"])
        .is_refused(2, &["evenkeel: nowhere.yaml: cannot be read"]);
    evenkeel(&["serve", "--check", "--headroom", "1.5", "--set", "log.format=xml"]).is_refused(
        2,
        &[
            "--headroom: scheduling.headroom: \"1.5\" is not accepted: a number above 0 and at most 1",
            "--set: log.format: ",
        ],
    );
    evenkeel(&["serve", "--set", "headroom"]).is_refused(2, &["scheduling.headroom=0.7"]);
}

#[test]
fn ahp_prints_what_the_library_computes() {
    let report = evenkeel(&["ahp", "--profile", "compute", "-o", "json"]).json();
    for (row, published) in [0.464_261_493_364_601_26, 0.263_823_761_307_864_06]
        .iter()
        .enumerate()
    {
        let weight = report["rows"][row]["weight"].as_f64().expect("a number");
        assert!((weight - published).abs() < 1e-12, "{weight} {published}");
    }
    let ratio = report["consistencyRatio"].as_f64().expect("a number");
    assert!((ratio - 0.038_002_141_185_574_08).abs() < 1e-12, "{ratio}");
    assert_eq!(report["accepted"], true);
    let table = evenkeel(&["ahp", "-m", "1 4; 1/4 1", "--names", "cpu,memory"]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    for part in ["memory", "1/4", "0.8000", "CR 0.0000", "agree well enough"] {
        assert!(table.stdout.contains(part), "{part}: {}", table.stdout);
    }
    let piped = evenkeel_with_input(&["ahp", "-f", "-", "-o", "yaml"], "1, 4\n1/4, 1\n");
    assert!(piped.stdout.contains("weight: 0.8"), "{}", piped.stdout);
}

#[test]
fn contradicting_judgements_are_a_failure_and_malformed_ones_a_wrong_call() {
    let circle = evenkeel(&["ahp", "-m", "1 9 1/9; 1/9 1 9; 9 1/9 1"]);
    circle.is_refused(1, &["contradict each other", "below 0.1"]);
    assert!(
        circle.stdout.contains("CR"),
        "the figures are shown all the same"
    );
    for (arguments, parts) in [
        (&["ahp"][..], &["--profile"][..]),
        (&["ahp", "-p", "fast"], &["compute, memory, io, network"]),
        (&["ahp", "-p", "normal"], &["fixed weights"]),
        (
            &["ahp", "-m", "1 2; 1/2 x"],
            &["--matrix: row 2", "\"x\"", "1/3"],
        ),
        (&["ahp", "-m", "1 2"], &["must be square"]),
        (&["ahp", "-m", "1 2; 1/2 1", "--names", "a"], &["2 rows"]),
        (
            &["ahp", "-m", "1 2; 1/2 1", "--random-index", "mine"],
            &["thesis, saaty"],
        ),
        (&["ahp", "-f", "nowhere"], &["cannot read nowhere"]),
    ] {
        evenkeel(arguments).is_refused(2, parts);
    }
}
