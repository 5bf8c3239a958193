//! The Pods' use of disks, read from kubelets on loopback: trusted certificates, the effect of each
//! fault, and the number of concurrent calls.

#![allow(clippy::unwrap_used)] // clippy takes the helpers of a test for no test

use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::get;
use evenkeel_clock as clock;
use evenkeel_clock::Clock;
use evenkeel_service::account_tokens::AccountTokens;
use evenkeel_service::metrics::kubelet::{Disks, Kubelet, KubeletPoller, Settings, WithDisks};
use evenkeel_service::metrics::{
    Authorization, EndpointAccess, MetricsRound, MetricsSource, NoMetrics, QueryMetrics,
    QueryRounds, QueryTimeLimits, kubelet,
};
use evenkeel_units::{Amount, Resource};
use hyper::{Request, Response};
use serde_json::{Value, json};
use tokio::sync::Barrier;

use crate::support::metrics_stand_in::{Identity, certificate, serve_tls};

/// The longest wait for an answer; only a broken program takes so long.
const PATIENCE: Duration = Duration::from_mins(1);

/// The answer of node `name`, with file systems measured a moment ago.
fn summary(name: &str) -> Value {
    let now = clock::now().to_string();
    json!({
        "node": {
            "nodeName": name,
            "fs": {"time": now, "usedBytes": 190_000_000_000_u64},
            "runtime": {"imageFs": {"time": now, "usedBytes": 80_000_000_000_u64}},
        },
        "pods": [
            {"podRef": {"namespace": "shop", "name": "web"}, "ephemeral-storage": {"usedBytes": 30}},
            {"podRef": {"namespace": "shop", "name": "db"}, "ephemeral-storage": {"usedBytes": 12}},
        ],
    })
}

/// A kubelet of node `name` that accepts the token.
fn kubelet(name: &'static str) -> Router {
    let answer = move |headers: HeaderMap| async move {
        if headers
            .get("authorization")
            .is_none_or(|shown| shown != "Bearer of-evenkeel")
        {
            return (StatusCode::FORBIDDEN, "Forbidden".to_owned());
        }
        (StatusCode::OK, summary(name).to_string())
    };
    Router::new().route("/stats/summary", get(answer))
}

struct Files {
    folder: tempfile::TempDir,
}

impl Files {
    fn new(authority: &Identity, token: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("ca.crt"), authority.cert.pem()).unwrap();
        std::fs::write(folder.path().join("token"), token).unwrap();
        Self { folder }
    }

    fn settings(&self) -> Settings {
        let file = |name: &str| -> PathBuf { Path::join(self.folder.path(), name) };
        Settings {
            access: EndpointAccess {
                authorization: Authorization::Bearer(file("token")),
                ca_file: Some(file("ca.crt")),
                identity: None,
            },
            timeout: PATIENCE,
        }
    }
}

/// An API server that makes the tokens `of-evenkeel`, counted, or refuses.
fn tokens(made: &Arc<AtomicUsize>, may: bool) -> AccountTokens {
    let made = Arc::clone(made);
    let service = tower::service_fn(move |request: Request<kube::client::Body>| {
        let path = request.uri().path().to_owned();
        assert_eq!(
            path,
            "/api/v1/namespaces/keel/serviceaccounts/evenkeel-kubelets/token"
        );
        made.fetch_add(1, Ordering::SeqCst);
        let (status, body) = if may {
            let token =
                json!({"token": "of-evenkeel", "expirationTimestamp": "2026-01-01T00:00:00Z"});
            (201, json!({"spec": {"audiences": []}, "status": token}))
        } else {
            let body = json!({"status": "Failure", "message": "not you", "reason": "Forbidden", "code": 403});
            (403, body)
        };
        let body = kube::client::Body::from(body.to_string().into_bytes());
        let response = Response::builder().status(status).body(body).unwrap();
        async move { Ok::<_, Infallible>(response) }
    });
    AccountTokens::new(
        kube::Client::new(service, "default"),
        "keel",
        kubelet::ACCOUNT,
    )
}

/// An asker of these kubelets, running, with the rounds that it feeds and its metrics.
fn start(settings: Settings, kubelets: Vec<(String, u16)>) -> (QueryRounds, QueryMetrics) {
    start_with(settings, None, kubelets)
}

fn start_with(
    settings: Settings,
    tokens: Option<AccountTokens>,
    kubelets: Vec<(String, u16)>,
) -> (QueryRounds, QueryMetrics) {
    let (disks, metrics) = (Disks::default(), QueryMetrics::default());
    let clock = Clock::real();
    let asker = KubeletPoller::new(settings, tokens, disks.clone(), clock, metrics.clone());
    let known = move || {
        let one = |(node, port): &(String, u16)| Kubelet {
            node: node.as_str().into(),
            address: [127, 0, 0, 1].into(),
            port: Some(*port),
        };
        kubelets.iter().map(one).collect()
    };
    tokio::spawn(asker.run(known));
    let source: Arc<dyn MetricsSource> = Arc::new(WithDisks::new(Arc::new(NoMetrics), disks));
    let limits = QueryTimeLimits {
        deadline: PATIENCE,
        patience: PATIENCE,
    };
    (QueryRounds::new(source, limits), metrics)
}

async fn until<T>(what: &str, mut found: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = clock::instant();
    loop {
        if let Some(found) = found().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "{what}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// The first round in which so many nodes are measured.
async fn measured(asking: &mut QueryRounds, nodes: usize) -> MetricsRound {
    until("no disk is measured", async || {
        let round = asking.round(clock::now()).await.ok()?;
        (round.usage.nodes[Resource::Disk].len() == nodes).then_some(round)
    })
    .await
}

fn exported(metrics: &QueryMetrics) -> String {
    let mut registry = evenkeel_service::telemetry::Registry::default();
    metrics.register(&mut registry);
    let mut text = String::new();
    prometheus_client::encoding::text::encode(&mut text, &registry).unwrap();
    text
}

#[tokio::test]
async fn a_kubelet_tells_what_pods_use_and_images_do_not_count() {
    let authority = certificate();
    let port = serve_tls(&authority, None, kubelet("a")).await;
    let files = Files::new(&authority, "of-evenkeel\n");
    let (mut asking, _) = start(files.settings(), vec![("a".to_owned(), port)]);
    let round = measured(&mut asking, 1).await;
    let node = round.usage.node("a")[Resource::Disk].unwrap();
    assert_eq!(node.value, Amount::new(42));
    let web = round.usage.of_pod("shop", "web", Resource::Disk);
    assert_eq!(web, Some(Amount::new(30)));
}

/// It is shown no token of the replica's own, and one token serves all.
#[tokio::test]
async fn kubelets_are_asked_in_the_name_of_an_account_that_may_nothing_else() {
    let authority = certificate();
    let mut nodes = Vec::new();
    for name in ["a", "b", "c"] {
        let port = serve_tls(&authority, None, kubelet(name)).await;
        nodes.push((name.to_owned(), port));
    }
    let files = Files::new(&authority, "unused");
    let mut settings = files.settings();
    settings.access.authorization = Authorization::None;
    let made = Arc::new(AtomicUsize::new(0));
    let given = Some(tokens(&made, true));
    let (mut asking, _) = start_with(settings.clone(), given, nodes.clone());
    measured(&mut asking, 3).await;
    assert_eq!(made.load(Ordering::SeqCst), 1);
    let (_, metrics) = start_with(settings, Some(tokens(&made, false)), nodes);
    let line = r#"query_failures_total{query="kubeletDisk",reason="Credentials"} 3"#;
    until(line, async || {
        exported(&metrics).contains(line).then_some(())
    })
    .await;
}

/// Each leaves the disk of its node unmeasured, and is told by its reason.
#[tokio::test]
async fn a_kubelet_that_is_not_believed_or_does_not_answer_tells_nothing() {
    let (authority, stranger) = (certificate(), certificate());
    let odd = Router::new().route("/stats/summary", get(async || "no summary"));
    for (identity, router, token, reason) in [
        (&stranger, kubelet("a"), "of-evenkeel", "Connect"),
        (&authority, kubelet("a"), "of-nobody", "Unauthorized"),
        (&authority, kubelet("b"), "of-evenkeel", "Malformed"),
        (&authority, odd, "of-evenkeel", "Malformed"),
        (&authority, Router::new(), "of-evenkeel", "NotServed"),
        (&authority, kubelet("a"), "", "Credentials"),
    ] {
        let port = serve_tls(identity, None, router).await;
        let files = Files::new(&authority, token);
        let (mut asking, metrics) = start(files.settings(), vec![("a".to_owned(), port)]);
        let line = format!(r#"query_failures_total{{query="kubeletDisk",reason="{reason}"}} 1"#);
        until(&line, async || {
            exported(&metrics).contains(&line).then_some(())
        })
        .await;
        let round = asking.round(clock::now()).await.unwrap();
        assert!(round.usage.node_names().is_empty(), "{reason}");
    }
}

/// Eight wait for each other: fewer at once would never be answered.
#[tokio::test]
async fn eight_kubelets_are_asked_at_once_and_no_more() {
    let authority = certificate();
    let (barrier, now, most) = (
        Arc::new(Barrier::new(8)),
        Arc::new(AtomicUsize::new(0)),
        Arc::new(AtomicUsize::new(0)),
    );
    let mut kubelets = Vec::new();
    for number in 0..16 {
        let name = format!("node-{number}");
        let (barrier, now, most) = (Arc::clone(&barrier), Arc::clone(&now), Arc::clone(&most));
        let own = name.clone();
        let answer = move || async move {
            most.fetch_max(now.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            barrier.wait().await;
            now.fetch_sub(1, Ordering::SeqCst);
            summary(&own).to_string()
        };
        let router = Router::new().route("/stats/summary", get(answer));
        kubelets.push((name, serve_tls(&authority, None, router).await));
    }
    let files = Files::new(&authority, "any");
    let (mut asking, _) = start(files.settings(), kubelets);
    measured(&mut asking, 16).await;
    assert_eq!(most.load(Ordering::SeqCst), 8);
}
