//! A gate between one replica and the API server. It remembers what the replica wrote, and can be
//! closed so that nothing passes, as on a network that is cut.

use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use evenkeel_clock as clock;
use futures::StreamExt as _;
use http_body_util::{BodyExt as _, Full};
use hyper_util::client::legacy;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use jiff::Timestamp;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;

/// A write that the API server has made.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    /// When it had been made.
    pub at: Timestamp,
    /// The path of the written object.
    pub path: String,
    /// The sent body; null if it is no JSON.
    pub body: Value,
}

/// The gate of one replica; it ends when this is dropped.
pub(crate) struct Gate {
    /// Its address.
    pub url: String,
    passing: Passing,
    server: JoinHandle<()>,
}

#[derive(Clone)]
struct Passing {
    upstream: String,
    http: legacy::Client<HttpConnector, Full<Bytes>>,
    closed: Arc<watch::Sender<bool>>,
    written: Arc<Mutex<Vec<Written>>>,
    passed: Arc<Mutex<usize>>,
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.server.abort();
    }
}

impl Gate {
    /// An open gate to the server at `upstream`.
    pub(crate) async fn start(upstream: String) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("it is bound");
        let passing = Passing {
            upstream,
            http: legacy::Client::builder(TokioExecutor::new()).build_http(),
            closed: Arc::new(watch::Sender::new(false)),
            written: Arc::default(),
            passed: Arc::default(),
        };
        let router = Router::new().fallback(pass).with_state(passing.clone());
        let server = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self {
            url: format!("http://{address}"),
            passing,
            server,
        }
    }

    /// From now on nothing comes through, or everything again.
    pub(crate) fn set_closed(&self, closed: bool) {
        self.passing.closed.send_replace(closed);
    }

    /// The writes through it, in the order of time.
    pub(crate) fn written(&self) -> Vec<Written> {
        let written = self.passing.written.lock();
        written.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// How many requests have come through.
    pub(crate) fn passed(&self) -> usize {
        *self
            .passing
            .passed
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

impl Passing {
    async fn closed(&self) {
        let mut closed = self.closed.subscribe();
        // The sender is ours.
        let _ = closed.wait_for(|closed| *closed).await;
    }
}

async fn pass(State(passing): State<Passing>, request: Request) -> Response {
    tokio::select! {
        biased;
        () = passing.closed() => std::future::pending().await,
        answer = forward(&passing, request) => answer,
    }
}

async fn forward(passing: &Passing, request: Request) -> Response {
    let (mut head, body) = request.into_parts();
    let body = axum::body::to_bytes(body, usize::MAX)
        .await
        .expect("a body");
    let path = head.uri.path_and_query().expect("a path").to_string();
    let (method, upstream) = (head.method.clone(), format!("{}{path}", passing.upstream));
    head.uri = upstream.parse().expect("an address");
    let sent = passing
        .http
        .request(Request::from_parts(head, Full::new(body.clone())));
    let Ok(answer) = sent.await else {
        return StatusCode::BAD_GATEWAY.into_response();
    };
    *passing
        .passed
        .lock()
        .unwrap_or_else(PoisonError::into_inner) += 1;
    let status = answer.status();
    if status.is_success() && !method.is_safe() {
        let written = Written {
            at: clock::now(),
            path,
            body: serde_json::from_slice(&body).unwrap_or_default(),
        };
        passing
            .written
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(written);
    }
    let headers = answer.headers().clone();
    let closing = passing.clone();
    let closed = Box::pin(async move { closing.closed().await });
    let chunks = answer.into_body().into_data_stream();
    let mut response = Response::new(Body::from_stream(chunks.take_until(closed)));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response.headers_mut().remove("transfer-encoding");
    response
}
