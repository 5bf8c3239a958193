//! A span for each call of the API server and of kube-scheduler. The handlers add what they decided through
//! [`BufferedRequest`](crate::server::BufferedRequest).

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::Response;
use axum::routing::MethodRouter;
use evenkeel_objects::pod::Pod;
use opentelemetry::KeyValue;
use serde::Deserialize;
use serde_json::value::RawValue;

use crate::server::error::ErrorReason;
use crate::telemetry::spans::{ActiveSpan, SpanRecorder, count, text};

/// `handler` with a span for each call of `path`; the handler itself without tracing.
pub(super) fn traced(
    recorder: &SpanRecorder,
    path: &'static str,
    handler: MethodRouter,
) -> MethodRouter {
    if recorder.is_off() {
        return handler;
    }
    let traced = TracedPath {
        recorder: recorder.clone(),
        path,
        name: path.rsplit('/').next().unwrap_or(path),
    };
    handler.layer(from_fn_with_state(Arc::new(traced), TracedPath::middleware))
}

struct TracedPath {
    recorder: SpanRecorder,
    path: &'static str,
    name: &'static str,
}

impl TracedPath {
    async fn middleware(
        State(traced): State<Arc<Self>>,
        mut request: Request,
        next: Next,
    ) -> Response {
        let span = traced.recorder.serve(traced.name, request.headers());
        if !span.is_sampled() {
            return next.run(request).await;
        }
        span.set(|| {
            [
                KeyValue::new("http.request.method", "POST"),
                KeyValue::new("http.route", traced.path),
                KeyValue::new("url.path", traced.path),
                KeyValue::new("url.scheme", "https"),
            ]
        });
        request.extensions_mut().insert(span.clone());
        let unanswered = UnansweredCall(span);
        let response = next.run(request).await;
        unanswered.answered(&response);
        response
    }
}

/// A call that fails its span if its handler panics or its client leaves before the answer.
struct UnansweredCall(ActiveSpan);

impl UnansweredCall {
    fn answered(mut self, response: &Response) {
        let span = std::mem::take(&mut self.0);
        let status = response.status();
        let code = KeyValue::new("http.response.status_code", i64::from(status.as_u16()));
        span.set(|| [code]);
        if let Some(ErrorReason(reason)) = response.extensions().get() {
            span.fail(reason);
        }
    }
}

impl Drop for UnansweredCall {
    fn drop(&mut self) {
        let panics = std::thread::panicking();
        self.0.fail(if panics { "Panic" } else { "Cancelled" });
    }
}

/// The Pod that a call is about.
pub(super) fn pod(pod: &Pod) -> [KeyValue; 3] {
    named_pod(pod.namespace(), pod.name(), pod.uid())
}

pub(super) fn named_pod(namespace: &str, name: &str, uid: &str) -> [KeyValue; 3] {
    [
        text("k8s.namespace.name", namespace),
        text("k8s.pod.name", name),
        text("k8s.pod.uid", uid),
    ]
}

/// The Pod of an AdmissionReview by its name, or by the beginning of a name that it has yet to get.
pub(super) fn new_pod(object: Option<&RawValue>) -> Option<KeyValue> {
    #[derive(Deserialize)]
    struct NamedObject {
        metadata: ObjectName,
    }
    #[derive(Default, Deserialize)]
    #[serde(default, rename_all = "camelCase")]
    struct ObjectName {
        name: Option<String>,
        generate_name: Option<String>,
    }
    let NamedObject { metadata } = serde_json::from_str(object?.get()).ok()?;
    let ObjectName {
        name,
        generate_name,
    } = metadata;
    let name = name.filter(|name| !name.is_empty());
    name.map(|name| text("k8s.pod.name", &name))
        .or_else(|| generate_name.map(|name| text("evenkeel.pod.generate_name", &name)))
}

/// The outcome as in the metrics, and whether the answer lacks a decision because of a failure.
pub(super) fn outcome(outcome: &'static str, degraded: bool) -> [KeyValue; 2] {
    [
        KeyValue::new("evenkeel.outcome", outcome),
        KeyValue::new("evenkeel.degraded", degraded),
    ]
}

/// The nodes in a call.
pub(super) fn offered(nodes: usize) -> KeyValue {
    count("evenkeel.nodes.offered", nodes)
}

/// The nodes that an answer leaves.
pub(super) fn passed(nodes: usize) -> KeyValue {
    count("evenkeel.nodes.passed", nodes)
}
