//! The built binary, called as a user calls it: output, messages and exit codes.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use evenkeel::placement::balance::{Normalization, detail};
use evenkeel::placement::{NodeLoad, headroom};
use evenkeel::profile::ProfileTable;
use evenkeel::units::{Amount, Ratio, Resource, Resources};
use serde_json::Value;

#[path = "../examples/generate_cluster.rs"]
mod generate_cluster;

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

fn amounts(of: impl Fn(Resource) -> Value) -> Resources<Option<Amount>> {
    Resources::from_fn(|resource| of(resource).as_u64().map(Amount::new))
}

/// The nodes of a report, with their loads as the library has them.
fn loads(pod: &Value) -> Vec<(&Value, NodeLoad)> {
    let nodes = pod["nodes"].as_array().expect("a list");
    let load = |node: &Value| {
        let term = |resource: Resource, field| node["resources"][resource.as_str()][field].clone();
        NodeLoad {
            capacity: amounts(|resource| term(resource, "capacity")),
            load: amounts(|resource| term(resource, "load")).map(Option::unwrap_or_default),
        }
    };
    nodes.iter().map(|node| (node, load(node))).collect()
}

#[test]
fn score_prints_what_the_library_computes() {
    for (pod, cluster) in [
        (PROXY, MIXED),
        ("examples/pods/web.yaml", MIXED),
        (
            "examples/pods/database.yaml",
            "examples/clusters/thirty-nodes.yaml",
        ),
    ] {
        for normalization in [Normalization::Joint, Normalization::PerResource] {
            let mode = normalization.as_str();
            let arguments = [
                "score",
                "-f",
                pod,
                "--cluster",
                cluster,
                "--normalization",
                mode,
                "-o",
                "json",
            ];
            let report = evenkeel(&arguments).json();
            let pod = &report["pods"][0];
            assert_eq!(pod["normalization"], mode);
            let demand = amounts(|resource| pod["demand"][resource.as_str()]["amount"].clone())
                .map(Option::unwrap_or_default);
            let h = Ratio::share(0.8).expect("a share");
            let mut passing = Vec::new();
            for (node, load) in loads(pod) {
                assert_eq!(node["passes"], headroom::fits(&demand, &load, h), "{node}");
                let is_candidate = node["passes"] == true && node["schedulable"] == true;
                assert_eq!(node["total"].is_f64(), is_candidate, "{node}");
                if is_candidate {
                    passing.push((node, load));
                }
            }
            assert!(passing.len() > 1, "the example compares nodes");
            let candidates: Vec<NodeLoad> = passing.iter().map(|(_, load)| *load).collect();
            let profiles = ProfileTable::default();
            let profile = pod["profile"].as_str().expect("a name");
            let weights = profiles.get(profile).expect("a built-in profile");
            let details = detail(&candidates, &demand, weights, normalization);
            let mut most = f64::NEG_INFINITY;
            for ((node, _), detail) in passing.iter().zip(details) {
                let total = node["total"].as_f64().expect("a number");
                assert!((total - detail.total).abs() < 1e-9, "{node}");
                most = most.max(total);
                for (resource, score) in detail.score.iter() {
                    let printed = node["resources"][resource.as_str()]["score"].as_f64();
                    let close = |printed: f64| (printed - score.unwrap_or(-1.0)).abs() < 1e-9;
                    assert!(printed.is_some_and(close), "{node}");
                }
            }
            let best = passing.iter().find(|(node, _)| node["name"] == pod["best"]);
            let best = best.expect("the best one passes").0["total"].as_f64();
            assert_eq!(best.map(f64::to_bits), Some(most.to_bits()));
        }
    }
}

#[test]
fn score_explains_itself_within_a_hundred_columns() {
    let called = evenkeel(&["score", "-f", PROXY, "--cluster", MIXED]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    for part in [
        "Pod shop/edge-proxy: profile network",
        "200 MB/s of network; it says nothing of disk I/O and disk",
        "has to stay below 80%",
        "992/1250 95%!",
        "no: network",
        "closed",
        "storage-2 ~",
        "× 0.46",
        "Best for the balance of the cluster: storage-2.",
    ] {
        assert!(called.stdout.contains(part), "{part}:\n{}", called.stdout);
    }
    for line in called.stdout.lines() {
        assert!(line.chars().count() <= 100, "{line}");
    }
    assert!(
        !called.stdout.contains('\u{1b}'),
        "no colours where nobody looks"
    );
}

#[test]
fn a_pod_that_is_not_judged_is_told_why() {
    for (manifest, reason, text) in [
        (
            "{kind: Pod, metadata: {name: a, namespace: legacy}}",
            "not_opted_in",
            "opted in",
        ),
        (
            "{kind: Pod, metadata: {name: a}}",
            "namespace_unknown",
            "under `namespaces`",
        ),
        (
            "{kind: Pod, metadata: {name: a, namespace: shop, annotations: {evenkeel.dev/skip: 'true'}}}",
            "skipped",
            "evenkeel.dev/skip",
        ),
        (
            "{kind: DaemonSet, metadata: {name: a, namespace: shop}, spec: {template: {}}}",
            "daemon_set",
            "has its node",
        ),
    ] {
        let arguments = ["score", "-f", "-", "--cluster", MIXED];
        let people = evenkeel_with_input(&arguments, manifest);
        assert_eq!(people.code, 0, "{}", people.stderr);
        assert!(people.stdout.contains(text), "{}", people.stdout);
        let programs = [&arguments[..], &["-o", "json"]].concat();
        let report = evenkeel_with_input(&programs, manifest).json();
        assert_eq!(report["pods"][0]["unjudged"], reason);
    }
}

#[test]
fn a_pod_that_fits_nowhere_is_an_answer_and_not_a_failure() {
    let manifest = "
kind: Pod
metadata: {name: giant, namespace: shop, annotations: {evenkeel.dev/network-io: 100Gbps}}
";
    let called = evenkeel_with_input(&["score", "-f", "-", "--cluster", MIXED], manifest);
    assert_eq!(called.code, 0, "{}", called.stderr);
    assert!(
        called.stdout.contains("No node has headroom"),
        "{}",
        called.stdout
    );
    let relaxed = [
        "score",
        "-f",
        "-",
        "--cluster",
        MIXED,
        "--set",
        "scheduling.noHeadroom=relax",
    ];
    let called = evenkeel_with_input(&relaxed, manifest);
    assert!(
        called.stdout.contains("the least loaded pass: "),
        "{}",
        called.stdout
    );
}

#[test]
fn classify_gives_profile_demand_and_sources() {
    let report = evenkeel(&["classify", "-f", PROXY, "-o", "json"]).json();
    let pod = &report["pods"][0];
    assert_eq!(report["measuredAgainst"], "reference node");
    assert_eq!(pod["profile"], "network");
    assert_eq!(pod["profileSource"], "requests");
    assert_eq!(pod["resources"]["networkIo"]["demand"], 200_000_000);
    assert_eq!(pod["resources"]["networkIo"]["source"], "annotation");
    assert_eq!(pod["resources"]["networkIo"]["share"], 0.16);
    assert_eq!(pod["resources"]["diskIo"]["source"], "unknown");
    let database = "examples/pods/database.yaml";
    let people = evenkeel(&["classify", "-f", database, "--cluster", MIXED]);
    assert_eq!(people.code, 0, "{}", people.stderr);
    for part in [
        "StatefulSet shop/orders-db: profile io",
        "12 GiB",
        "dominant",
        "mean node",
    ] {
        assert!(people.stdout.contains(part), "{part}: {}", people.stdout);
    }
}

#[test]
fn classify_reads_all_documents_and_warns_of_what_it_does_not_understand() {
    let manifests = "
kind: Pod
metadata: {name: a, annotations: {evenkeel.dev/profile: io}}
---
kind: Deployment
metadata: {name: b}
spec: {template: {metadata: {annotations: {evenkeel.dev/network-io: fast, evenkeel.dev/profile: x}}}}
";
    let report = evenkeel_with_input(&["classify", "-f", "-", "-o", "json"], manifests).json();
    let pods = report["pods"].as_array().expect("a list");
    assert_eq!(pods[0]["profile"], "io");
    assert_eq!(pods[0]["profileSource"], "declared");
    assert_eq!(pods[1]["profile"], "normal");
    let warnings = pods[1]["warnings"].to_string();
    for part in [
        "network-io",
        "fast",
        "5Mbps",
        "evenkeel.dev/profile",
        "compute, memory, io",
    ] {
        assert!(warnings.contains(part), "{part}: {warnings}");
    }
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

#[test]
fn the_shipped_cluster_is_what_its_seed_gives() {
    let shipped = include_str!("../examples/clusters/thirty-nodes.yaml");
    assert_eq!(generate_cluster::cluster(2026, 30), shipped);
}

/// Certificates in a directory that goes with the guard.
fn generated() -> (tempfile::TempDir, String) {
    let directory = tempfile::tempdir().expect("a directory");
    let path = directory.path().join("certificates");
    let path = path.to_str().expect("text").to_owned();
    let called = evenkeel(&["certs", "generate", "--dir", &path, "--ip", "10.96.0.20"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    (directory, path)
}

fn certificates(shown: &Value) -> &[Value] {
    shown["certificates"].as_array().expect("a list")
}

#[test]
fn keys_are_for_their_owner_and_nothing_is_overwritten() {
    let (_guard, dir) = generated();
    for (file, others) in [("tls.key", 0), ("ca.key", 0), ("tls.crt", 0o044)] {
        let path = std::path::Path::new(&dir).join(file);
        let permissions = std::fs::metadata(path).expect("it is there").permissions();
        let mode = std::os::unix::fs::PermissionsExt::mode(&permissions);
        assert_eq!(mode & 0o077, others, "{file}");
    }
    evenkeel(&["certs", "generate", "--dir", &dir]).is_refused(2, &["exists already"]);
}

#[test]
fn what_was_generated_is_shown_and_handed_to_the_scheduler() {
    let (_guard, dir) = generated();
    let made = evenkeel(&["certs", "show", "--dir", &dir, "-o", "json"]).json();
    let [authority, serving, scheduler_authority] = certificates(&made) else {
        panic!("{made}");
    };
    assert_eq!(serving["foundIn"], "tls.crt");
    assert_eq!(serving["issuer"], authority["subject"]);
    let names = serving["names"].to_string();
    for name in [
        "evenkeel.evenkeel-system.svc",
        "evenkeel-extender",
        "10.96.0.20",
    ] {
        assert!(names.contains(name), "{names}");
    }

    let arguments = [
        "certs",
        "scheduler-config",
        "--dir",
        &dir,
        "--extender-ip",
        "10.96.0.20",
    ];
    let config = evenkeel(&arguments);
    assert_eq!(config.code, 0, "{}", config.stderr);
    assert!(
        config
            .stdout
            .contains("urlPrefix: https://10.96.0.20/scheduler")
    );
    let shown = evenkeel_with_input(&["certs", "show", "-f", "-", "-o", "json"], &config.stdout);
    let shown = shown.json();
    let [ca, client] = certificates(&shown) else {
        panic!("{shown}");
    };
    assert_eq!(ca["foundIn"], "extenders[0].tlsConfig.caData");
    assert_eq!(ca["sha256"], authority["sha256"]);
    assert_eq!(client["foundIn"], "extenders[0].tlsConfig.certData");
    assert_eq!(client["issuer"], scheduler_authority["subject"]);

    let secret = evenkeel(&["certs", "scheduler-client", "--dir", &dir]);
    let table = evenkeel_with_input(&["certs", "show", "-f", "-"], &secret.stdout);
    assert!(
        table.stdout.contains("CN=system:kube-scheduler"),
        "{}",
        table.stdout
    );
}

#[test]
fn certificates_that_cannot_be_had_say_why() {
    let directory = tempfile::tempdir().expect("a directory");
    let dir = directory.path().to_str().expect("text");
    for (arguments, code, parts) in [
        (
            &["certs", "show", "--dir", dir][..],
            2,
            &["cannot read", "ca.crt"][..],
        ),
        (
            &["certs", "show", "-f", PROXY],
            2,
            &["holds no certificate"],
        ),
        (
            &["certs", "show", "--kubeconfig", "nowhere"],
            1,
            &["evenkeel-system/evenkeel-certificates", "nowhere"],
        ),
        (
            &["certs", "generate", "--dir", dir, "--valid-for", "1m"],
            2,
            &["--valid-for", "an hour"],
        ),
        (
            &["certs", "generate", "--dir", dir, "--dns", "no name"],
            2,
            &["no name", "DNS"],
        ),
        (
            &[
                "certs",
                "scheduler-config",
                "--dir",
                dir,
                "--valid-for",
                "0s",
            ],
            2,
            &["above zero"],
        ),
    ] {
        evenkeel(arguments).is_refused(code, parts);
    }
}
