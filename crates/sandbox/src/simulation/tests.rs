//! Properties of whole runs: nothing gets lost, only the seed matters, and a case that can be
//! computed by hand.

use std::collections::BTreeMap;

use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_placement::balance::{Normalization, ScoringStrategy};
use evenkeel_placement::profile::ProfileTable;
use evenkeel_placement::{NodesToScore, SchedulingPolicy, node_table};
use evenkeel_units::{Resource, Resources};
use jiff::SignedDuration;

use super::*;

pub(super) fn own() -> OwnSettings {
    let share = |share| Ratio::share(share).unwrap();
    OwnSettings {
        balances_scale_in: false,
        policy: SchedulingPolicy {
            headroom: share(0.8),
            headroom_by_priority_class: BTreeMap::new(),
            profile_threshold: share(0.15),
            no_headroom: NoHeadroom::Reject,
            nodes_to_score: NodesToScore::ALL,
            relax_after: Some(SignedDuration::from_mins(5)),
            scoring: ScoringStrategy {
                normalization: Normalization::Joint,
                significance: 0.05,
            },
            profiles: ProfileTable::default(),
            caps_as_demand: false,
            default_capacity: Resources::default(),
            scheduler_name: None,
            score_labels: None,
            max_age: SignedDuration::from_mins(3),
        },
        table: node_table::Settings::default(),
    }
}

fn comparison(text: &str) -> ScenarioComparison {
    let scenario = text.parse().unwrap();
    ScenarioComparison::new(
        scenario,
        ScalingMethod::Hpa,
        own(),
        Ratio::share(0.8).unwrap(),
        FitFunctions::NONE,
    )
}

/// Two nodes, and `count` Pods that each want a third of a node's network; each binding is seen
/// before the next Pod is placed.
fn network(count: u32) -> String {
    format!(
        "
name: two
nodes:
  - {{name: node, count: 2, capacity: {{cpu: 8, memory: 8Gi, networkIo: 100MB/s, diskIo: 100MB/s, disk: 50Gi}}}}
workloads:
  - name: stream
    namespace: media
    arrival: 1m
    replicas: {count}
    demand: {{cpu: 100m, memory: 128Mi, networkIo: 35MB/s}}
    usage: {{idle: {{cpu: 100m, memory: 128Mi, networkIo: 35MB/s}}}}
    startup: {{pull: 0s, start: 0s, warmUp: 0s}}
simulation: {{duration: 10m, countFrom: 2m, scheduler: {{decision: 100ms, notice: 0s, binding: 0s}}}}
"
    )
}

fn network_of(summary: &RunSummary) -> (f64, f64) {
    let mut parts = summary.resources.iter();
    let network = parts.find(|part| part.resource == Resource::NetworkIo);
    network.map(|part| (part.spread, part.peak)).unwrap()
}

#[test]
fn four_pods_on_two_nodes_go_two_and_two_where_load_is_seen() {
    // Each node has 2 x 35 MB/s of 100, and its system's 1 %: 71 %, and no spread.
    let four = comparison(&network(4));
    for seed in 0..20 {
        let (spread, peak) = network_of(&four.run(PolicyName::Evenkeel, seed));
        assert!(
            spread < 1e-9 && (peak - 0.71).abs() < 1e-9,
            "{seed}: {spread} {peak}"
        );
    }
}

#[test]
fn a_burst_goes_two_and_two_although_no_binding_is_seen_before_the_last_decision() {
    let burst = network(4).replace("decision: 100ms, notice: 0s, binding: 0s", "binding: 1s");
    let burst = comparison(&burst);
    for seed in 0..40 {
        let (spread, peak) = network_of(&burst.run(PolicyName::Evenkeel, seed));
        assert!(
            spread < 1e-9 && (peak - 0.71).abs() < 1e-9,
            "{seed}: {spread} {peak}"
        );
    }
}

#[test]
fn score_labels_even_out_the_network_where_requests_do_not() {
    // By requests, the node with more cpu is the better one for each of four workloads of one Pod.
    let both = "{name: node, count: 2, capacity: {cpu: 8,";
    let large = "{name: large, capacity: {cpu: 64, memory: 64Gi, networkIo: 100MB/s, diskIo: 100MB/s, disk: 50Gi}}";
    let small = "{name: small, capacity: {cpu: 8,";
    let whole = network(1).replace(both, &format!("{large}\n  - {small}"));
    let (head, rest) = whole.split_once("  - name: stream").unwrap();
    let (workload, simulation) = rest.split_once("simulation:").unwrap();
    let workloads = (1..=4).map(|at| {
        let arrival = workload.replace("arrival: 1m", &format!("arrival: {at}m"));
        format!("  - name: stream-{at}{arrival}")
    });
    let simulation = simulation.replace("countFrom: 2m", "countFrom: 5m");
    let text = format!(
        "{head}{}simulation:{simulation}",
        workloads.collect::<String>()
    );
    let unequal = comparison(&text);
    for seed in 0..10 {
        let (_, labels) = network_of(&unequal.run(PolicyName::EvenkeelLabels, seed));
        let (_, plain) = network_of(&unequal.run(PolicyName::Default, seed));
        assert!((labels - 0.71).abs() < 1e-9, "{seed}: {labels}");
        assert!(plain > 1.0, "{seed}: {plain}");
    }
}

#[test]
fn pods_that_ask_for_nothing_do_not_all_go_to_the_emptiest_node() {
    let first = "workloads:
  - name: first
    namespace: media
    replicas: 1
    demand: {cpu: 300m}
    usage: {idle: {cpu: 300m}}
    startup: {pull: 0s, start: 0s, warmUp: 0s}
";
    let demanding = "demand: {cpu: 100m, memory: 128Mi, networkIo: 35MB/s}";
    let silent = network(20)
        .replace("workloads:\n", first)
        .replace(demanding, "demand: {}")
        .replace("networkIo: 35MB/s", "networkIo: 3MB/s")
        .replace("decision: 100ms, notice: 0s, binding: 0s", "decision: 5ms");
    let silent = comparison(&silent);
    for seed in 0..20 {
        // Twelve of twenty are 37 %, and all of them 61 %.
        let (_, peak) = network_of(&silent.run(PolicyName::Evenkeel, seed));
        assert!((0.3..0.45).contains(&peak), "{seed}: {peak}");
    }
}

#[test]
fn a_pod_that_would_go_over_the_line_waits_and_only_where_somebody_looks() {
    let five = comparison(&network(5));
    let ours = five.run(PolicyName::Evenkeel, 1);
    let plain = five.run(PolicyName::Default, 1);
    // The fifth is refused for five minutes, and then let through.
    assert_eq!((ours.refused, ours.still_refused), (1, 0));
    assert!(
        (300.0..320.0).contains(&ours.longest_refused_seconds),
        "{ours:?}"
    );
    assert_eq!(plain.refused, 0);
    assert!((network_of(&plain).1 - 1.06).abs() < 1e-9);
}

#[test]
fn a_seed_gives_the_same_figures_and_another_one_others() {
    let mixed = ScenarioComparison::new(
        Scenario::mixed(),
        ScalingMethod::Hpa,
        own(),
        Ratio::share(0.8).unwrap(),
        FitFunctions::NONE,
    );
    for policy in PolicyName::ALL {
        let of = |seed| serde_json::to_string(&mixed.run(policy, seed)).unwrap();
        assert_eq!(of(1), of(1), "{policy}");
        assert_ne!(of(1), of(2), "{policy}");
    }
}

#[test]
fn pods_are_where_they_were_placed_and_requests_fit_at_every_moment() {
    let mut scenario = Scenario::mixed();
    scenario.simulation.duration = SignedDuration::from_hours(4);
    scenario.simulation.interval = SignedDuration::from_secs(60);
    let mixed = ScenarioComparison::new(
        scenario,
        ScalingMethod::Hpa,
        own(),
        Ratio::share(0.8).unwrap(),
        FitFunctions::NONE,
    );
    for policy in PolicyName::ALL {
        let mut run = mixed.begin(policy, 3);
        while run.advance() {
            run.check();
        }
    }
}

#[test]
fn every_policy_has_a_name_that_is_read_back() {
    for policy in PolicyName::ALL {
        assert_eq!(policy.as_str().parse(), Ok(policy));
    }
    let unknown = "trimaran".parse::<PolicyName>().unwrap_err().to_string();
    assert!(
        unknown.contains("trimaran") && unknown.contains("load-variation-risk"),
        "{unknown}"
    );
}
