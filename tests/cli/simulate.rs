//! `evenkeel simulate`: what the thesis's experiment comes to, the same output for the same seeds, ways of scaling
//! beside the plain HPA, and what is refused.

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
fn in_a_herd_cpu_and_disk_io_are_more_even_than_by_default() {
    let called = evenkeel(&[
        "simulate",
        "--scenario",
        "examples/scenarios/simulate/herd.yaml",
        "--seeds",
        "2",
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
    for resource in ["cpu", "diskIo"] {
        let own = spread(&simulated, "evenkeel", resource);
        let plain = spread(&simulated, "default", resource);
        assert!(own < 0.7 * plain, "{resource}: {own} {plain}");
    }
}

#[test]
fn a_setting_without_effect_is_named_and_others_are_not() {
    let run = |settings: &[&str]| {
        let call = [
            "simulate",
            "--scenario",
            THESIS,
            "--seeds",
            "1",
            "--policy",
            "default",
        ];
        let settings = settings.iter().flat_map(|setting| ["--set", setting]);
        let call: Vec<&str> = call.into_iter().chain(settings).collect();
        let called = evenkeel(&call);
        assert_eq!(called.code, 0, "{}", called.stderr);
        called.stderr
    };
    let warned = run(&["scaling.risk=5%", "scheduling.headroom=0.7"]);
    assert!(
        warned.contains("--set scaling.risk has no effect"),
        "{warned}"
    );
    assert!(!warned.contains("headroom"), "{warned}");
    // The second is invalid without the first.
    run(&[
        "scheduling.overload.taint=prefer",
        "scheduling.overload.disk=true",
    ]);
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

/// The harm: `auto` came to no second under-provisioned here, since `simulate` acted on forecasts that the service, which
/// judges them by the workload's own past, does not trust. It scales like the plain HPA.
#[test]
fn ways_of_scaling_stand_side_by_side_and_act_on_what_the_service_trusts() {
    let called = evenkeel(&[
        "simulate",
        "--scenario",
        "examples/scenarios/simulate/thesis-5-3.yaml",
        "--policy",
        "default",
        "--scaling",
        "auto,ds-hpa,hpa,gbdt",
        "--seeds",
        "1",
        "-o",
        "json",
    ]);
    let simulated = called.json();
    let scalings = simulated["scalings"].as_array().expect("a list");
    let names: Vec<&Value> = scalings.iter().map(|one| &one["scaling"]).collect();
    assert_eq!(names, ["hpa", "ds-hpa", "gbdt", "auto"]);
    let response = |at: usize| scalings[at]["responses"]["meanSeconds"].as_f64();
    for at in [1, 2] {
        assert!(
            response(at) < response(0),
            "{}: who foresees the load answers faster",
            names[at]
        );
    }
    for figure in ["underProvisionedSeconds", "replicaHours"] {
        assert_eq!(scalings[3][figure], scalings[0][figure], "{figure}");
    }
    assert_eq!(simulated["policies"].as_array().map(Vec::len), Some(4));
}

/// Two shops, one of which has a calendar, for three hours of an afternoon.
const SHOPS: &str = "
name: shops
traceOffset: 38h
nodes:
  - {name: a, capacity: {cpu: 64, memory: 64Gi, networkIo: 10Gbps, diskIo: 1GB/s, disk: 500Gi}}
workloads:
  - name: web
    namespace: sale
    replicas: 2
    demand: {cpu: 500m}
    usage: {idle: {}, perRequest: {cpu: 5m}}
    startup: {pull: 0s, start: 30s, warmUp: 60s}
    traffic: {peak: 300, perReplica: 90, noise: 0.03, surges: [{at: 1h, lasts: 1h, ramp: 2m, times: 2}]}
    scale:
      min: 2
      max: 30
      cpu: 60%
      portraitProviders:
        - {type: Dynamic, priority: 0, dynamic: {portraitType: Reactive}}
        - {type: Cron, priority: 0, cron: {crons: [{name: sale, start: '50 0 * * *', end: '0 2 * * *', replicas: 9}]}}
  - name: api
    namespace: quiet
    replicas: 2
    demand: {cpu: 500m}
    usage: {idle: {}, perRequest: {cpu: 5m}}
    startup: {pull: 0s, start: 30s, warmUp: 60s}
    traffic: {peak: 300, perReplica: 90, noise: 0.1}
    scale:
      min: 2
      max: 30
      cpu: 60%
      portraitProviders: [{type: Dynamic, priority: 0, dynamic: {portraitType: Reactive}}]
simulation: {duration: 3h, assumed: [a sale]}
";

#[test]
#[expect(clippy::too_many_lines, reason = "one story, told in its order")]
fn portraits_stand_beside_the_plain_hpa_at_lower_targets() {
    let folder = tempfile::tempdir().expect("a folder");
    let svg = folder.path().join("ways.svg");
    let call = |seeds: &str, outputs: &[&str]| {
        let base = [
            "simulate",
            "--scenario",
            "-",
            "--frontier",
            "--seeds",
            seeds,
        ];
        evenkeel_with_input(&[&base[..], outputs].concat(), SHOPS)
    };
    let compared = call("2", &["-o", "json"]).json();
    let groups = compared["groups"].as_array().expect("a list");
    let names: Vec<&Value> = groups.iter().map(|group| &group["name"]).collect();
    assert_eq!(names, ["sale", "quiet", "all"]);
    let way = |group: usize, name: &str| {
        let ways = groups[group]["ways"].as_array().expect("a list");
        ways.iter().find(|way| way["way"] == name).cloned()
    };
    let mean = |way: &Value, figure: &str| way[figure]["mean"].as_f64().expect("a number");
    for group in 0..3 {
        let plain = way(group, "plain HPA at its target").expect("it is always there");
        let lower = way(group, "plain HPA at 60% of its target").expect("it is always there");
        let reactive = way(group, "reactive").expect("both have it");
        for figure in [
            "replicaHours",
            "underProvisionedSeconds",
            "meanResponseSeconds",
        ] {
            assert_eq!(reactive[figure], plain[figure], "{group} {figure}");
        }
        assert!(mean(&plain, "replicaHours") < mean(&lower, "replicaHours"));
        let beside = &reactive["atEqualReplicaHours"];
        let ratio = beside["underProvisioned"].as_f64().expect("a number");
        assert!((ratio - 1.0).abs() < 1e-9, "{beside}");
    }
    let announced = way(0, "cron + reactive").expect("the sale has both");
    let plain = way(0, "plain HPA at its target").expect("it is always there");
    let under = "underProvisionedSeconds";
    assert!(
        mean(&announced, under) <= mean(&plain, under),
        "{announced}"
    );
    assert!(mean(&announced, "replicaHours") > mean(&plain, "replicaHours"));
    assert_eq!(way(1, "cron + reactive"), None, "there is no calendar");
    assert_eq!(way(2, "cron + reactive").expect("of one")["workloads"], 1);
    let table = call("1", &["-o", "table", "-o", svg.to_str().expect("UTF-8")]);
    assert_eq!(table.code, 0, "{}", table.stderr);
    for part in [
        "Assumed: a sale",
        "sale, workloads: 1",
        "cron + reactive (1 of 2)",
        "BY SEED",
    ] {
        assert!(table.stdout.contains(part), "{part}: {}", table.stdout);
    }
    let picture = std::fs::read_to_string(svg).expect("it was drawn");
    for part in [
        "shops, sale: what safety costs",
        "plain HPA, by target",
        "cron + reactive",
    ] {
        assert!(picture.contains(part), "{part}");
    }
}

#[test]
fn pods_are_placed_in_the_numbers_that_portraits_ask_for() {
    let arguments = [
        "simulate",
        "--scenario",
        "-",
        "--scaling",
        "hpa,portraits",
        "--policy",
        "default",
        "--seeds",
        "1",
        "-o",
        "json",
    ];
    let simulated = evenkeel_with_input(&arguments, SHOPS).json();
    let scalings = simulated["scalings"].as_array().expect("a list");
    assert_eq!(scalings[1]["scaling"], "portraits");
    let hours = |at: usize| scalings[at]["replicaHours"].as_f64();
    let under = |at: usize| scalings[at]["underProvisionedSeconds"].as_f64();
    assert!(hours(1) > hours(0) && under(1) < under(0), "{scalings:?}");
}

#[test]
fn what_is_not_accepted_is_refused_with_what_is() {
    let scenario = ["simulate", "--scenario", THESIS];
    let with = |more: &[&str]| evenkeel(&[&scenario[..], more].concat());
    with(&["--policy", "best"]).is_refused(2, &["best", "load-variation-risk"]);
    with(&["--scaling", "never"]).is_refused(2, &["never", "ds-hpa"]);
    with(&["--seeds", "0"]).is_refused(2, &["--seeds"]);
    with(&["--load-factor", "0.5"]).is_refused(2, &["--replay"]);
    with(&["--simkube", "Cargo.toml"]).is_refused(2, &["Cargo.toml", "SimKube", "MessagePack"]);
    with(&["--frontier"]).is_refused(2, &["--frontier", "portraitProviders"]);
    with(&["--frontier", "--policy", "clbp"]).is_refused(2, &["--frontier", "--policy"]);
    let file = SHOPS.replace("portraitType: Reactive", "portraitType: Burst");
    let called = evenkeel_with_input(&["simulate", "--scenario", "-", "--frontier"], &file);
    called.is_refused(
        2,
        &[
            "workloads[0].scale",
            "portraitProviders[0].dynamic",
            "algorithm.type",
        ],
    );
    let file = std::fs::read_to_string(THESIS).expect("the scenario is there");
    let file = file.replace("countFrom: 35m", "countForm: 35m");
    let called = evenkeel_with_input(&["simulate", "--scenario", "-"], &file);
    called.is_refused(2, &["countForm", "countFrom"]);
}
