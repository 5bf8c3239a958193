//! The kubelet's paths, on a listener of their own: load on the others is no reason to restart a
//! replica. `/livez` says only that the process answers, because a restart helps no outside
//! trouble. `/readyz` names the unmet conditions.

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
