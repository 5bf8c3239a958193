//! A proxy between kube-scheduler and Evenkeel that takes single mechanisms away. It shows what
//! each of the others does alone.

use std::sync::Arc;

use axum::Router;
use axum::body::Bytes;
use axum::extract::{Path, State};
use axum::http::{Request, StatusCode, header};
use axum::routing::post;
use kube::Client;
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

/// The mechanisms that are left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Kept {
    /// The best node stands a point above the others.
    pub lead: bool,
    /// A Pod counts where it was scored best, until its choice is told or its binding seen.
    pub guess: bool,
}

/// It serves until it is dropped.
pub(crate) struct Between {
    port: u16,
    serving: JoinHandle<()>,
}

struct Passing {
    evenkeel: Client,
    kept: Kept,
}

impl Between {
    /// Stands before the extender of an entry in kube-scheduler's configuration.
    pub(crate) async fn start(extender: &Value, kept: Kept) -> Self {
        let evenkeel = client_of(extender).await;
        let passing = Arc::new(Passing { evenkeel, kept });
        let router = Router::new()
            .route("/{verb}", post(pass))
            .with_state(passing);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("it is bound").port();
        let serving = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { port, serving }
    }

    /// Leads an entry here.
    pub(crate) fn lead(&self, extender: &mut Value) {
        lead(extender, self.port);
    }
}

/// Leads an entry of kube-scheduler's configuration to a port of this machine, in plain HTTP.
pub(crate) fn lead(extender: &mut Value, port: u16) {
    extender["urlPrefix"] = json!(format!("http://127.0.0.1:{port}"));
    let fields = extender.as_object_mut().expect("an extender");
    fields.remove("enableHTTPS");
    fields.remove("tlsConfig");
}

impl Drop for Between {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

/// A client that shows what kube-scheduler would.
async fn client_of(extender: &Value) -> Client {
    let tls = &extender["tlsConfig"];
    let cluster = json!({
        "server": extender["urlPrefix"],
        "certificate-authority-data": tls["caData"],
        "tls-server-name": tls["serverName"],
    });
    let user = json!({
        "client-certificate-data": tls["certData"],
        "client-key-data": tls["keyData"],
    });
    let kubeconfig: Kubeconfig = serde_json::from_value(json!({
        "clusters": [{"name": "extender", "cluster": cluster}],
        "users": [{"name": "extender", "user": user}],
        "contexts": [{"name": "extender", "context": {"cluster": "extender", "user": "extender"}}],
        "current-context": "extender",
    }))
    .expect("a kubeconfig");
    let options = KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options);
    Client::try_from(config.await.expect("it is whole")).expect("a client is made")
}

async fn pass(
    State(passing): State<Arc<Passing>>,
    Path(verb): Path<String>,
    body: Bytes,
) -> Result<Vec<u8>, StatusCode> {
    let mut answer = passing.ask(&verb, body.to_vec()).await?;
    if verb == "prioritize" && !passing.kept.lead {
        answer = without_lead(&answer);
    }
    if verb != "bind" && !passing.kept.guess {
        // Asked about again, the Pod counts nowhere.
        passing.ask("filter", of_no_node(&body)).await?;
    }
    Ok(answer)
}

impl Passing {
    async fn ask(&self, verb: &str, body: Vec<u8>) -> Result<Vec<u8>, StatusCode> {
        let request = Request::post(format!("/{verb}"))
            .header(header::CONTENT_TYPE, "application/json")
            .body(body)
            .expect("a request");
        let answer = self.evenkeel.request_text(request).await;
        answer
            .map(String::into_bytes)
            .map_err(|_| StatusCode::BAD_GATEWAY)
    }
}

/// Scores in which the best node has no more than those next to it.
fn without_lead(answer: &[u8]) -> Vec<u8> {
    let mut scores: Value = serde_json::from_slice(answer).expect("scores are JSON");
    let all = scores.as_array_mut().expect("a list of scores");
    let score = |node: &Value| node["Score"].as_i64().expect("a score");
    let best = all.iter().map(score).max().unwrap_or(0);
    for node in all
        .iter_mut()
        .filter(|node| score(node) == best && best > 0)
    {
        node["Score"] = json!(best - 1);
    }
    scores.to_string().into_bytes()
}

/// The same question about no node.
fn of_no_node(question: &[u8]) -> Vec<u8> {
    let mut question: Value = serde_json::from_slice(question).expect("a question is JSON");
    question["NodeNames"] = json!([]);
    question.to_string().into_bytes()
}
