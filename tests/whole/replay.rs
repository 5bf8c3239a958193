//! The round trip of a record: a run of `dev` is recorded by `evenkeel record`, the record is run
//! again by `dev` and recorded too, and both are compared. Another test searches an anonymized
//! record for names.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use evenkeel_lab::dev::cluster::{DevCluster, DevClusterOptions, DevEventBus};
use evenkeel_lab::dev::embedded_service;
use evenkeel_lab::record::archive;
use evenkeel_lab::record::archive::ArchiveFiles;
use evenkeel_sandbox::recording::{PodRecord, RECORD, RecordManifest, SCENARIO};
use evenkeel_sandbox::scenario::Scenario;
use evenkeel_service::dashboard::ReplayBoard;
use evenkeel_units::Ratio;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use serde_json::Value;

/// A load that doubles within some minutes, a constant one, and Pods with a fixed count.
const SHOP: &str = "
name: bookshop
nodes:
  - {name: alder, capacity: {cpu: 4, memory: 8Gi, networkIo: 1Gbps, diskIo: 200MB/s, disk: 100Gi}}
  - {name: birch, capacity: {cpu: 4, memory: 16Gi, networkIo: 1Gbps, diskIo: 200MB/s, disk: 100Gi}}
  - {name: cedar, capacity: {cpu: 8, memory: 16Gi, networkIo: 1Gbps, diskIo: 400MB/s, disk: 200Gi}}
workloads:
  - name: catalogue
    namespace: bookshop
    replicas: 4
    demand: {cpu: 500m, memory: 256Mi}
    usage: {idle: {memory: 200Mi}, perRequest: {cpu: 10m, networkIo: 100KB/s}}
    startup: {pull: 0s, start: 5s, warmUp: 15s}
    traffic: {peak: 220, perReplica: 80, trace: day.csv}
    scale: {min: 2, max: 12, cpu: 60%}
  - name: ledger
    namespace: bookshop
    replicas: 3
    demand: {cpu: 400m, memory: 1Gi}
    usage: {idle: {cpu: 300m, memory: 800Mi, diskIo: 5MB/s}}
    startup: {pull: 0s, start: 5s, warmUp: 5s}
";
/// Requests from 100 a second to 220 within five minutes, and back.
const DAY: &str = "0,100\n300,100\n600,220\n900,160\n1200,100\n1500,100\n";

/// Seconds of the scenario a second.
const SPEED: f64 = 30.0;
/// The span of a record.
const SINCE: i64 = 8 * 60;
/// Until the Pods are ready and measured, so that a record has values from its begin on.
const LEAD: i64 = 90;

fn shop() -> Scenario {
    Scenario::read(SHOP, &|_: &Path| Ok(DAY.to_owned())).unwrap()
}

async fn start(folder: &Path, scenario: Scenario) -> DevCluster {
    // Fails only where a provider is installed already, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let options = DevClusterOptions {
        scenario,
        speed: Ratio::new(SPEED).unwrap(),
        patience: Some(Duration::from_secs(10)),
        keeps_pace: true,
        ..DevClusterOptions::new(folder.to_owned())
    };
    let serve = async |wiring| {
        embedded_service::run(wiring, ReplayBoard::default())
            .await
            .map_err(Into::into)
    };
    let cluster = DevCluster::start(options, DevEventBus::default(), serve).await;
    cluster.unwrap_or_else(|error| panic!("{error}"))
}

/// Waits until a time of the scenario.
async fn pass(cluster: &mut DevCluster, until: SignedDuration) {
    while cluster.now() < until {
        tokio::select! {
            () = tokio::time::sleep(Duration::from_millis(200)) => {}
            error = cluster.failed() => panic!("the service ended: {error}"),
        }
    }
}

async fn evenkeel(arguments: Vec<String>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_evenkeel"));
    command.args(arguments).env_clear();
    let output = tokio::task::spawn_blocking(move || command.output());
    output.await.unwrap().unwrap()
}

async fn record(cluster: &DevCluster, file: &Path, more: &[&str]) -> Vec<u8> {
    let prometheus = format!("http://{}", cluster.prometheus_address());
    let since = format!("{SINCE}s");
    let arguments = [
        "record",
        "--since",
        &since,
        "--step",
        "15s",
        "--prometheus",
        &prometheus,
        "--set",
        "metrics.prometheus.window=60s",
        "--kubeconfig",
        cluster.kubeconfig().to_str().unwrap(),
        "-o",
        file.to_str().unwrap(),
    ];
    let arguments = arguments.iter().chain(more).map(|&text| text.to_owned());
    let done = evenkeel(arguments.collect()).await;
    let error = String::from_utf8_lossy(&done.stderr);
    assert!(done.status.success(), "{error}");
    std::fs::read(file).unwrap()
}

fn scenario(files: &ArchiveFiles) -> Scenario {
    let traces = |path: &Path| Ok(files[path.to_str().unwrap()].clone());
    Scenario::read(&files[SCENARIO], &traces).unwrap()
}

/// A record, with the time of its cluster at which the run began.
struct RecordedRun {
    files: ArchiveFiles,
    begin: Timestamp,
}

impl RecordedRun {
    /// A run of a scenario to the end of a record.
    async fn of(scenario: Scenario) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut cluster = start(folder.path(), scenario).await;
        pass(&mut cluster, SignedDuration::from_secs(SINCE + LEAD)).await;
        let deployments: Api<Deployment> = Api::namespaced(cluster.client.clone(), "bookshop");
        let catalogue = deployments.get("catalogue").await.unwrap();
        let begin = catalogue.metadata.creation_timestamp.unwrap().0;
        // The same place in each run, however long the command takes to start.
        let until = begin + SignedDuration::from_secs(SINCE + LEAD - 30);
        let until = ["--until", &until.to_string()];
        let bytes = record(&cluster, &folder.path().join("run.tar"), &until).await;
        cluster.stop().await;
        Self {
            files: archive::read(&bytes).unwrap(),
            begin,
        }
    }

    /// Seconds from the begin of the run to that of its record.
    fn lead(&self) -> i64 {
        let manifest = RecordManifest::read(&self.files[RECORD]).unwrap();
        manifest.from.duration_since(self.begin).as_secs()
    }

    /// Ready Pods of a workload by the seconds since the begin of the run.
    fn counts(&self, workload: &str) -> BTreeMap<i64, f64> {
        let manifest = RecordManifest::read(&self.files[RECORD]).unwrap();
        let counts: BTreeMap<String, Vec<Option<f64>>> =
            serde_json::from_str(&self.files["replicas.json"]).unwrap();
        let times = (0..).map(|step| self.lead() + step * manifest.step_seconds);
        let known = times.zip(&counts[workload]);
        known
            .filter_map(|(at, count)| Some((at, (*count)?)))
            .collect()
    }
}

/// The share of Pods on another node: half of the differences of the counts by workload and node.
fn moved_share(one: &ArchiveFiles, other: &ArchiveFiles) -> f64 {
    let places = |files: &ArchiveFiles| {
        let pods: Vec<PodRecord> = serde_json::from_str(&files["pods.json"]).unwrap();
        let mut places: BTreeMap<(String, String), f64> = BTreeMap::new();
        for pod in pods.into_iter().filter(|pod| pod.namespace == "bookshop") {
            let key = (
                pod.workload.unwrap_or_default(),
                pod.node.unwrap_or_default(),
            );
            *places.entry(key).or_default() += 1.0;
        }
        places
    };
    let (one, other) = (places(one), places(other));
    let keys = one.keys().chain(other.keys());
    let keys: std::collections::BTreeSet<_> = keys.collect();
    let count = |places: &BTreeMap<_, f64>, key| places.get(key).copied().unwrap_or(0.0);
    let differences = keys
        .into_iter()
        .map(|key| (count(&one, key) - count(&other, key)).abs());
    let all = one.values().sum::<f64>().max(other.values().sum());
    differences.sum::<f64>() / 2.0 / all
}

/// The mean difference of two courses of counts, as a share of the first one's mean, where both are
/// known; `moved` is added to the times of the second.
fn count_difference(one: &BTreeMap<i64, f64>, other: &BTreeMap<i64, f64>, moved: i64) -> f64 {
    let pairs = one.iter().filter_map(|(at, count)| {
        let near = other.range(at - moved - 8..=at - moved + 8).next()?;
        Some((*count, *near.1))
    });
    let pairs: Vec<(f64, f64)> = pairs.collect();
    assert!(pairs.len() > 20, "the runs overlap: {pairs:?}");
    let difference: f64 = pairs.iter().map(|(one, other)| (one - other).abs()).sum();
    difference / pairs.iter().map(|(one, _)| one).sum::<f64>()
}

/// Bounds of the round trip, about twice what was measured on a busy machine. The control plane
/// takes real time, so its decisions move.
const COUNTS_DIFFER: f64 = 0.25;
const PLACES_DIFFER: f64 = 0.4;

#[tokio::test(flavor = "multi_thread")]
async fn a_recorded_run_replays_to_the_same_counts_and_places_within_its_noise() {
    let first = RecordedRun::of(shop()).await;
    let second = RecordedRun::of(scenario(&first.files)).await;
    for workload in ["bookshop/catalogue", "bookshop/ledger"] {
        let (one, other) = (first.counts(workload), second.counts(workload));
        let differ = count_difference(&one, &other, first.lead());
        println!(
            "{workload}: counts differ by {differ:.3}: {one:?} {other:?} {}",
            first.lead()
        );
        assert!(differ <= COUNTS_DIFFER, "{workload}: {differ}");
    }
    let (first, second) = (first.files, second.files);
    let differ = moved_share(&first, &second);
    println!("places differ by {differ:.3}");
    assert!(
        differ <= PLACES_DIFFER,
        "{differ}: {} {}",
        first["pods.json"],
        second["pods.json"]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_anonymized_record_of_a_cluster_has_none_of_its_names_and_is_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let mut cluster = start(folder.path(), shop()).await;
    pass(&mut cluster, SignedDuration::from_secs(SINCE + LEAD)).await;
    let file = folder.path().join("run.tar");
    let names = ["bookshop", "catalogue", "ledger", "alder", "birch", "cedar"];
    let plain = record(&cluster, &file, &[]).await;
    let bytes = record(&cluster, &file, &["--anonymize"]).await;
    cluster.stop().await;
    let has = |bytes: &[u8], name: &str| {
        bytes
            .windows(name.len())
            .any(|part| part == name.as_bytes())
    };
    for name in names {
        assert!(has(&plain, name), "{name} is in the record as it is");
        assert!(!has(&bytes, name), "{name} is left");
    }
    let call = |more: &[&str]| {
        let call = [
            "simulate",
            "--replay",
            file.to_str().unwrap(),
            "--seeds",
            "2",
        ];
        let arguments = call.iter().chain(more).map(|&text| text.to_owned());
        evenkeel(arguments.collect())
    };
    let done = call(&["-o", "json"]).await;
    assert!(
        done.status.success(),
        "{}",
        String::from_utf8_lossy(&done.stderr)
    );
    let report: Value = serde_json::from_slice(&done.stdout).unwrap();
    let rows = report["replay"]["rows"].as_array().unwrap();
    let hours = |row: usize| rows[row]["replicaHours"].as_f64().unwrap();
    assert_eq!(rows[0]["name"], "as it was");
    // Recorded counts are of ready Pods; those of a replay have starting ones too.
    let differ = (hours(1) / hours(0) - 1.0).abs();
    println!("replica-hours of the replay in virtual time differ by {differ:.3}: {rows:?}");
    assert!(differ < 0.15, "{rows:?}");
    let done = call(&[]).await;
    let table = String::from_utf8(done.stdout).unwrap();
    for part in [
        "as it was",
        "with floors: ",
        "s under-provisioned instead of",
        "The replay itself: ",
        "Assumed: Times of image pulls are unknown",
    ] {
        assert!(table.contains(part), "{part}: {table}");
    }
}
