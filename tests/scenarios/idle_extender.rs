//! An extender that judges nothing, in plain HTTP: every node passes, none has a score, and it
//! binds nothing. It shows what kube-scheduler loses by calling any extender.

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use serde_json::Value;
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

use super::between::lead;

/// It serves until it is dropped.
pub(crate) struct IdleExtender {
    port: u16,
    serving: JoinHandle<()>,
}

impl IdleExtender {
    pub(crate) async fn start() -> Self {
        let router = Router::new()
            .route("/filter", post(filter))
            .route("/prioritize", post(async || "[]"))
            .route("/bind", post(async || r#"{"Error":"it binds nothing"}"#));
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { port, serving }
    }

    /// kube-scheduler's configuration, where it asks this one instead.
    pub(crate) fn instead_of(&self, mut configuration: Value) -> Value {
        lead(&mut configuration["extenders"][0], self.port);
        configuration
    }
}

impl Drop for IdleExtender {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// The names as they came, which stand last in a question.
async fn filter(question: Bytes) -> Vec<u8> {
    let names = br#""NodeNames":"#;
    let from = question
        .windows(names.len())
        .rposition(|part| part == names);
    let names = &question[from.expect("a question by names")..];
    [b"{", names].concat()
}
