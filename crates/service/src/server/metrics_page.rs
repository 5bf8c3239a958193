//! `/metrics`: one text for all readers within a second, shown only to authorised readers. With
//! thousands of scaling targets the text has megabytes, and its rendering takes processor time from
//! kube-scheduler's requests. So it is rendered once a second at most, on other threads.

use std::sync::Arc;
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::sync::{Mutex, Semaphore};

use super::error::ApiError;
use super::paths;
use super::scrape_access::{ScrapeAccess, ScrapeRefusal};
use crate::telemetry::{self, Registry};
use evenkeel_clock as clock;

/// Age up to which a text is shown again. Scrapes are further apart by far.
const FRESH: Duration = Duration::from_secs(1);

/// Admitted requests that are answered at a time; others wait. Enough for two replicas of
/// Prometheus and some people.
const AT_ONCE: usize = 8;

/// The page of the service's metrics; clones show the same text.
#[derive(Debug, Clone)]
pub struct MetricsPage(Arc<MetricsPageCache>);

#[derive(Debug)]
struct MetricsPageCache {
    registry: Arc<Registry>,
    last: Mutex<Option<(Instant, Bytes)>>,
    turns: Semaphore,
}

impl MetricsPage {
    pub fn new(registry: Arc<Registry>) -> Self {
        Self(Arc::new(MetricsPageCache {
            registry,
            last: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
        }))
    }

    /// `/metrics`, for the readers that `access` admits.
    pub fn into_router(self, access: ScrapeAccess) -> Router {
        Router::new()
            .route(paths::METRICS, get(show))
            .with_state(Arc::new((self, access)))
    }

    /// The text, no older than [`FRESH`] at `now`.
    async fn text(&self, now: Instant) -> Result<Bytes, ApiError> {
        let mut last = self.0.last.lock().await;
        if let Some((at, text)) = &*last
            && now.saturating_duration_since(*at) < FRESH
        {
            return Ok(text.clone());
        }
        let registry = Arc::clone(&self.0.registry);
        let rendered = tokio::task::spawn_blocking(move || telemetry::encode(&registry)).await;
        let Ok(Ok(text)) = rendered else {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            let message = "a metric cannot be encoded";
            return Err(ApiError::new(status, "MetricsUnencodable", message));
        };
        let text = Bytes::from(text);
        *last = Some((now, text.clone()));
        Ok(text)
    }
}

async fn show(
    State(shown): State<Arc<(MetricsPage, ScrapeAccess)>>,
    headers: HeaderMap,
) -> Result<Response, Response> {
    let (page, access) = &*shown;
    access.admit(&headers).await.map_err(refused)?;
    let turn = page.0.turns.acquire().await;
    let _turn = turn.expect("the semaphore is never closed");
    let text = page
        .text(clock::instant())
        .await
        .map_err(IntoResponse::into_response)?;
    Ok(([(header::CONTENT_TYPE, telemetry::CONTENT_TYPE)], text).into_response())
}

fn refused(refusal: ScrapeRefusal) -> Response {
    let error = ApiError::new(refusal.status(), refusal.reason(), refusal.to_string());
    if refusal.status() == StatusCode::UNAUTHORIZED {
        return ([(header::WWW_AUTHENTICATE, "Bearer")], error).into_response();
    }
    error.into_response()
}

#[cfg(test)]
mod tests {
    use prometheus_client::metrics::counter::Counter;

    use super::*;

    #[tokio::test]
    async fn the_text_is_rendered_once_a_second() {
        let counter = Counter::<u64>::default();
        let mut registry = telemetry::registry();
        registry.register("things", "Things", counter.clone());
        let page = MetricsPage::new(Arc::new(registry));
        let start = clock::instant();
        let at = async |millis| {
            counter.inc();
            let text = page.text(start + Duration::from_millis(millis)).await;
            let text = String::from_utf8(text.unwrap().to_vec()).unwrap();
            let line = text
                .lines()
                .find_map(|line| line.strip_prefix("evenkeel_things_total "));
            line.unwrap().to_owned()
        };
        assert_eq!(at(0).await, "1");
        assert_eq!(at(1).await, "1");
        assert_eq!(at(999).await, "1");
        assert_eq!(at(1000).await, "4");
        assert_eq!(at(1999).await, "4");
    }
}
