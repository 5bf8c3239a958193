//! The handlers: from a request's body to the pure decision and back.
//!
//! A handler takes the newest snapshot once, decides on it, notes what follows for the table, and
//! answers. Nothing is awaited after the body is read.

mod explain;
mod fail_open;
mod index;
mod metrics;
mod mutate;
mod scaling;
mod schedule;

use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::Query;
use axum::http::Uri;
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use hyper::header::CONTENT_TYPE;
use serde::de::DeserializeOwned;

use explain::Decisions;
use fail_open::FailOpen;
pub use index::index;
pub use metrics::Metrics;
pub use scaling::Scaling;

use super::paths;
use super::tls::Authority;
use super::{Endpoint, Limits, Routes};
use crate::cluster::ClusterState;
use evenkeel_core::placement::Policy;
use evenkeel_core::units::Bytes;
use evenkeel_kubernetes::extender::VerdictCache;
use evenkeel_kubernetes::json;

/// What the handlers share.
#[derive(Debug, Clone)]
pub struct Api {
    cluster: ClusterState,
    policy: Arc<Policy>,
    verdicts: VerdictCache,
    decisions: Decisions,
    fail_open: Arc<FailOpen>,
    metrics: Metrics,
}

/// Bounds of the two callers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// The largest AdmissionReview; the API server itself takes objects of 3 MiB.
    pub admission_body: Bytes,
    /// The largest extender request: 5,000 whole nodes are some 30 MB.
    pub extender_body: Bytes,
    /// AdmissionReviews answered at a time.
    pub admission_concurrency: NonZeroUsize,
    /// Extender calls answered at a time.
    pub extender_concurrency: NonZeroUsize,
    /// How long a body may take to arrive.
    pub body_time: Duration,
    /// What the bodies of all requests may take together.
    pub body_budget: Bytes,
}

impl Api {
    /// Handlers that decide on `cluster` by `policy`.
    #[must_use]
    pub fn new(cluster: ClusterState, policy: Arc<Policy>, metrics: Metrics) -> Self {
        Self {
            cluster,
            policy,
            verdicts: VerdictCache::default(),
            decisions: Decisions::default(),
            fail_open: Arc::default(),
            metrics,
        }
    }

    /// The paths of the HTTPS listener.
    pub fn routes(&self, settings: &Settings, metrics: super::Metrics) -> Router {
        let Settings {
            admission_body,
            extender_body,
            admission_concurrency,
            extender_concurrency,
            body_time,
            body_budget,
        } = *settings;
        let endpoint = |path, body, concurrency, authority| Endpoint {
            path,
            limits: Limits {
                body,
                body_time,
                concurrency,
            },
            authority,
        };
        let extender = |path| {
            endpoint(
                path,
                extender_body,
                extender_concurrency,
                Some(Authority::Scheduler),
            )
        };
        Routes::new(body_budget, metrics)
            .with(
                endpoint(paths::MUTATE, admission_body, admission_concurrency, None),
                post(mutate::mutate).with_state(self.clone()),
            )
            .with(
                extender(paths::FILTER),
                post(schedule::filter).with_state(self.clone()),
            )
            .with(
                extender(paths::PRIORITIZE),
                post(schedule::prioritize).with_state(self.clone()),
            )
            .into_router()
    }

    /// The paths of the dashboard's listener.
    pub fn explanations(&self) -> Router {
        Router::new().route(
            paths::EXPLAIN,
            get(explain::stored)
                .post(explain::what_if)
                .with_state(self.clone()),
        )
    }
}

fn json_body(body: Vec<u8>) -> Response {
    ([(CONTENT_TYPE, "application/json")], body).into_response()
}

/// The parameters of a request; else what is wrong with them, and what they look like.
fn parameters<T: DeserializeOwned>(uri: &Uri, accepted: &str) -> Result<T, super::ApiError> {
    let Query(parameters) = Query::try_from_uri(uri).map_err(|error| {
        let text = error.body_text();
        // What comes before says only that it is about the query.
        let wrong = text.rsplit_once("query string: ");
        let wrong = wrong.map_or(&*text, |(_, wrong)| wrong);
        let path = uri.path();
        let message = format!("{wrong}; accepted: {path}?{accepted}");
        super::ApiError::bad_request("WrongParameters", message)
    })?;
    Ok(parameters)
}

/// What a body that cannot be read is answered with: both callers treat it as a miss.
fn unreadable(reason: &'static str, error: &dyn std::fmt::Display) -> super::ApiError {
    super::ApiError::bad_request(reason, error.to_string())
}

impl From<json::ParseError> for super::ApiError {
    fn from(error: json::ParseError) -> Self {
        unreadable(error.reason(), &error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wrong_parameters_are_named_with_what_is_accepted() {
        #[derive(Debug, serde::Deserialize)]
        struct Which {
            pod: String,
        }
        let uri = |text: &'static str| Uri::from_static(text);
        let found: Which = parameters(&uri("/explain?pod=web-0"), "pod=NAME").unwrap();
        assert_eq!(found.pod, "web-0");
        let refused = parameters::<Which>(&uri("/explain?node=a"), "pod=NAME").unwrap_err();
        let shown = format!("{refused:?}");
        assert!(
            shown.contains("missing field `pod`; accepted: /explain?pod=NAME"),
            "{shown}"
        );
    }
}
