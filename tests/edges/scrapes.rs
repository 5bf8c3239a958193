//! Access to `/metrics`, with an API server that judges tokens, refuses or is away.

#![allow(clippy::unwrap_used)] // the helpers of tests are tests too

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::{Json, State};
use axum::http::{Request, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use evenkeel_service::server::paths::{FORWARDED_TOKEN, METRICS};
use evenkeel_service::server::{MetricsPage, ScrapeAccess};
use evenkeel_service::telemetry;
use http_body_util::BodyExt as _;
use serde_json::{Value, json};
use tower::ServiceExt as _;

use crate::support::server_fixture::until;

const READER: &str = "system:serviceaccount:monitoring:prometheus";

/// An API server that knows two tokens, and lets one owner read the metrics.
#[derive(Debug, Clone, Default)]
struct Api {
    reviews: Arc<AtomicUsize>,
    /// Those of the reader's token.
    of_reader: Arc<AtomicUsize>,
    away: Arc<AtomicBool>,
    hangs: Arc<AtomicBool>,
}

impl Api {
    fn client(&self) -> kube::Client {
        let router = Router::new()
            .route("/apis/authentication.k8s.io/v1/tokenreviews", post(owner))
            .route(
                "/apis/authorization.k8s.io/v1/subjectaccessreviews",
                post(allowed),
            )
            .with_state(self.clone());
        kube::Client::new(router, "default")
    }

    fn reviews(&self) -> usize {
        self.reviews.load(Ordering::Relaxed)
    }
}

async fn owner(State(api): State<Api>, Json(mut review): Json<Value>) -> Response {
    api.reviews.fetch_add(1, Ordering::Relaxed);
    if api.hangs.load(Ordering::Relaxed) {
        std::future::pending::<()>().await;
    }
    if api.away.load(Ordering::Relaxed) {
        return StatusCode::BAD_GATEWAY.into_response();
    }
    let name = match review["spec"]["token"].as_str() {
        Some("reader") => {
            api.of_reader.fetch_add(1, Ordering::Relaxed);
            READER
        }
        Some("stranger") => "system:serviceaccount:shop:web",
        _ => "",
    };
    review["status"] = json!({
        "authenticated": !name.is_empty(),
        "user": {"username": name, "groups": ["system:serviceaccounts"], "extra": {"a": ["b"]}},
    });
    (StatusCode::CREATED, Json(review)).into_response()
}

async fn allowed(Json(mut review): Json<Value>) -> Response {
    let asked = json!({
        "user": READER,
        "groups": ["system:serviceaccounts"],
        "extra": {"a": ["b"]},
        "nonResourceAttributes": {"path": METRICS, "verb": "get"},
    });
    review["status"] = json!({"allowed": review["spec"] == asked});
    (StatusCode::CREATED, Json(review)).into_response()
}

fn served(api: &Api) -> Router {
    let page = MetricsPage::new(Arc::new(telemetry::registry()));
    page.into_router(ScrapeAccess::authorised(api.client()))
}

async fn ask(router: &Router, header: Option<(&str, &str)>) -> (StatusCode, Response<()>, String) {
    let mut request = Request::get(METRICS);
    if let Some((name, value)) = header {
        request = request.header(name, value);
    }
    let request = request.body(Body::empty()).unwrap();
    let (head, body) = router.clone().oneshot(request).await.unwrap().into_parts();
    let body = body.collect().await.unwrap().to_bytes();
    let text = String::from_utf8(body.to_vec()).unwrap();
    (head.status, Response::from_parts(head, ()), text)
}

const BEARER: &str = "authorization";

#[tokio::test]
async fn a_reader_is_whom_the_api_server_lets_read() {
    let router = served(&Api::default());
    for (shown, status, reason) in [
        (None, 401, "Unauthenticated"),
        (Some((BEARER, "Basic cmVhZGVy")), 401, "Unauthenticated"),
        (Some((BEARER, "Bearer nobody")), 401, "Unauthenticated"),
        (Some((BEARER, "Bearer stranger")), 403, "Forbidden"),
        (Some((BEARER, "Bearer reader")), 200, "# EOF"),
        (Some((FORWARDED_TOKEN, "reader")), 200, "# EOF"),
        (Some((FORWARDED_TOKEN, "stranger")), 403, "Forbidden"),
    ] {
        let (answered, head, text) = ask(&router, shown).await;
        assert_eq!(answered, status, "{shown:?}: {text}");
        assert!(text.contains(reason), "{shown:?}: {text}");
        let challenge = head.headers().get(header::WWW_AUTHENTICATE);
        assert_eq!(challenge.is_some(), status == 401, "{shown:?}");
        assert!(head.headers().get(header::RETRY_AFTER).is_none());
        if status == 200 {
            let kind = &head.headers()[header::CONTENT_TYPE];
            assert_eq!(
                kind,
                "application/openmetrics-text; version=1.0.0; charset=utf-8"
            );
        }
    }
}

#[tokio::test]
async fn without_the_api_server_only_those_it_has_just_admitted_read() {
    let api = Api::default();
    let router = served(&api);
    let status = async |token: &str| {
        let bearer = format!("Bearer {token}");
        ask(&router, Some((BEARER, &bearer))).await.0
    };
    assert_eq!(status("reader").await, StatusCode::OK);
    api.away.store(true, Ordering::Relaxed);
    assert_eq!(status("reader").await, StatusCode::OK);
    assert_eq!(status("stranger").await, StatusCode::SERVICE_UNAVAILABLE);
    api.away.store(false, Ordering::Relaxed);
    assert_eq!(
        status("stranger").await,
        StatusCode::FORBIDDEN,
        "that it was away is not kept"
    );
}

#[tokio::test]
async fn a_token_is_reviewed_once_for_all_who_show_it() {
    let api = Api::default();
    let router = served(&api);
    let asked = (0..50).map(|_| ask(&router, Some((BEARER, "Bearer reader"))));
    for (status, _, _) in futures::future::join_all(asked).await {
        assert_eq!(status, StatusCode::OK);
    }
    assert_eq!(api.reviews(), 1);
    for _ in 0..3 {
        ask(&router, Some((BEARER, "Bearer nobody"))).await;
    }
    assert_eq!(api.reviews(), 2, "refusals are kept too");
}

/// While the API server does not answer, strangers with tokens of their own delay no known reader.
/// If there are too many strangers, they are refused.
#[tokio::test]
async fn strangers_keep_no_reader_waiting() {
    let api = Api::default();
    let router = served(&api);
    let reader = (BEARER, "Bearer reader");
    assert_eq!(ask(&router, Some(reader)).await.0, StatusCode::OK);
    api.hangs.store(true, Ordering::Relaxed);
    let strangers: Vec<_> = (0..50)
        .map(|number| {
            let router = router.clone();
            tokio::spawn(async move {
                let bearer = format!("Bearer stranger-{number}");
                ask(&router, Some((BEARER, &bearer))).await
            })
        })
        .collect();
    let refused = || strangers.iter().filter(|stranger| stranger.is_finished());
    until("too many", || refused().count() >= 50 - 20).await;
    until("reviews", || api.reviews() > 1).await;
    assert_eq!(ask(&router, Some(reader)).await.0, StatusCode::OK);
    assert!(api.reviews() <= 5, "{} at a time", api.reviews() - 1);
    for stranger in strangers {
        if stranger.is_finished() {
            let (status, head, text) = stranger.await.unwrap();
            assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
            assert!(text.contains("ReviewsBusy"), "{text}");
            assert!(head.headers().get(header::RETRY_AFTER).is_none());
        } else {
            stranger.abort();
        }
    }
}

/// A flood of tokens lasts for longer than any verdict is held. An admitted reader is reviewed anew
/// during the flood, and the API server is asked about few of the others.
#[tokio::test(start_paused = true)]
async fn a_flood_of_tokens_neither_shuts_a_reader_out_nor_reaches_the_api_server() {
    let api = Api::default();
    let router = served(&api);
    let reader = (BEARER, "Bearer reader");
    assert_eq!(ask(&router, Some(reader)).await.0, StatusCode::OK);
    let seconds = 120;
    for second in 0..seconds {
        let flood = (0..100).map(|number| {
            let router = router.clone();
            async move {
                let bearer = format!("Bearer nobody-{second}-{number}");
                ask(&router, Some((BEARER, &bearer))).await.0
            }
        });
        let (flooded, (status, ..)) =
            tokio::join!(futures::future::join_all(flood), ask(&router, Some(reader)));
        assert_eq!(status, StatusCode::OK, "after {second} s");
        assert!(flooded.contains(&StatusCode::SERVICE_UNAVAILABLE));
        tokio::time::advance(Duration::from_secs(1)).await;
    }
    let periods = seconds / 30;
    assert!(
        api.reviews() <= 10 * (seconds + 1) + periods,
        "{}",
        api.reviews()
    );
    assert_eq!(api.of_reader.load(Ordering::Relaxed), periods);
}
