//! The group `metrics.evenkeel.dev`, served behind the API server, which has authorised the path
//! already. Here the caller's rights are checked again, with those of the metrics API behind the
//! query, which no path shows. Every caller behind the front proxy gets discovery and the API's
//! description, because they say nothing about the cluster.

use std::fmt::Write as _;
use std::sync::Arc;

use axum::Json;
use axum::body::Body;
use axum::extract::{Path, Request, State};
use axum::http::header::CONTENT_TYPE;
use axum::http::request::Parts;
use axum::response::{IntoResponse, Response};
use axum::routing::on;
use evenkeel_metrics::series_query;
use evenkeel_metrics::series_query::{SeriesQuery, SeriesRefusal};
use evenkeel_objects::api_group;
use evenkeel_objects::kinds::Kind;
use k8s_openapi::api::authentication::v1::UserInfo;
use sha2::{Digest as _, Sha256};

use super::provider::{HeldSeriesAnswer, MetricsProvider};
use super::response_body::until_sent;
use crate::aggregation::{
    AccessDeniedError, EVERY, Introductions, Rights, StatusErrorResponse, UnknownCallerError,
    endpoint, is_read, parameters, routes,
};
use crate::server::{Routes, paths};

/// Hexadecimal digits of the hash of a document.
const HASH: usize = 16;

#[derive(Debug)]
pub struct SeriesApi {
    pub introductions: Introductions,
    pub rights: Arc<Rights>,
    pub provider: Arc<MetricsProvider>,
}

impl SeriesApi {
    /// Adds the paths of the group.
    pub fn routes(self, all: Routes) -> Routes {
        let shared = Arc::new(self);
        let state = || Arc::clone(&shared);
        routes(
            all,
            [
                (
                    endpoint(paths::METRICS_PROVIDER),
                    on(EVERY, group).with_state(state()),
                ),
                (
                    endpoint(paths::METRICS_PROVIDER_VERSION),
                    on(EVERY, resources).with_state(state()),
                ),
                (
                    endpoint(paths::OPENAPI),
                    on(EVERY, index).with_state(state()),
                ),
                (
                    endpoint(paths::OPENAPI_METRICS_PROVIDER),
                    on(EVERY, document).with_state(state()),
                ),
                (
                    endpoint(paths::SERIES),
                    on(EVERY, series).with_state(state()),
                ),
            ],
        )
    }

    fn reader(&self, request: &Parts) -> Result<UserInfo, StatusErrorResponse> {
        let caller = self.introductions.caller(request);
        let caller =
            caller.map_err(|UnknownCallerError(why)| SeriesRefusal::Unauthenticated(why))?;
        if is_read(request) {
            Ok(caller)
        } else {
            Err(SeriesRefusal::NotGot.into())
        }
    }
}

/// Checks that `user` has all the rights that a question takes.
pub(super) async fn authorise(
    rights: &Rights,
    user: UserInfo,
    query: &SeriesQuery,
) -> Result<(), SeriesRefusal> {
    for right in query.rights() {
        let checked = rights.check(user.clone(), right.clone()).await;
        checked.map_err(|denied| match denied {
            AccessDeniedError::Forbidden => SeriesRefusal::Forbidden {
                user: user.username.clone().unwrap_or_default(),
                right: series_query::words(&right),
            },
            AccessDeniedError::Unreviewed => SeriesRefusal::Unreviewed(denied.to_string()),
        })?;
    }
    Ok(())
}

type SeriesApiState = State<Arc<SeriesApi>>;

async fn group(
    State(shared): SeriesApiState,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    shared.reader(&request.into_parts().0)?;
    Ok(Json(api_group::group(Kind::MetricSeries)).into_response())
}

async fn resources(
    State(shared): SeriesApiState,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    shared.reader(&request.into_parts().0)?;
    Ok(Json(api_group::resources(
        Kind::MetricSeries,
        Kind::MetricSeries.plural(),
    ))
    .into_response())
}

async fn index(
    State(shared): SeriesApiState,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    shared.reader(&request.into_parts().0)?;
    let digest = Sha256::digest(series_query::document().to_string());
    let mut hash = String::new();
    for byte in digest.iter().take(HASH / 2) {
        let _ = write!(hash, "{byte:02x}");
    }
    Ok(Json(series_query::index(&hash)).into_response())
}

async fn document(
    State(shared): SeriesApiState,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    shared.reader(&request.into_parts().0)?;
    Ok(Json(series_query::document()).into_response())
}

async fn series(
    State(shared): SeriesApiState,
    Path((namespace, kind)): Path<(String, String)>,
    request: Request,
) -> Result<Response, StatusErrorResponse> {
    let (parts, _) = request.into_parts();
    let user = shared.reader(&parts)?;
    let limits = shared.provider.settings().limits;
    let asked = series_query::parse(&namespace, &kind, &parameters(&parts), limits)?;
    authorise(&shared.rights, user, &asked.query).await?;
    let HeldSeriesAnswer { answer, turn } = shared.provider.answer(&asked).await?;
    let (kind, unit) = (asked.query.kind(), asked.query.unit());
    let held = Arc::clone(&turn);
    let body = written(move || {
        let _held = held;
        serde_json::to_vec(&answer.list(kind, unit))
    });
    let body = until_sent(Body::from(body.await?), turn);
    Ok(([(CONTENT_TYPE, "application/json")], body).into_response())
}

/// Writes an answer on a blocking thread, because it may have megabytes.
async fn written(
    list: impl FnOnce() -> serde_json::Result<Vec<u8>> + Send + 'static,
) -> Result<Vec<u8>, StatusErrorResponse> {
    let written = tokio::task::spawn_blocking(list).await;
    let aborted = || SeriesRefusal::Failed {
        asked: "Evenkeel",
        reason: "Aborted",
    };
    let written = written.ok().and_then(Result::ok);
    written.ok_or_else(|| aborted().into())
}

impl From<SeriesRefusal> for StatusErrorResponse {
    fn from(refusal: SeriesRefusal) -> Self {
        refusal.status().into()
    }
}
