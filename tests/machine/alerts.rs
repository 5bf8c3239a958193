//! The alert rules, evaluated by promtool on the series of a healthy cluster and of one fault after the
//! other.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

use serde::Deserialize;
use serde_json::{Value, json};

/// Series as promtool takes them.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct Series {
    series: String,
    values: String,
}

/// The changes that a fault makes in the healthy cluster's series.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fault {
    alert: String,
    /// Series with other values, and new ones.
    #[serde(default)]
    series: Vec<Series>,
    /// The beginnings of series that are not there.
    #[serde(default)]
    gone: Vec<String>,
    /// Other alerts that the fault fires.
    #[serde(default)]
    with: Vec<String>,
    /// When it is looked at; at the end where nothing is said.
    #[serde(default)]
    at: Option<String>,
}

const END: &str = "179m";

fn read<T: for<'de> Deserialize<'de>>(file: &str) -> T {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
    let text = std::fs::read_to_string(&path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

impl Fault {
    fn applied(&self, healthy: &[Series]) -> Vec<Series> {
        for beginning in &self.gone {
            let gone = healthy.iter().any(|one| one.series.starts_with(beginning));
            assert!(gone, "{}: no series begins with {beginning}", self.alert);
        }
        let kept = healthy.iter().filter(|one| {
            let is_gone = self
                .gone
                .iter()
                .any(|beginning| one.series.starts_with(beginning));
            let is_other = self.series.iter().any(|other| other.series == one.series);
            !is_gone && !is_other
        });
        kept.chain(&self.series).cloned().collect()
    }
}

/// A test of promtool's: exactly these alerts fire at these times.
fn case(name: &str, series: &[Series], times: &[&str], alerts: &BTreeSet<&str>) -> Value {
    let series: Vec<Value> = series
        .iter()
        .map(|one| json!({"series": one.series, "values": one.values}))
        .collect();
    let firing: Vec<Value> = alerts
        .iter()
        .map(|alert| json!({"labels": format!("{{alertname={alert:?}}}"), "value": 1}))
        .collect();
    let looks: Vec<Value> = times
        .iter()
        .map(|time| {
            json!({
                "expr": "group by (alertname) (ALERTS{alertstate=\"firing\"})",
                "eval_time": time,
                "exp_samples": firing,
            })
        })
        .collect();
    json!({"name": name, "interval": "1m", "input_series": series, "promql_expr_test": looks})
}

/// The same cluster where the metrics API is the source, which knows cpu and memory alone.
fn by_metrics_api(healthy: &[Series]) -> Vec<Series> {
    let mut series = healthy.to_vec();
    let mut unknown = 0;
    for one in &mut series {
        for resource in ["networkIo", "disk"] {
            let of = |freshness: &str| {
                let labels = format!("resource={resource:?},freshness={freshness:?}");
                one.series.contains(&labels)
            };
            if of("fresh") {
                "0x180".clone_into(&mut one.values);
            } else if of("absent") {
                "4x180".clone_into(&mut one.values);
                unknown += 1;
            }
        }
    }
    assert_eq!(unknown, 2);
    series
}

/// The same cluster where kube-scheduler follows score labels and calls no extender.
fn by_score_labels(healthy: &[Series]) -> Vec<Series> {
    let calls = "evenkeel_http_requests_total{pod=\"keel-0\",path=\"/scheduler/filter\"";
    let mut series = healthy.to_vec();
    series.retain(|one| !one.series.starts_with(calls));
    assert_eq!(series.len() + 1, healthy.len());
    series.push(Series {
        series: "evenkeel_score_labels_on{pod=\"keel-0\"}".to_owned(),
        values: "1x180".to_owned(),
    });
    series
}

fn rules() -> BTreeSet<String> {
    let alerts: Value = read("deploy/prometheus/alerts.yaml");
    let groups = alerts["groups"].as_array().unwrap();
    let rules = groups
        .iter()
        .flat_map(|group| group["rules"].as_array().unwrap());
    rules
        .map(|rule| rule["alert"].as_str().unwrap().to_owned())
        .collect()
}

fn no_alert_fires_on_a_healthy_cluster_and_each_on_its_fault_alone() {
    let healthy: Vec<Series> = read("tests/fixtures/alerts/healthy.yaml");
    let faults: Vec<Fault> = read("tests/fixtures/alerts/faults.yaml");
    let tested: BTreeSet<String> = faults.iter().map(|fault| fault.alert.clone()).collect();
    assert_eq!(tested, rules(), "each alert has a fault");
    let times = ["20m", "45m", "65m", "90m", "120m", "150m", END];
    let none = BTreeSet::new();
    let mut cases = vec![
        case("healthy", &healthy, &times, &none),
        case("metrics API", &by_metrics_api(&healthy), &times, &none),
        case("score labels", &by_score_labels(&healthy), &times, &none),
    ];
    for fault in &faults {
        let alerts = fault.with.iter().chain([&fault.alert]);
        let alerts = alerts.map(String::as_str).collect();
        let at = fault.at.as_deref().unwrap_or(END);
        let series = fault.applied(&healthy);
        cases.push(case(&fault.alert, &series, &[at], &alerts));
    }
    let rules = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy/prometheus/alerts.yaml");
    let tests = json!({"rule_files": [rules], "evaluation_interval": "1m", "tests": cases});
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("tests.yaml");
    std::fs::write(&file, tests.to_string()).unwrap();
    let output = Command::new("promtool")
        .args(["test", "rules"])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
}

crate::support::trial::suite!(
    [crate::support::trial::Requirement::Program("promtool")] => [
        no_alert_fires_on_a_healthy_cluster_and_each_on_its_fault_alone,
    ],
);
