//! `evenkeel simulate`: what the thesis's experiment comes to, the same output for the same seeds, and
//! what is refused.

use serde_json::Value;

use super::{evenkeel, evenkeel_with_input};

const THESIS: &str = "examples/scenarios/simulate/thesis-5-4.yaml";

/// Mean spread of a resource under a policy.
fn spread(simulated: &Value, policy: &str, resource: &str) -> f64 {
    let find = |list: &Value, key: &str, name: &str| {
        let mut found = list.as_array().expect("a list").iter();
        found
            .find(|one| one[key] == name)
            .expect("it is there")
            .clone()
    };
    let policy = find(&simulated["policies"], "policy", policy);
    let resource = find(&policy["resources"], "resource", resource);
    resource["spread"]["mean"].as_f64().expect("a number")
}

#[test]
fn on_the_thesis_experiment_network_and_disk_are_more_even_than_by_default() {
    let called = evenkeel(&[
        "simulate",
        "--scenario",
        THESIS,
        "--seeds",
        "8",
        "--policy",
        "evenkeel,clbp,default",
        "-o",
        "json",
    ]);
    let simulated = called.json();
    let names: Vec<&Value> = simulated["policies"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|policy| &policy["policy"])
        .collect();
    assert_eq!(names, ["default", "clbp", "evenkeel"]);
    for policy in ["clbp", "evenkeel"] {
        for resource in ["networkIo", "diskIo"] {
            let (own, plain) = (
                spread(&simulated, policy, resource),
                spread(&simulated, "default", resource),
            );
            assert!(own < 0.7 * plain, "{policy} {resource}: {own} {plain}");
        }
    }
}

#[test]
fn the_same_seeds_give_the_same_bytes() {
    let run = |format| {
        evenkeel(&[
            "simulate",
            "--scenario",
            "examples/scenarios/simulate/thesis-5-4-at-once.yaml",
            "--seeds",
            "3",
            "-o",
            format,
        ])
    };
    for format in ["table", "json", "yaml", "svg"] {
        let (one, another) = (run(format), run(format));
        assert_eq!(one.code, 0, "{}", one.stderr);
        assert!(!one.stdout.is_empty());
        assert_eq!(one.stdout, another.stdout, "{format}");
    }
}

#[test]
fn the_table_tells_source_assumptions_figures_and_where_evenkeel_is_not_the_lowest() {
    let called = evenkeel(&["simulate", "--scenario", THESIS, "--seeds", "2"]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    for part in [
        "Source: the thesis",
        "Reported: spread of CPU 12.4",
        "Assumed:",
        "Spread over the nodes",
        "Highest node",
        "ANY NODE OVER, s",
        "target-load-packing",
        "±",
        "Evenkeel",
    ] {
        assert!(called.stdout.contains(part), "{part}: {}", called.stdout);
    }
}

#[test]
fn ways_of_scaling_stand_side_by_side() {
    let called = evenkeel(&[
        "simulate",
        "--scenario",
        "examples/scenarios/simulate/thesis-5-3.yaml",
        "--policy",
        "default",
        "--scaling",
        "auto,hpa",
        "--seeds",
        "1",
        "-o",
        "json",
    ]);
    let simulated = called.json();
    let scalings = simulated["scalings"].as_array().expect("a list");
    let names: Vec<&Value> = scalings.iter().map(|one| &one["scaling"]).collect();
    assert_eq!(names, ["hpa", "auto"]);
    let response = |at: usize| scalings[at]["responses"]["meanSeconds"].as_f64();
    assert!(
        response(1) < response(0),
        "who foresees the load answers faster"
    );
    assert_eq!(simulated["policies"].as_array().map(Vec::len), Some(2));
}

#[test]
fn what_is_not_accepted_is_refused_with_what_is() {
    let scenario = ["simulate", "--scenario", THESIS];
    let with = |more: &[&str]| evenkeel(&[&scenario[..], more].concat());
    with(&["--policy", "best"]).is_refused(2, &["best", "load-variation-risk"]);
    with(&["--scaling", "never"]).is_refused(2, &["never", "ds-hpa"]);
    with(&["--seeds", "0"]).is_refused(2, &["--seeds"]);
    with(&["--load-factor", "0.5"]).is_refused(2, &["--simkube"]);
    with(&["--simkube", "Cargo.toml"]).is_refused(2, &["Cargo.toml", "SimKube", "MessagePack"]);
    let file = std::fs::read_to_string(THESIS).expect("the scenario is there");
    let file = file.replace("countFrom: 35m", "countForm: 35m");
    let called = evenkeel_with_input(&["simulate", "--scenario", "-"], &file);
    called.is_refused(2, &["countForm", "countFrom"]);
}
