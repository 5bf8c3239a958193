//! Spans of the service's own work, by the SDK of OpenTelemetry. Ended spans wait in a bounded queue for the
//! exporter, so no request waits for a collector. Without tracing there is no SDK, and a span is a `None`.

use std::sync::{Arc, Mutex, PoisonError};

use axum::http::HeaderMap;
use evenkeel_clock as clock;
use evenkeel_objects::truncate::excerpt;
use opentelemetry::propagation::{Extractor, TextMapPropagator as _};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanKind, Status, TraceContextExt, Tracer as _, TracerProvider,
};
use opentelemetry::{Context, InstrumentationScope, KeyValue};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{
    IdGenerator as _, RandomIdGenerator, Sampler, SamplingDecision, SdkTracer, SdkTracerProvider,
    ShouldSample as _, Span, SpanData, SpanLimits, SpanProcessor,
};
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::TrySendError;

use super::metric_families::families;
use super::rate_limited::RateLimited;

/// The ended spans that wait for the exporter at most; the default of OpenTelemetry.
const WAITING: usize = 2048;

/// The characters of the longest name in Kubernetes.
const LONGEST: usize = 253;

const TRACE_PARENT: &str = "traceparent";

families! {
    pub struct SpanMetrics {
        spans: Counter[outcome] = "trace_spans",
            "Ended spans by outcome: exported, dropped (the queue was full), rejected (by the collector) or failed";
    }
}

/// Starts spans. The default is off.
#[derive(Debug, Clone, Default)]
pub struct SpanRecorder(Option<SampledTracer>);

#[derive(Debug, Clone)]
struct SampledTracer {
    /// Records each span without a parent, and spans whose parent is sampled.
    tracer: SdkTracer,
    /// Decides about spans without a parent.
    roots: Sampler,
    ids: RandomIdGenerator,
}

impl SampledTracer {
    /// Asked before the SDK is, which takes half a microsecond to refuse a span. The decision is by chance and not by
    /// the ID of the trace, which does not exist yet.
    fn samples_root(&self, name: &str, kind: &SpanKind) -> bool {
        let id = self.ids.new_trace_id();
        let result = self.roots.should_sample(None, id, name, kind, &[], &[]);
        result.decision == SamplingDecision::RecordAndSample
    }
}

impl SpanRecorder {
    /// Records the spans whose parent is sampled, and this share of those without a parent. They wait for the
    /// receiver.
    pub fn new(sampling: f64, metrics: SpanMetrics) -> (Self, mpsc::Receiver<SpanData>) {
        let (waiting, ended) = mpsc::channel(WAITING);
        let queue = SpanQueue {
            waiting,
            metrics,
            dropped: RateLimited::default(),
        };
        // The SDK would otherwise take sampler and limits from variables of the environment.
        let provider = SdkTracerProvider::builder()
            .with_sampler(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)))
            .with_span_limits(SpanLimits::default())
            .with_span_processor(queue)
            .build();
        let scope = InstrumentationScope::builder("evenkeel")
            .with_version(env!("CARGO_PKG_VERSION"))
            .build();
        let tracer = SampledTracer {
            tracer: provider.tracer_with_scope(scope),
            roots: Sampler::TraceIdRatioBased(sampling),
            ids: RandomIdGenerator::default(),
        };
        (Self(Some(tracer)), ended)
    }

    /// Starts the span of a request, below the span that the caller's `traceparent` names.
    pub fn serve(&self, name: &'static str, headers: &HeaderMap) -> ActiveSpan {
        let may_have_parent = self.0.is_some() && headers.contains_key(TRACE_PARENT);
        let parent = may_have_parent.then(|| {
            let none = Context::new();
            TraceContextPropagator::new().extract_with_context(&none, &TraceParent(headers))
        });
        self.start(name, SpanKind::Server, parent)
    }

    /// Starts the span of work that no request causes.
    pub fn begin(&self, name: &'static str) -> ActiveSpan {
        self.start(name, SpanKind::Internal, None)
    }

    fn start(&self, name: &'static str, kind: SpanKind, parent: Option<Context>) -> ActiveSpan {
        let Some(recorder) = &self.0 else {
            return ActiveSpan(None);
        };
        // A header that names no span is no parent.
        let parent = parent.filter(TraceContextExt::has_active_span);
        if parent.is_none() && !recorder.samples_root(name, &kind) {
            return ActiveSpan(None);
        }
        let span = SpanBuilder::from_name(name).with_kind(kind);
        let span = recorder
            .tracer
            .build_with_context(span, &parent.unwrap_or_default());
        let is_sampled = span.is_recording();
        ActiveSpan(is_sampled.then(|| Arc::new(Mutex::new(span))))
    }
}

/// A span that ends with its last clone; a `None` if it is not sampled.
#[derive(Debug, Clone, Default)]
pub struct ActiveSpan(Option<Arc<Mutex<Span>>>);

impl ActiveSpan {
    pub fn is_sampled(&self) -> bool {
        self.0.is_some()
    }

    /// Adds attributes, which are computed for sampled spans only.
    pub fn set<A: IntoIterator<Item = KeyValue>>(&self, attributes: impl FnOnce() -> A) {
        self.change(|span| span.set_attributes(attributes()));
    }

    /// Marks the span as failed, for a reason from a closed set.
    pub fn fail(&self, reason: &'static str) {
        self.change(|span| {
            span.set_attribute(KeyValue::new("error.type", reason));
            span.set_status(Status::error(reason));
        });
    }

    fn change(&self, change: impl FnOnce(&mut Span)) {
        if let Some(span) = &self.0 {
            change(&mut span.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// An attribute that counts things.
pub(crate) fn count(key: &'static str, things: usize) -> KeyValue {
    KeyValue::new(key, i64::try_from(things).unwrap_or(i64::MAX))
}

/// An attribute that repeats a text of the caller, cut to the length of the longest name: spans wait in memory, and
/// any Pod may call.
pub(crate) fn text(key: &'static str, text: &str) -> KeyValue {
    KeyValue::new(key, excerpt(text, LONGEST))
}

/// The header `traceparent`. A span would keep `tracestate`, which has any length, and no later span needs it.
struct TraceParent<'a>(&'a HeaderMap);

impl Extractor for TraceParent<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        let value = (key == TRACE_PARENT).then(|| self.0.get(key))?;
        value?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        vec![TRACE_PARENT]
    }
}

/// Hands ended spans to the exporter, and drops them if too many wait.
#[derive(Debug)]
struct SpanQueue {
    waiting: mpsc::Sender<SpanData>,
    metrics: SpanMetrics,
    dropped: RateLimited<()>,
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, _: &mut Span, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        // A closed queue is the end of the service, which says so itself.
        let Err(TrySendError::Full(_)) = self.waiting.try_send(span) else {
            return;
        };
        self.metrics.spans("dropped").inc();
        if let Some(suppressed) = self.dropped.permit((), clock::instant()) {
            tracing::warn!(suppressed, "a span is dropped: {WAITING} wait for export");
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(()) // the exporter's task empties the queue
    }

    fn shutdown_with_timeout(&self, _: std::time::Duration) -> OTelSdkResult {
        Ok(())
    }
}
