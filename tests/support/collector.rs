//! A collector on loopback: it takes spans by OTLP over HTTP and keeps them.

#![allow(dead_code)] // each test program uses a part

use std::collections::VecDeque;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::header::{AUTHORIZATION, CONTENT_TYPE};
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message as _;
use std::sync::{Arc, Mutex};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// An answer of the collector.
pub(crate) type Reply = (StatusCode, ExportTraceServiceResponse);

/// An answer with this status that says no more.
pub(crate) fn reply(status: StatusCode) -> Reply {
    (status, ExportTraceServiceResponse::default())
}

/// A request as it came.
pub(crate) struct Export {
    pub authorization: Option<String>,
    pub request: ExportTraceServiceRequest,
}

impl Export {
    pub(crate) fn into_spans(self) -> Vec<Span> {
        let resources = self.request.resource_spans.into_iter();
        let scopes = resources.flat_map(|resource| resource.scope_spans);
        scopes.flat_map(|scope| scope.spans).collect()
    }

    /// An attribute of the process.
    pub(crate) fn resource(&self, key: &str) -> Option<String> {
        let resource = self.request.resource_spans[0].resource.as_ref()?;
        value(&resource.attributes, key)
    }
}

/// An attribute as text.
pub(crate) fn attribute(span: &Span, key: &str) -> Option<String> {
    value(&span.attributes, key)
}

fn value(attributes: &[KeyValue], key: &str) -> Option<String> {
    let found = attributes.iter().find(|attribute| attribute.key == key)?;
    match found.value.clone()?.value? {
        Value::StringValue(text) => Some(text),
        Value::IntValue(number) => Some(number.to_string()),
        Value::BoolValue(truth) => Some(truth.to_string()),
        other => panic!("{key}: {other:?}"),
    }
}

type Replies = Arc<Mutex<VecDeque<Reply>>>;

/// The routes of a collector that gives these replies and then accepts all.
pub(crate) fn router(
    replies: impl IntoIterator<Item = Reply>,
) -> (Router, UnboundedReceiver<Export>) {
    let (came, exports) = unbounded_channel();
    let replies: Replies = Arc::new(Mutex::new(replies.into_iter().collect()));
    let routes = Router::new()
        .route("/v1/traces", post(take))
        .with_state((replies, came));
    (routes, exports)
}

/// Serves them at the address that it returns, until the test ends.
pub(crate) async fn start(
    replies: impl IntoIterator<Item = Reply>,
) -> (String, UnboundedReceiver<Export>) {
    let (router, exports) = router(replies);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let address = listener.local_addr().expect("it is bound");
    tokio::spawn(async move { axum::serve(listener, router).await });
    (format!("http://{address}"), exports)
}

async fn take(
    State((replies, came)): State<(Replies, UnboundedSender<Export>)>,
    headers: HeaderMap,
    body: Bytes,
) -> (StatusCode, Vec<u8>) {
    assert_eq!(headers[CONTENT_TYPE], "application/x-protobuf");
    let authorization = headers.get(AUTHORIZATION);
    let export = Export {
        authorization: authorization.map(|value| value.to_str().expect("text").to_owned()),
        request: ExportTraceServiceRequest::decode(body).expect("OTLP"),
    };
    let scripted = replies.lock().expect("no panic").pop_front();
    let (status, answer) = scripted.unwrap_or_else(|| reply(StatusCode::OK));
    // The test may have ended.
    let _ = came.send(export);
    (status, answer.encode_to_vec())
}
