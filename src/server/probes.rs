//! The paths for the kubelet and for Prometheus, on a listener of their own.
//!
//! `/livez` says that the process answers and nothing else, since a restart helps no outside
//! trouble. `/readyz` names the conditions that are not met.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

use super::{ApiError, Phase, Readiness, Shutdown};
use crate::telemetry::{self, Registry};

/// State that the probes report.
#[derive(Debug, Clone)]
pub struct Probes {
    /// The conditions of readiness.
    pub readiness: Readiness,
    pub registry: Arc<Registry>,
    /// Unready from its first phase on.
    pub shutdown: Shutdown,
}

#[derive(Serialize)]
struct Ready {
    ready: bool,
    missing: Vec<&'static str>,
}

impl Probes {
    /// `/livez`, `/readyz` and `/metrics`.
    pub fn into_router(self) -> Router {
        Router::new()
            .route("/livez", get(async || "ok\n"))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .with_state(Arc::new(self))
    }
}

async fn ready(State(probes): State<Arc<Probes>>) -> Response {
    let mut missing = probes.readiness.missing();
    if probes.shutdown.phase() > Phase::Serving {
        missing.push("not shutting down");
    }
    let ready = missing.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(Ready { ready, missing })).into_response()
}

async fn metrics(State(probes): State<Arc<Probes>>) -> Result<Response, ApiError> {
    let page = telemetry::encode(&probes.registry).map_err(|_| {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        ApiError::new(status, "MetricsUnencodable", "a metric cannot be encoded")
    })?;
    Ok(([(header::CONTENT_TYPE, telemetry::CONTENT_TYPE)], page).into_response())
}
