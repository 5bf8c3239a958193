//! `score`: what it prints is what the library decides.

use evenkeel_placement::balance::{Normalization, ScoringStrategy, detail};
use evenkeel_placement::profile::ProfileTable;
use evenkeel_placement::{NodeLoad, SELDOM_DEMANDED, headroom};
use evenkeel_units::{Amount, Ratio, Resource, Resources};
use serde_json::{Value, json};

use super::{MIXED, PROXY, evenkeel, evenkeel_with_input};

#[path = "../../examples/generate_cluster.rs"]
mod generate_cluster;

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
            io_pressed: false,
        }
    };
    nodes.iter().map(|node| (node, load(node))).collect()
}

/// The loads as they are scored: a candidate of which network or disk I/O is not measured counts as used as the
/// others are on average.
fn scored(passing: &[(&Value, NodeLoad)]) -> Vec<NodeLoad> {
    let mut scored: Vec<NodeLoad> = passing.iter().map(|(_, load)| *load).collect();
    for resource in SELDOM_DEMANDED {
        let is_fresh = |node: &Value| node["resources"][resource.as_str()]["freshness"] == "fresh";
        let ratio = |load: &NodeLoad| {
            let capacity = load.capacity[resource].filter(|capacity| *capacity > Amount::ZERO)?;
            Some(load.load[resource].as_f64() / capacity.as_f64())
        };
        let fresh = passing.iter().filter(|(node, _)| is_fresh(node));
        let fresh: Vec<f64> = fresh.filter_map(|(_, load)| ratio(load)).collect();
        if fresh.is_empty() {
            continue;
        }
        let usual = fresh.iter().sum::<f64>() / f64::from(u32::try_from(fresh.len()).unwrap());
        for ((node, _), load) in passing.iter().zip(&mut scored) {
            if let Some(capacity) = load.capacity[resource]
                && !is_fresh(node)
            {
                let assumed = Amount::from_f64(usual * capacity.as_f64());
                load.load[resource] = load.load[resource].max(assumed);
            }
        }
    }
    scored
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
            let mut arguments = vec!["score", "-f", pod, "--cluster", cluster, "-o", "json"];
            arguments.extend(["--normalization", mode]);
            arguments.extend(["--set", "scheduling.significance=0"]);
            let report = evenkeel(&arguments).json();
            hold_scores(&report["pods"][0], normalization);
        }
    }
}

/// The verdicts and scores of the report are those of the library.
fn hold_scores(pod: &Value, normalization: Normalization) {
    assert_eq!(pod["normalization"], normalization.as_str());
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
    let candidates = scored(&passing);
    let profiles = ProfileTable::default();
    let profile = pod["profile"].as_str().expect("a name");
    let weights = profiles.get(profile).expect("a built-in profile");
    let scoring = ScoringStrategy::pure(normalization);
    let mut most = f64::NEG_INFINITY;
    for ((node, _), detail) in passing
        .iter()
        .zip(detail(&candidates, &demand, weights, scoring))
    {
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

#[test]
fn score_explains_itself_within_a_hundred_columns() {
    let called = evenkeel(&["score", "-f", PROXY, "--cluster", MIXED]);
    assert_eq!(called.code, 0, "{}", called.stderr);
    for part in [
        "Pod shop/edge-proxy: profile network",
        "200 MB/s of network, and nothing of disk I/O and disk",
        "must stay below 80%",
        "992/1250 95%!",
        "no: network",
        "closed",
        "storage-2 ~",
        "× 0.46",
        "Best for the balance of the cluster: storage-1.",
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
            "names its node",
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

/// A Pod that the headroom rule does not hold for is scored as any other.
#[test]
fn a_critical_pod_passes_everywhere_and_is_still_placed_by_load() {
    let manifest = "
kind: Pod
metadata: {name: a, namespace: shop}
spec: {priorityClassName: system-cluster-critical, containers: [{name: a, resources: {requests: {cpu: 500m}}}]}
";
    let arguments = ["score", "-f", "-", "--cluster", MIXED];
    let people = evenkeel_with_input(&arguments, manifest);
    for part in [
        "Every node passes without headroom: its priority class is critical to the system.",
        "scored as for any other Pod",
        "passes, exempt",
        "Best for the balance",
    ] {
        assert!(people.stdout.contains(part), "{part}: {}", people.stdout);
    }
    for part in ["none is preferred", "critical.\n\nNo node", "no: "] {
        assert!(!people.stdout.contains(part), "{part}: {}", people.stdout);
    }
    let programs = [&arguments[..], &["-o", "json"]].concat();
    let report = evenkeel_with_input(&programs, manifest).json();
    let pod = &report["pods"][0];
    assert_eq!(pod["unjudged"], "critical");
    let nodes = pod["nodes"].as_array().expect("a list");
    let open: Vec<&Value> = nodes
        .iter()
        .filter(|node| node["schedulable"] == true)
        .collect();
    assert!(
        open.iter()
            .all(|node| node["passes"] == true && node["score"].is_number())
    );
    assert_eq!(open[0]["name"], pod["best"], "the best node comes first");
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
    for part in [
        "the least loaded pass: ",
        "passes, relaxed",
        "Best for the balance",
    ] {
        assert!(called.stdout.contains(part), "{part}: {}", called.stdout);
    }
    let report = evenkeel_with_input(&[&relaxed[..], &["-o", "json"]].concat(), manifest).json();
    let pod = &report["pods"][0];
    let passing: Vec<&Value> = pod["nodes"]
        .as_array()
        .expect("a list")
        .iter()
        .filter(|node| node["passes"] == true)
        .collect();
    assert!(pod["relaxed"] == true && !passing.is_empty(), "{pod}");
    for node in passing {
        let lacks = node["refusedBy"].as_array().expect("a list");
        assert!(lacks.contains(&json!("networkIo")), "{node}");
        assert!(node["score"].is_number(), "{node}");
    }
    assert!(pod["best"].is_string());
}

#[test]
fn the_shipped_cluster_is_what_its_seed_gives() {
    let shipped = include_str!("../../examples/clusters/thirty-nodes.yaml");
    assert_eq!(generate_cluster::cluster(2026, 30), shipped);
}
