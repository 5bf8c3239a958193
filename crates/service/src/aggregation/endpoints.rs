//! The paths of groups, each behind the front proxy: what is common to their handlers.

use std::num::NonZeroUsize;

use axum::Json;
use axum::extract::Query;
use axum::http::request::Parts;
use axum::http::{Method, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::{MethodFilter, MethodRouter};
use evenkeel_units::Bytes;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Status;

use crate::server::{BodyPace, PathLimits, RouteEndpoint, Routes};

/// No body is read of any request, and its bounds are those of none.
const NO_BODY: Bytes = Bytes(0);
const LIMITS: PathLimits = PathLimits {
    body: NO_BODY,
    body_pace: BodyPace {
        grace: std::time::Duration::ZERO,
        rate: Bytes(1),
        longest: std::time::Duration::ZERO,
    },
    concurrency: NonZeroUsize::MIN,
};

/// Handlers take every method, so that a refusal is one of the API.
pub(crate) const EVERY: MethodFilter = MethodFilter::GET
    .or(MethodFilter::HEAD)
    .or(MethodFilter::POST)
    .or(MethodFilter::PUT)
    .or(MethodFilter::PATCH)
    .or(MethodFilter::DELETE)
    .or(MethodFilter::OPTIONS);

/// A path with a handler that explains a refusal itself, in the words of the API.
pub(crate) const fn endpoint(path: &'static str) -> RouteEndpoint {
    RouteEndpoint {
        path,
        limits: LIMITS,
        authority: None,
    }
}

/// Adds paths that the API server's aggregation layer calls.
pub(crate) fn routes(
    routes: Routes,
    paths: impl IntoIterator<Item = (RouteEndpoint, MethodRouter)>,
) -> Routes {
    routes.caller("aggregator", NO_BODY, paths)
}

pub(crate) fn is_read(request: &Parts) -> bool {
    let is_watch =
        |(name, value): &(String, String)| name == "watch" && value != "false" && value != "0";
    let reads = request.method == Method::GET || request.method == Method::HEAD;
    reads && !parameters(request).iter().any(is_watch)
}

pub(crate) fn parameters(request: &Parts) -> Vec<(String, String)> {
    let pairs = Query::<Vec<(String, String)>>::try_from_uri(&request.uri);
    pairs.map(|Query(pairs)| pairs).unwrap_or_default()
}

pub(crate) struct StatusErrorResponse(Box<Status>);

impl From<Status> for StatusErrorResponse {
    fn from(status: Status) -> Self {
        Self(Box::new(status))
    }
}

impl IntoResponse for StatusErrorResponse {
    fn into_response(self) -> Response {
        let code = self.0.code.and_then(|code| u16::try_from(code).ok());
        let code = code.and_then(|code| StatusCode::from_u16(code).ok());
        let code = code.expect("the codes of refusals are those of HTTP");
        (code, Json(self.0)).into_response()
    }
}
