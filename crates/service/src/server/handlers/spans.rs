//! A span for each call of the API server and of kube-scheduler. The handlers add what they decided through
//! [`BufferedRequest`](crate::server::BufferedRequest).

use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::handler::Handler;
use axum::response::Response;
use axum::routing::{MethodRouter, post};
use evenkeel_objects::pod::Pod;
use futures::future::{BoxFuture, Either};
use opentelemetry::KeyValue;
use serde::Deserialize;
use serde_json::value::RawValue;
use tower::{Layer, Service};

use super::Handlers;
use crate::server::error::ErrorReason;
use crate::telemetry::spans::{ActiveSpan, SpanRecorder, count, text};

/// `handler` for POST, with a span for each call of `path`.
pub(super) fn traced<H, T>(
    recorder: &SpanRecorder,
    path: &'static str,
    handler: H,
) -> MethodRouter<Handlers>
where
    H: Handler<T, Handlers>,
    T: 'static,
{
    post(handler.layer(SpanLayer {
        recorder: recorder.clone(),
        path,
        name: path.rsplit('/').next().unwrap_or(path),
    }))
}

#[derive(Clone)]
struct SpanLayer {
    recorder: SpanRecorder,
    path: &'static str,
    name: &'static str,
}

impl<S> Layer<S> for SpanLayer {
    type Service = SpanService<S>;

    fn layer(&self, inner: S) -> SpanService<S> {
        SpanService {
            layer: self.clone(),
            inner,
        }
    }
}

/// An unsampled call costs only the sampling decision.
#[derive(Clone)]
struct SpanService<S> {
    layer: SpanLayer,
    inner: S,
}

impl<S> Service<Request> for SpanService<S>
where
    S: Service<Request, Response = Response, Error = Infallible>,
    S::Future: Send + 'static,
{
    type Response = Response;
    type Error = Infallible;
    type Future = Either<S::Future, BoxFuture<'static, Result<Response, Infallible>>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, mut request: Request) -> Self::Future {
        let SpanLayer {
            recorder,
            path,
            name,
        } = &self.layer;
        let span = recorder.serve(name, request.headers());
        if !span.is_sampled() {
            return Either::Left(self.inner.call(request));
        }
        span.set(|| {
            [
                KeyValue::new("http.request.method", "POST"),
                KeyValue::new("http.route", *path),
                KeyValue::new("url.path", *path),
                KeyValue::new("url.scheme", "https"),
            ]
        });
        request.extensions_mut().insert(span.clone());
        let unanswered = UnansweredCall(span);
        let answer = self.inner.call(request);
        Either::Right(Box::pin(async move {
            let response = answer.await?;
            unanswered.answered(&response);
            Ok(response)
        }))
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
