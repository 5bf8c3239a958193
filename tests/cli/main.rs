//! The built binary, called as a user calls it: output, messages and exit codes.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test
#![allow(clippy::disallowed_methods)] // a program that is watched runs by the real clock

#[cfg(feature = "lab")]
mod benchmark;
mod certificates;
mod classify;
mod cron;
#[cfg(feature = "lab")]
mod dev;
#[cfg(feature = "lab")]
mod dev_terminal;
#[cfg(feature = "lab")]
mod documentation;
#[cfg(feature = "lab")]
mod forecast;
mod install;
mod judgements;
mod score;
mod service_api;
#[cfg(feature = "lab")]
mod simulate;

use std::io::{ErrorKind, Write};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

const MIXED: &str = "examples/clusters/mixed.yaml";
const PROXY: &str = "examples/pods/edge-proxy.yaml";

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
    match stdin.write_all(input.as_bytes()) {
        // A call that refuses its arguments may be gone before it has read anything.
        Err(error) if error.kind() == ErrorKind::BrokenPipe => {}
        written => written.expect("it reads its input"),
    }
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
    for (variable, path) in evenkeel_service::config::Config::variables() {
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

/// A field without its comment sign makes a configuration that is accepted.
#[test]
fn the_commented_fields_of_the_shipped_configuration_are_accepted() {
    let shipped = std::fs::read_to_string("deploy/base/config.yaml").expect("it is there");
    let is_field = |text: &str| {
        let text = text.trim_start();
        let key = text.strip_prefix("- ").unwrap_or(text).split_once(':');
        key.is_some_and(|(key, value)| {
            key.chars().all(|letter| letter.is_ascii_alphanumeric())
                && key.starts_with(|first: char| first.is_ascii_lowercase())
                && (value.is_empty() || !value.trim().contains(' '))
        })
    };
    let lines = shipped.lines().map(|line| match line.split_once("# ") {
        Some((indent, text)) if indent.trim().is_empty() && is_field(text) => {
            format!("{indent}{text}")
        }
        _ => line.to_owned(),
    });
    let lines: Vec<String> = lines.collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.yaml");
    std::fs::write(&file, lines.join("\n")).unwrap();
    let printed = evenkeel(&[
        "serve",
        "--check",
        "-c",
        file.to_str().unwrap(),
        "-o",
        "json",
    ])
    .json();
    assert_eq!(printed["scaling"]["queries"], "any");
    assert_eq!(printed["scaling"]["kinds"][0]["kind"], "Rollout");
    let matchers = &printed["metrics"]["prometheus"]["matchers"];
    assert!(matchers["cadvisor"].is_string(), "{matchers}");
}

#[test]
fn a_wrong_configuration_is_a_wrong_call() {
    evenkeel(&["serve", "--check", "-c", "nowhere.yaml"])
        .is_refused(2, &["evenkeel: nowhere.yaml: cannot be read"]);
    evenkeel(&["serve", "--check", "--headroom", "1.5", "--set", "log.format=xml"]).is_refused(
        2,
        &[
            "--headroom: scheduling.headroom: \"1.5\" is not accepted; accepted: a number above 0 and at most 1",
            "--set: log.format: ",
        ],
    );
    evenkeel(&["serve", "--set", "headroom"]).is_refused(2, &["scheduling.headroom=0.7"]);
}

#[test]
fn input_files_that_cannot_be_read_are_a_wrong_call() {
    for (arguments, parts) in [
        (
            &["classify", "-f", "nowhere.yaml"][..],
            &["cannot read nowhere.yaml"][..],
        ),
        (&["classify", "-f", MIXED], &["holds no Pod", "Deployment"]),
        (&["score", "-f", PROXY], &["--cluster"]),
        (
            &["score", "-f", PROXY, "--cluster", PROXY],
            &["edge-proxy.yaml: metadata: ", "`nodes`"],
        ),
        (
            &[
                "score",
                "-f",
                PROXY,
                "--cluster",
                MIXED,
                "--normalization",
                "both",
            ],
            &[
                "--normalization: scheduling.normalization: ",
                "`joint` or `per-resource`",
            ],
        ),
        (
            &[
                "score",
                "-f",
                PROXY,
                "--cluster",
                MIXED,
                "--set",
                "scheduling.headroom=0",
            ],
            &["--set: scheduling.headroom: ", "above 0 and at most 1"],
        ),
    ] {
        evenkeel(arguments).is_refused(2, parts);
    }
}
