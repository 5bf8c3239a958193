//! `evenkeel dev`: the whole cluster in one call, and what is refused before it starts.

use serde_json::Value;

use super::evenkeel;

/// However busy the machine is: at this speed a minute of the scenario, in which the first Pods
/// come, takes three seconds, and a slow webhook is waited for.
const SHORT: [&str; 7] = [
    "dev",
    "--duration",
    "5s",
    "--speed",
    "60",
    "--patience",
    "10s",
];

#[test]
fn a_short_run_tells_how_to_reach_the_cluster_what_happens_and_how_it_compares() {
    let folder = tempfile::tempdir().expect("a folder");
    let picture = folder.path().join("end.txt");
    let picture = picture.to_str().expect("a plain path");
    let called = evenkeel(&[&SHORT[..], &["--no-tty", "--picture", picture]].concat());
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    let drawn = std::fs::read_to_string(picture).expect("the view is written");
    assert!(
        drawn.contains("shop/frontend") && drawn.contains("service ready"),
        "{drawn}"
    );
    for part in [
        "kubectl --kubeconfig /",
        "service     ready",
        "classified  shop/frontend-",
        "placed      shop/frontend-",
        "nodes ready, cpu up to",
        "Spread of network",
        "Default scheduler",
        "Evenkeel is worse in",
    ] {
        assert!(called.stdout.contains(part), "{part}: {}", called.stdout);
    }
}

#[test]
fn programs_get_objects_the_last_of_which_compares() {
    let faults = ["--fault", "metrics-down@1s..10000s", "-o", "json"];
    let called = evenkeel(&[&SHORT[..], &faults].concat());
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    let objects: Vec<Value> = called
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("each line is an object"))
        .collect();
    let kind = |object: &Value| object["event"].as_str().map(str::to_owned);
    let kinds: Vec<String> = objects.iter().filter_map(kind).collect();
    assert_eq!(kinds.len(), objects.len());
    assert_eq!(kinds.first().map(String::as_str), Some("started"));
    assert!(kinds.iter().any(|kind| kind == "fault"));
    let last = &objects[objects.len() - 1];
    assert_eq!(last["event"], "summary");
    assert_eq!(
        last["plain"]["resources"].as_array().map(Vec::len),
        last["evenkeel"]["resources"].as_array().map(Vec::len)
    );
}

#[test]
fn yaml_is_a_document_an_event_and_traces_stand_beside_their_scenario() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("scenario.yaml");
    let write = |trace: &str| {
        let text = std::fs::read_to_string("examples/scenarios/tight.yaml").expect("it is there");
        let from = "perReplica: 100}";
        assert!(text.contains(from));
        let to = format!("perReplica: 100, trace: {trace}}}");
        std::fs::write(&path, text.replace(from, &to)).expect("it can be written");
    };
    let scenario = path.to_str().expect("a path of letters");
    write("none.csv");
    let call = ["dev", "--scenario", scenario, "-o", "yaml"];
    evenkeel(&call).is_refused(2, &["workloads[5].traffic.trace", "none.csv"]);
    write("flat.csv");
    let flat = folder.path().join("flat.csv");
    std::fs::write(flat, "0,1\n60,1\n").expect("it can be written");
    let called = evenkeel(&[&SHORT[..], &["--scenario", scenario, "-o", "yaml"]].concat());
    assert_eq!(called.code, 0, "{}{}", called.stdout, called.stderr);
    let documents: Vec<Value> = called
        .stdout
        .split("---\n")
        .skip(1)
        .map(|document| serde_saphyr::from_str(document).expect("each is a document"))
        .collect();
    assert_eq!(documents[0]["event"], "started");
    let last = &documents[documents.len() - 1];
    assert_eq!(last["event"], "summary");
    assert!(last["lag"]["pods"].as_u64().is_some_and(|pods| pods > 0));
    // The trace is at its peak all the time.
    let web = documents.iter().filter_map(|document| {
        let workloads = document["workloads"].as_array()?;
        let web = workloads
            .iter()
            .find(|workload| workload["name"] == "web")?;
        web["offered"].as_f64()
    });
    let offered: Vec<f64> = web.collect();
    assert!(!offered.is_empty());
    assert!(offered.iter().all(|offered| (offered - 900.0).abs() < 1e-6));
}

#[test]
fn wrong_calls_are_told_what_is_accepted() {
    for (arguments, parts) in [
        (&["--fault", "fire@1m..2m"][..], &["fire", "node-loss"][..]),
        (&["--fault", "hang@2m..1m"], &["FROM..UNTIL"]),
        (&["--speed", "0"], &["0.1 to 1000"]),
        (&["--duration", "soon"], &["such as 30s"]),
        (&["--nodes", "0"], &["1..=1000"]),
        (&["--scenario", "none.yaml"], &["none.yaml"]),
        (&["--scenario", "Cargo.toml"], &["Cargo.toml", "scenario"]),
    ] {
        evenkeel(&[&["dev"], arguments].concat()).is_refused(2, parts);
    }
}
