//! `GET /api/v1/placements[?namespace=]`: the newest placements with their reasons.

use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Response;
use axum::routing::get;
use serde::Deserialize;

use super::json_answer::json_answer;
use super::query::parameters;
use crate::api;
use crate::api::placements::PlacementList;
use crate::server::ApiError;
use crate::server::handlers::{Handlers, PLACEMENTS_KEPT};

pub(super) fn routes(handlers: &Handlers) -> Router {
    Router::new().route(api::PLACEMENTS, get(list).with_state(handlers.clone()))
}

#[derive(Debug, Deserialize)]
struct PlacementsQuery {
    namespace: Option<String>,
}

async fn list(State(handlers): State<Handlers>, uri: Uri) -> Result<Response, ApiError> {
    let query: PlacementsQuery = parameters(&uri, "namespace=NAMESPACE")?;
    json_answer(move || {
        let mut placements = handlers.decisions.placements_since(0, &handlers.policy);
        if let Some(namespace) = query.namespace {
            placements.retain(|placement| placement.namespace == namespace);
        }
        PlacementList {
            at: handlers.cluster.now(),
            kept: PLACEMENTS_KEPT,
            placements,
        }
    })
    .await
}
