//! Sends ended spans to a collector by OTLP over HTTP, in batches and in the background. It tries a batch again if
//! the collector is away or overloaded. Meanwhile the queue is bounded, and requests never wait.

use std::time::Duration;

use evenkeel_clock as clock;
use evenkeel_http_client as http;
use evenkeel_http_client::header::{AUTHORIZATION, CONTENT_TYPE};
use evenkeel_http_client::{Request, StatusCode, Uri};
use opentelemetry::KeyValue;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::transform::common::tonic::ResourceAttributesWithSchema;
use opentelemetry_proto::transform::trace::tonic::group_spans_by_resource_and_scope;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SpanData;
use prost::Message as _;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::metrics::{AccessClient, EndpointAccess, MetricsError};
use crate::telemetry::{RateLimited, SpanMetrics, SpanRecorder};

/// Batches, pauses and the timeout are the defaults of OpenTelemetry.
const BATCH: usize = 512;
const PAUSE: Duration = Duration::from_secs(5);
const TIMEOUT: Duration = Duration::from_secs(10);
const ATTEMPTS: u32 = 3;
/// The time to send what waits when the service ends; less than its other background work gets.
const FLUSH: Duration = Duration::from_secs(2);
/// A collector answers with a few bytes.
const ANSWER: usize = 64 * 1024;

#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Where OTLP is taken, with its path.
    pub address: Uri,
    /// The share of traces without a parent that are recorded, from 0 to 1.
    pub sampling: f64,
    pub access: EndpointAccess,
}

/// Sends the spans of one [`SpanRecorder`].
pub struct SpanExporter {
    ended: mpsc::Receiver<SpanData>,
    sender: BatchSender,
}

struct BatchSender {
    address: Uri,
    access: AccessClient,
    resource: ResourceAttributesWithSchema,
    metrics: SpanMetrics,
    failed: RateLimited<()>,
}

/// Why a batch did not arrive.
#[derive(Debug, thiserror::Error)]
enum ExportError {
    #[error(transparent)]
    Access(#[from] MetricsError),
    #[error(transparent)]
    Http(#[from] http::Error),
    #[error("HTTP {}", .0.as_u16())]
    Status(StatusCode),
}

impl ExportError {
    /// True if the specification of OTLP has the client try again.
    fn is_transient(&self) -> bool {
        match self {
            Self::Access(_) => false,
            Self::Http(_) => true,
            Self::Status(status) => matches!(status.as_u16(), 429 | 502 | 503 | 504),
        }
    }
}

impl SpanExporter {
    /// A recorder and the exporter of its spans; `instance` and `namespace` name this replica.
    pub fn new(
        settings: &Settings,
        instance: &str,
        namespace: &str,
        metrics: &SpanMetrics,
    ) -> (SpanRecorder, Self) {
        let (recorder, ended) = SpanRecorder::new(settings.sampling, metrics.clone());
        // `Resource::builder` would read variables of the environment.
        let resource = Resource::builder_empty().with_attributes([
            KeyValue::new("service.name", "evenkeel"),
            KeyValue::new("service.version", env!("CARGO_PKG_VERSION")),
            KeyValue::new("service.instance.id", instance.to_owned()),
            KeyValue::new("k8s.namespace.name", namespace.to_owned()),
        ]);
        let sender = BatchSender {
            address: settings.address.clone(),
            access: AccessClient::new(settings.access.clone()),
            resource: (&resource.build()).into(),
            metrics: metrics.clone(),
            failed: RateLimited::default(),
        };
        (recorder, Self { ended, sender })
    }

    /// Exports until `cancel`, and then what still waits.
    pub async fn run(mut self, cancel: CancellationToken) {
        let flushed = async {
            cancel.cancelled().await;
            tokio::time::sleep(FLUSH).await;
        };
        tokio::select! {
            () = self.export_all(&cancel) => {}
            () = flushed => tracing::warn!("not all spans could be exported before the end"),
        }
    }

    async fn export_all(&mut self, cancel: &CancellationToken) {
        while let Some(batch) = self.next_batch(cancel).await {
            self.sender.export(batch, cancel).await;
        }
    }

    /// The spans of the next [`PAUSE`] or a full batch; after `cancel` all that wait, and then `None`.
    async fn next_batch(&mut self, cancel: &CancellationToken) -> Option<Vec<SpanData>> {
        let mut batch = Vec::new();
        let collecting = async {
            if self.ended.recv_many(&mut batch, BATCH).await == 0 {
                return;
            }
            let filled = async {
                while batch.len() < BATCH {
                    let room = BATCH - batch.len();
                    if self.ended.recv_many(&mut batch, room).await == 0 {
                        return;
                    }
                }
            };
            let _ = tokio::time::timeout(PAUSE, filled).await;
        };
        if cancel.run_until_cancelled(collecting).await.is_none() {
            self.ended.close();
            let room = BATCH - batch.len();
            if room > 0 {
                self.ended.recv_many(&mut batch, room).await;
            }
        }
        (!batch.is_empty()).then_some(batch)
    }
}

impl BatchSender {
    async fn export(&self, spans: Vec<SpanData>, cancel: &CancellationToken) {
        let sent = spans.len() as u64;
        let request = ExportTraceServiceRequest {
            resource_spans: group_spans_by_resource_and_scope(spans, &self.resource),
        };
        let body = bytes::Bytes::from(request.encode_to_vec());
        let mut attempt = 1;
        let error = loop {
            let error = match self.send(body.clone()).await {
                Ok(answer) => return self.arrived(sent, answer),
                Err(error) => error,
            };
            if attempt == ATTEMPTS || cancel.is_cancelled() || !error.is_transient() {
                break error;
            }
            attempt += 1;
            cancel.run_until_cancelled(tokio::time::sleep(PAUSE)).await;
        };
        self.metrics.spans("failed").inc_by(sent);
        if let Some(suppressed) = self.failed.permit((), clock::instant()) {
            let address = &self.address;
            tracing::warn!(%address, spans = sent, %error, suppressed, "spans cannot be exported");
        }
    }

    async fn send(&self, body: bytes::Bytes) -> Result<ExportTraceServiceResponse, ExportError> {
        let (client, authorization) = self.access.open(&self.address).await?;
        let mut request =
            Request::post(&self.address).header(CONTENT_TYPE, "application/x-protobuf");
        if let Some(authorization) = authorization {
            request = request.header(AUTHORIZATION, authorization);
        }
        let request = request.body(body.into()).map_err(http::Error::Request)?;
        let response = client.send(request, TIMEOUT).await?;
        let status = response.status();
        if !status.is_success() {
            return Err(ExportError::Status(status));
        }
        // The spans have arrived, whatever the rest of the answer is.
        let body = response.bytes(ANSWER).await.unwrap_or_default();
        Ok(ExportTraceServiceResponse::decode(&*body).unwrap_or_default())
    }

    /// Counts a batch that arrived, and the spans in it that the collector rejects.
    fn arrived(&self, sent: u64, answer: ExportTraceServiceResponse) {
        let partial = answer.partial_success.unwrap_or_default();
        let rejected = u64::try_from(partial.rejected_spans).unwrap_or(0).min(sent);
        self.metrics.spans("exported").inc_by(sent - rejected);
        if rejected == 0 {
            return;
        }
        self.metrics.spans("rejected").inc_by(rejected);
        if let Some(suppressed) = self.failed.permit((), clock::instant()) {
            let message = evenkeel_objects::truncate::excerpt(&partial.error_message, 200);
            tracing::warn!(rejected, message, suppressed, "the collector rejects spans");
        }
    }
}
