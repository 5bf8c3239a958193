//! The paths for the kubelet, on a listener of their own. Load on the other listeners is no reason
//! to restart a replica.
//!
//! `/livez` says that the process answers and nothing else, because a restart helps no outside
//! trouble. `/readyz` names the conditions that are not met.

use std::sync::Arc;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use axum::{Json, Router};
use serde::Serialize;

use super::{Readiness, Shutdown, ShutdownPhase, paths};

/// State that the probes report.
#[derive(Debug, Clone)]
pub struct Probes {
    /// The conditions of readiness.
    pub readiness: Readiness,
    /// Unready from its first phase on.
    pub shutdown: Shutdown,
}

#[derive(Serialize)]
struct ReadinessProbe {
    ready: bool,
    missing: Vec<&'static str>,
}

impl Probes {
    /// `/livez` and `/readyz`.
    pub fn into_router(self) -> Router {
        Router::new()
            .route(paths::LIVEZ, get(async || "ok\n"))
            .route(paths::READYZ, get(ready))
            .with_state(Arc::new(self))
    }
}

async fn ready(State(probes): State<Arc<Probes>>) -> Response {
    let mut missing = probes.readiness.missing();
    if probes.shutdown.phase() > ShutdownPhase::Serving {
        missing.push("not shutting down");
    }
    let ready = missing.is_empty();
    let status = if ready {
        StatusCode::OK
    } else {
        StatusCode::SERVICE_UNAVAILABLE
    };
    (status, Json(ReadinessProbe { ready, missing })).into_response()
}
