//! `classify`: profiles, demands, and warnings.

use super::{MIXED, PROXY, evenkeel, evenkeel_with_input};

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
