//! Spans of calls, from the real router to a collector on loopback.

#![allow(clippy::unwrap_used)] // helpers of tests

use axum::http::StatusCode;
use evenkeel_service::config::{Config, ConfigSources, Override};
use evenkeel_service::server::paths::{BIND, FILTER, MUTATE, PREEMPT, PRIORITIZE};
use evenkeel_service::span_export::SpanExporter;
use evenkeel_service::telemetry::{self, Registry, SpanMetrics, SpanRecorder};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTracePartialSuccess, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode as SpanStatus;
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::support::answering::{Asked, add_namespace, cluster, policy};
use crate::support::collector;
use crate::support::collector::{Export, attribute};
use crate::support::metrics_stand_in::{certificate, serve_tls};
use crate::support::recorded::requests;

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
const NAMESPACE: &str = "shop";
const EVERY: &str = "1000000";
/// The full batch of the exporter, and all that may wait for it.
const BATCH: usize = 512;
const WAITING: usize = 2048;

/// A recorder with its exporter, which does not run yet.
struct Tracing {
    recorder: SpanRecorder,
    exporter: SpanExporter,
    registry: Registry,
}

/// As the configuration sets them up.
fn tracing(fields: &[(&str, &str)]) -> Tracing {
    let flags = fields.iter().map(|(field, value)| Override {
        flag: "--set".to_owned(),
        path: format!("tracing.{field}"),
        value: (*value).to_owned(),
    });
    let sources = ConfigSources {
        flags: flags.collect(),
        ..ConfigSources::default()
    };
    let settings = Config::load(&sources).unwrap().tracing.unwrap();
    let metrics = SpanMetrics::default();
    let mut registry = telemetry::registry();
    metrics.register(&mut registry);
    let (recorder, exporter) =
        SpanExporter::new(&settings, "replica-1", "evenkeel-system", &metrics);
    Tracing {
        recorder,
        exporter,
        registry,
    }
}

fn service(recorder: &SpanRecorder) -> Asked {
    let cluster = cluster(false);
    for node in ["a", "b"] {
        let node = json!({"metadata": {"name": node}, "status": {
            "allocatable": {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi"},
            "conditions": [{"type": "Ready", "status": "True"}]}});
        cluster.apply_node(&serde_json::from_value(node).unwrap(), cluster.now());
    }
    add_namespace(&cluster, NAMESPACE, &[("evenkeel.dev/enabled", "true")]);
    Asked::traced(cluster, policy(), recorder.clone())
}

fn pod(name: &Value) -> Value {
    json!({"metadata": {"name": name, "generateName": "web-", "namespace": NAMESPACE, "uid": "u-1"},
        "spec": {"containers": [{"name": "app", "resources": {
            "requests": {"cpu": "100m", "memory": "64Mi"}}}]}})
}

fn review(name: &Value) -> String {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "review-1", "resource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": NAMESPACE, "operation": "CREATE", "object": pod(name)}})
    .to_string()
}

async fn send(service: &Asked, path: &str, parent: &str, body: String) -> StatusCode {
    let headers = [
        ("content-type", "application/json"),
        ("traceparent", parent),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value.to_owned()));
    service.send(path, &headers, body.into()).await.status
}

/// The end of the service: the spans that wait are sent first.
async fn flush(exporter: SpanExporter) {
    let end = CancellationToken::new();
    end.cancel();
    exporter.run(end).await;
}

fn received(mut exports: UnboundedReceiver<Export>) -> Vec<Span> {
    let mut spans = Vec::new();
    while let Ok(export) = exports.try_recv() {
        spans.extend(export.into_spans());
    }
    spans
}

fn counted(registry: &Registry, outcome: &str) -> Option<usize> {
    let page = telemetry::encode(registry).unwrap();
    let name = format!("evenkeel_trace_spans_total{{outcome=\"{outcome}\"}} ");
    let line = page.lines().find_map(|line| line.strip_prefix(&name));
    line.map(|count| count.parse().unwrap())
}

/// Asserts the attributes of a span.
fn assert_has(span: &Span, attributes: &[(&str, &str)]) {
    for (key, value) in attributes {
        let found = attribute(span, key);
        assert_eq!(found.as_deref(), Some(*value), "{key} of {span:?}");
    }
}

#[tokio::test]
async fn a_review_is_part_of_the_trace_of_the_api_server() {
    let (endpoint, mut exports) = collector::start([]).await;
    let tracing = tracing(&[("endpoint", &endpoint)]);
    let service = service(&tracing.recorder);
    let sampled = format!("00-{TRACE}-{PARENT}-01");
    let generated = review(&Value::Null);
    assert_eq!(
        send(&service, MUTATE, &sampled, generated).await,
        StatusCode::OK
    );
    send(&service, MUTATE, &sampled, review(&json!("web-0"))).await;
    flush(tracing.exporter).await;
    let export = exports.try_recv().unwrap();
    assert_eq!(export.authorization, None);
    for (key, value) in [
        ("service.name", "evenkeel"),
        ("service.version", env!("CARGO_PKG_VERSION")),
        ("service.instance.id", "replica-1"),
        ("k8s.namespace.name", "evenkeel-system"),
    ] {
        assert_eq!(export.resource(key).as_deref(), Some(value), "{key}");
    }
    let [generated, named] = &export.into_spans()[..] else {
        panic!("two spans are expected");
    };
    assert_eq!(generated.name, "mutate");
    let trace = u128::from_str_radix(TRACE, 16).unwrap().to_be_bytes();
    let parent = u64::from_str_radix(PARENT, 16).unwrap().to_be_bytes();
    assert_eq!(generated.trace_id, trace);
    assert_eq!(generated.parent_span_id, parent);
    assert_eq!(generated.kind, SpanKind::Server as i32);
    assert!(generated.start_time_unix_nano <= generated.end_time_unix_nano);
    assert_has(
        generated,
        &[
            ("http.request.method", "POST"),
            ("http.route", "/mutate"),
            ("http.response.status_code", "200"),
            ("k8s.namespace.name", NAMESPACE),
            ("evenkeel.pod.generate_name", "web-"),
            ("evenkeel.admission.uid", "review-1"),
            ("evenkeel.outcome", "patched"),
            ("evenkeel.degraded", "false"),
            ("evenkeel.profile", "normal"),
        ],
    );
    assert_has(named, &[("k8s.pod.name", "web-0")]);
    assert_eq!(counted(&tracing.registry, "exported"), Some(2));
}

#[tokio::test]
async fn the_span_of_an_invented_review_is_small() {
    let (endpoint, exports) = collector::start([]).await;
    let tracing = tracing(&[("endpoint", &endpoint)]);
    let service = service(&tracing.recorder);
    let long = "ü".repeat(100_000);
    let object = json!({"metadata": {"generateName": long}});
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "u", "namespace": long, "object": object}})
    .to_string();
    let headers = [
        ("content-type", "application/json".to_owned()),
        ("traceparent", format!("00-{TRACE}-{PARENT}-01")),
        ("tracestate", format!("a={}", "b".repeat(200))),
    ];
    let headers = headers.map(|(name, value)| (name.to_owned(), value));
    service.send(MUTATE, &headers, review.into()).await;
    flush(tracing.exporter).await;
    let [span] = &received(exports)[..] else {
        panic!("one span is expected");
    };
    assert_eq!(span.trace_state, "");
    for key in ["k8s.namespace.name", "evenkeel.pod.generate_name"] {
        let text = attribute(span, key).unwrap_or_else(|| panic!("{key} of {span:?}"));
        assert_eq!(text.chars().count(), 254, "{key}");
    }
}

/// The parent's flag decides, and the rate decides only about calls without a parent.
#[tokio::test]
async fn the_decision_of_the_parent_is_followed() {
    let (endpoint, exports) = collector::start([]).await;
    for (rate, parent, expected) in [
        (EVERY, format!("00-{TRACE}-{PARENT}-00"), false),
        ("0", String::new(), false),
        ("0", "00-nothing".to_owned(), false),
        ("0", format!("00-{TRACE}-{PARENT}-01"), true),
        (EVERY, String::new(), true),
    ] {
        let tracing = tracing(&[("endpoint", &endpoint), ("samplingRatePerMillion", rate)]);
        let service = service(&tracing.recorder);
        send(&service, MUTATE, &parent, review(&Value::Null)).await;
        flush(tracing.exporter).await;
        let exported = counted(&tracing.registry, "exported");
        assert_eq!(exported.is_some(), expected, "{rate} {parent}");
    }
    assert_eq!(received(exports).len(), 2);
}

/// A call of each verb, and one that cannot be read.
fn calls() -> [(&'static str, String); 5] {
    let asked = json!({"Pod": pod(&json!("web-0")), "NodeNames": ["a", "b"]}).to_string();
    let notice = json!({"PodName": "web-0", "PodNamespace": NAMESPACE, "PodUID": "u-1",
        "Node": "a"});
    let recorded = requests("extender");
    let preempt = recorded
        .iter()
        .find(|request| request.name == "preempt-3-victims");
    let preempt = String::from_utf8(preempt.unwrap().body.to_vec()).unwrap();
    [
        (FILTER, asked.clone()),
        (PRIORITIZE, asked),
        (BIND, notice.to_string()),
        (PREEMPT, preempt),
        (FILTER, "{".to_owned()),
    ]
}

#[tokio::test]
async fn calls_of_kube_scheduler_have_spans() {
    let (endpoint, exports) = collector::start([]).await;
    let tracing = tracing(&[("endpoint", &endpoint), ("samplingRatePerMillion", EVERY)]);
    let service = service(&tracing.recorder);
    for (path, body) in calls() {
        send(&service, path, "", body).await;
    }
    flush(tracing.exporter).await;
    let spans = received(exports);
    let names: Vec<&str> = spans.iter().map(|span| &*span.name).collect();
    assert_eq!(names, ["filter", "prioritize", "bind", "preempt", "filter"]);
    let pod = [
        ("k8s.namespace.name", NAMESPACE),
        ("k8s.pod.name", "web-0"),
        ("k8s.pod.uid", "u-1"),
        ("evenkeel.degraded", "false"),
    ];
    for span in &spans[..3] {
        assert_has(span, &pod);
    }
    let nodes = ("evenkeel.nodes.offered", "2");
    let outcome = |outcome| ("evenkeel.outcome", outcome);
    let passed = ("evenkeel.nodes.passed", "2");
    assert_has(&spans[0], &[nodes, passed, outcome("judged")]);
    assert_has(&spans[1], &[nodes, outcome("scored")]);
    assert_has(&spans[2], &[("k8s.node.name", "a"), outcome("noted")]);
    assert_has(
        &spans[3],
        &[
            ("evenkeel.nodes.offered", "3"),
            ("evenkeel.degraded", "true"),
            outcome("namespace_unknown"),
        ],
    );
    assert_has(
        &spans[4],
        &[
            ("http.response.status_code", "400"),
            ("error.type", "malformed"),
        ],
    );
    for (position, span) in spans.iter().enumerate() {
        let status = span.status.as_ref().unwrap().code;
        let expected = if position == 4 {
            SpanStatus::Error
        } else {
            SpanStatus::Unset
        };
        assert_eq!(status, expected as i32, "{span:?}");
    }
}

/// The calls are answered while nothing takes their spans, and the spans beyond the queue are dropped.
#[tokio::test]
async fn a_dead_collector_fails_no_call() {
    let dead = ("endpoint", "http://127.0.0.1:1");
    let tracing = tracing(&[dead, ("samplingRatePerMillion", EVERY)]);
    let service = service(&tracing.recorder);
    for _ in 0..WAITING + 3 {
        let status = send(&service, MUTATE, "", review(&Value::Null)).await;
        assert_eq!(status, StatusCode::OK);
    }
    assert_eq!(counted(&tracing.registry, "dropped"), Some(3));
    flush(tracing.exporter).await;
    assert_eq!(counted(&tracing.registry, "failed"), Some(WAITING));
    assert_eq!(counted(&tracing.registry, "exported"), None);
}

/// Runs the exporter, and records one full batch, which does not wait for more.
fn run_with_a_batch(tracing: Tracing) -> (Registry, CancellationToken, JoinHandle<()>) {
    let end = CancellationToken::new();
    let running = tokio::spawn(tracing.exporter.run(end.clone()));
    for _ in 0..BATCH {
        drop(tracing.recorder.begin("tick"));
    }
    (tracing.registry, end, running)
}

#[tokio::test]
async fn an_overloaded_collector_gets_a_batch_again_and_may_reject_spans() {
    let rejecting = ExportTraceServiceResponse {
        partial_success: Some(ExportTracePartialSuccess {
            rejected_spans: 12,
            error_message: "too old".to_owned(),
        }),
    };
    let replies = [
        collector::reply(StatusCode::SERVICE_UNAVAILABLE),
        (StatusCode::OK, rejecting),
    ];
    let (endpoint, mut exports) = collector::start(replies).await;
    let tracing = tracing(&[("endpoint", &endpoint), ("samplingRatePerMillion", EVERY)]);
    let (registry, end, running) = run_with_a_batch(tracing);
    let first = exports.recv().await.unwrap().into_spans();
    assert_eq!(first.len(), BATCH);
    assert_eq!(exports.recv().await.unwrap().into_spans(), first);
    end.cancel();
    running.await.unwrap();
    assert_eq!(counted(&registry, "exported"), Some(BATCH - 12));
    assert_eq!(counted(&registry, "rejected"), Some(12));
    assert_eq!(counted(&registry, "failed"), None);
}

#[tokio::test]
async fn a_refusal_is_final() {
    let (endpoint, mut exports) =
        collector::start([collector::reply(StatusCode::UNAUTHORIZED)]).await;
    let tracing = tracing(&[("endpoint", &endpoint), ("samplingRatePerMillion", EVERY)]);
    let (registry, end, running) = run_with_a_batch(tracing);
    exports.recv().await.unwrap();
    end.cancel();
    running.await.unwrap();
    assert!(exports.try_recv().is_err(), "the batch is not sent again");
    assert_eq!(counted(&registry, "failed"), Some(BATCH));
}

#[tokio::test]
async fn a_collector_behind_tls_gets_the_token() {
    let server = certificate();
    let (router, mut exports) = collector::router([]);
    let port = serve_tls(&server, None, router).await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let authority = file("ca.crt", &server.cert.pem());
    let token = file("token", "the-token\n");
    let endpoint = format!("https://localhost:{port}/");
    for (authority, arrives) in [(&authority, true), (&token, false)] {
        let tracing = tracing(&[
            ("endpoint", &endpoint),
            ("samplingRatePerMillion", EVERY),
            ("caFile", authority),
            ("bearerTokenFile", &token),
        ]);
        drop(tracing.recorder.begin("tick"));
        flush(tracing.exporter).await;
        let outcome = if arrives { "exported" } else { "failed" };
        assert_eq!(counted(&tracing.registry, outcome), Some(1));
    }
    let export = exports.try_recv().unwrap();
    assert_eq!(export.authorization.as_deref(), Some("Bearer the-token"));
}
