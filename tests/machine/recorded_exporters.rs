//! The built-in queries, the probe of the self-check and the alert rule on kube-state-metrics, evaluated by
//! promtool on what real exporters show: every metric and label that they name has to be there.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::Form;
use axum::routing::post;
use axum::{Json, Router};
use evenkeel_clock as clock;
use evenkeel_http_client::HeaderMap;
use evenkeel_service::metrics::prometheus::{
    ExporterMatchers, NodeLabel, PrometheusConnection, PrometheusSource, Queries, Settings,
};
use evenkeel_service::metrics::{Answers, EndpointAccess, MetricsSource, UsageQuery};
use evenkeel_units::{Bytes, Resource};
use jiff::SignedDuration;
use serde_json::{Value, json};

/// The texts with the labels that a scrape adds, as kube-prometheus-stack names its jobs.
const EXPORTERS: [(&str, &str); 4] = [
    (
        "node_exporter.txt",
        r#"job="node-exporter",instance="10.0.0.1:9100""#,
    ),
    (
        "node_exporter-e2e.txt",
        r#"job="node-exporter",instance="10.0.0.2:9100""#,
    ),
    (
        "cadvisor-containerd.txt",
        r#"job="kubelet",instance="10.0.0.1:10250",node="datagen-1-35""#,
    ),
    ("kube-state-metrics.txt", r#"job="kube-state-metrics""#),
];

fn text(path: &str) -> String {
    std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(path)).unwrap()
}

/// The recorded series as they are once Prometheus has scraped them for ten minutes: what counts grows.
fn series() -> Vec<Value> {
    let mut all = Vec::new();
    for (file, scrape) in EXPORTERS {
        let text = text(&format!("tests/fixtures/exporters/{file}"));
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let (name, labels, rest) = if let Some((name, rest)) = line.split_once('{') {
                let (labels, rest) = rest.split_once('}').unwrap();
                (name, format!("{scrape},{labels}"), rest)
            } else {
                let (name, rest) = line.split_once(' ').unwrap();
                (name, scrape.to_owned(), rest)
            };
            let value: f64 = rest.split_whitespace().next().unwrap().parse().unwrap();
            let step = if name.ends_with("_total") { 15 } else { 0 };
            // Times would lie in promtool's future, which begins in 1970.
            let value = if name.contains("_time") || name.ends_with("_created") {
                0.0
            } else {
                value
            };
            let sign = if value < 0.0 { "-" } else { "" };
            let value = format!("{sign}{:.0}", value.abs());
            all.push(json!({
                "series": format!("{name}{{{labels}}}"),
                "values": format!("{value}+{step}x720"),
            }));
        }
    }
    all
}

/// Every query of the source as it is sent, by its name, and the probe.
async fn queries() -> BTreeMap<String, String> {
    let asked: Arc<Mutex<Vec<String>>> = Arc::default();
    let seen = Arc::clone(&asked);
    let answer = move |Form(form): Form<BTreeMap<String, String>>| async move {
        seen.lock().unwrap().push(form["query"].clone());
        let data = json!({"resultType": "vector", "result": []});
        Json(json!({"status": "success", "data": data}))
    };
    let router = Router::new().route("/api/v1/query", post(answer));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let _ = rustls::crypto::ring::default_provider().install_default();
    let source = PrometheusSource::new(Settings {
        connection: PrometheusConnection {
            url: url.parse().unwrap(),
            headers: HeaderMap::new(),
            access: EndpointAccess::default(),
            timeout: Duration::from_mins(1),
            body_limit: Bytes(1 << 20),
        },
        window: SignedDuration::from_mins(2),
        node_label: NodeLabel::Automatic,
        matchers: ExporterMatchers {
            node_exporter: r#"job="node-exporter""#.parse().unwrap(),
            cadvisor: r#"job="kubelet""#.parse().unwrap(),
            kube_state_metrics: r#"job="kube-state-metrics""#.parse().unwrap(),
            ..ExporterMatchers::default()
        },
        queries: Queries::default(),
    });
    let mut found = BTreeMap::new();
    for query in source.queries() {
        let answers = Answers::default();
        source.fetch(*query, &answers, clock::now()).await.unwrap();
        let sent = asked.lock().unwrap().pop().unwrap();
        found.insert(query.as_str().to_owned(), sent);
    }
    source.probe().await.unwrap();
    found.insert("probe".to_owned(), asked.lock().unwrap().pop().unwrap());
    found
}

/// The alert rule on the clean-up's CronJob, for the one that was recorded.
fn clean_up() -> String {
    let alerts: Value = serde_saphyr::from_str(&text("deploy/prometheus/alerts.yaml")).unwrap();
    let rules = alerts["groups"][0]["rules"].as_array().unwrap().iter();
    let rule = rules
        .clone()
        .find(|rule| rule["alert"] == "EvenkeelCleanUpFailing");
    let expression = rule.unwrap()["expr"].as_str().unwrap();
    let own = expression.replace("evenkeel-restore", "e2e-cronjob");
    assert_ne!(own, expression);
    own
}

/// The number of series that a query is to give; of some the rule is only that there are any.
fn expected(name: &str) -> Option<u64> {
    let of_disk = [
        UsageQuery::Node(Resource::Disk),
        UsageQuery::Pod(Resource::Disk),
    ];
    if of_disk.iter().any(|query| query.as_str() == name) || name == "sampleTimeDisk" {
        // Under containerd cAdvisor knows the disks of the root cgroup alone: kubelets are asked.
        return Some(0);
    }
    match name {
        // Two of the three Pods are on the host's network, as kube-state-metrics reports.
        "podNetworkIo" => Some(1),
        "podCpu" | "podMemory" | "podDiskIo" => Some(3),
        _ => None,
    }
}

async fn every_metric_and_label_that_is_asked_for_is_what_real_exporters_show() {
    let mut queries = queries().await;
    assert_eq!(queries.len(), 14, "{queries:?}");
    queries.insert("EvenkeelCleanUpFailing".to_owned(), clean_up());
    let looks: Vec<Value> = queries
        .iter()
        .map(|(name, query)| match expected(name) {
            Some(0) => json!({"expr": query, "eval_time": "120m", "exp_samples": []}),
            Some(count) => json!({
                "expr": format!("count({query})"),
                "eval_time": "120m",
                "exp_samples": [{"labels": "{}", "value": count}],
            }),
            None => json!({
                "expr": format!("count({query}) > bool 0"),
                "eval_time": "120m",
                "exp_samples": [{"labels": "{}", "value": 1}],
            }),
        })
        .collect();
    let tests = json!({"rule_files": [], "evaluation_interval": "1m", "tests": [
        {"interval": "15s", "input_series": series(), "promql_expr_test": looks},
    ]});
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
    async [crate::support::trial::Requirement::Program("promtool")] => [
        every_metric_and_label_that_is_asked_for_is_what_real_exporters_show,
    ],
);
