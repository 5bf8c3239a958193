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
        "median node",
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
fn numbers_of_manifests_are_those_that_kubectl_reads() {
    let cpu = |written: &str| {
        let manifest = format!(
            "kind: Pod\nmetadata: {{name: a}}\nspec:\n  containers:\n  - resources: {{requests: {{cpu: {written}}}}}\n"
        );
        evenkeel_with_input(&["classify", "-f", "-", "-o", "json"], &manifest)
    };
    for (written, millicores) in [
        ("010", 8000),
        ("'010'", 10_000),
        ("0o10", 8000),
        ("0x10", 16_000),
        ("1_0", 10_000),
        (".5", 500),
        ("1e1", 10_000),
        ("500m", 500),
    ] {
        let report = cpu(written).json();
        let demand = &report["pods"][0]["resources"]["cpu"]["demand"];
        assert_eq!(*demand, millicores, "{written}");
    }
    for negative in ["-1", "-500m", "'-1'", "-0.5"] {
        cpu(negative).is_refused(2, &["requests", "is below 0; accepted: 0 or more"]);
    }
    cpu("1:30").is_refused(2, &["requests", "1:30"]);
}

#[test]
fn amounts_of_a_cluster_file_are_read_alike() {
    let cluster = |cpu: &str| {
        format!(
            "apiVersion: config.evenkeel.dev/v1alpha1\nkind: ClusterSnapshot\nnodes:\n\
             - {{name: n, capacity: {{cpu: {cpu}, memory: 8Gi}}}}\n"
        )
    };
    let directory = std::env::temp_dir().join(format!("evenkeel-cluster-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let file = directory.join("cluster.yaml");
    let path = file.to_str().unwrap();
    let score = |cpu: &str| {
        std::fs::write(&file, cluster(cpu)).unwrap();
        evenkeel(&["score", "-f", PROXY, "--cluster", path, "-o", "json"])
    };
    let [octal, decimal] = ["010", "8"].map(|cpu| score(cpu).json());
    assert_eq!(octal, decimal);
    score("-8").is_refused(2, &["nodes[0].capacity.cpu", "0 or more"]);
    std::fs::remove_dir_all(&directory).unwrap();
}

#[cfg(feature = "lab")]
#[test]
fn a_recommendation_keeps_the_least_amounts_of_a_resize() {
    let directory = std::env::temp_dir().join(format!("evenkeel-recommend-{}", std::process::id()));
    std::fs::create_dir_all(&directory).unwrap();
    let [manifest, cpu] = ["deployment.yaml", "cpu.csv"].map(|name| directory.join(name));
    let recommend = |resources: &str, used: &str| {
        let object = format!(
            "apiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: web}}\nspec: {{template: {{spec: \
             {{containers: [{{name: app, resources: {resources}}}]}}}}}}\n"
        );
        std::fs::write(&manifest, object).unwrap();
        let rows = (0..400).map(|at| format!("{},{used}\n", 1_790_000_000 + 300 * at));
        std::fs::write(
            &cpu,
            format!("timestamp,value\n{}", rows.collect::<String>()),
        )
        .unwrap();
        let [manifest, cpu] = [&manifest, &cpu].map(|path| path.to_str().unwrap());
        evenkeel(&[
            "tune",
            "recommend",
            "-f",
            manifest,
            "--cpu",
            cpu,
            "-o",
            "json",
        ])
    };
    let own = "{requests: {cpu: 100m}, limits: {cpu: 500m}}";
    for used in ["0", "0.0003"] {
        let shown = recommend(own, used).json();
        let proposed = &shown["workloads"][0]["containers"][0]["proposed"];
        assert_eq!(proposed["limits"]["cpu"], "50m", "{used}");
        assert_eq!(proposed["requests"]["cpu"], "10m", "{used}");
    }
    let shown = recommend("{requests: {cpu: 010}, limits: {cpu: 020}}", "1").json();
    assert_eq!(
        shown["workloads"][0]["containers"][0]["current"]["requests"]["cpu"],
        "8"
    );
    recommend(own, "-1").is_refused(2, &["\"-1\" is not a load"]);
    recommend("{requests: {cpu: -1}}", "1").is_refused(2, &["is below 0; accepted: 0 or more"]);
    std::fs::remove_dir_all(&directory).unwrap();
}
