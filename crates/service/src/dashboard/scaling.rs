//! `/api/v1/scaling` and `/api/v1/scaling/history`: the newest state of every target, and the
//! recent past of one.

use std::sync::Arc;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use axum::{Json, Router};
use evenkeel_objects::kinds::Kind;
use evenkeel_scaling::status::dashboard::ScalingStatus;
use serde::Deserialize;

use super::json_answer::json_answer;
use super::query::parameters;
use super::replay_board::ReplayBoard;
use crate::api;
use crate::api::history::ScalingHistory;
use crate::api::scaling::TargetList;
use crate::controller::scaling::StatusStore;
use crate::controller::scaling::recent_history::{RecentHistory, RecentHistoryKey, STEP};
use crate::server::ApiError;

/// State that the scaling loop leaves behind at each tick, and the comparison of a replay.
#[derive(Debug, Clone, Default)]
pub struct DashboardScalingState {
    pub board: StatusStore,
    pub traces: RecentHistory,
    pub replay: ReplayBoard,
}

impl DashboardScalingState {
    pub fn routes(&self) -> Router {
        Router::new()
            .route(api::SCALING, get(targets))
            .route(api::SCALING_HISTORY, get(history))
            .with_state(self.clone())
    }
}

#[derive(Debug, Deserialize)]
struct TargetsQuery {
    namespace: Option<String>,
    name: Option<String>,
}

async fn targets(
    State(scaling): State<DashboardScalingState>,
    uri: Uri,
) -> Result<Response, ApiError> {
    let query: TargetsQuery = parameters(&uri, "[namespace=NAMESPACE][&name=NAME]")?;
    let statuses = scaling.board.targets();
    json_answer(move || {
        let is = |wanted: &Option<String>, found: &str| {
            wanted.as_deref().is_none_or(|wanted| wanted == found)
        };
        let wanted = |status: &&Arc<ScalingStatus>| {
            is(&query.namespace, &status.namespace) && is(&query.name, &status.object.name)
        };
        let targets = statuses.iter().filter(wanted);
        TargetList {
            targets: targets.map(Arc::clone).collect(),
        }
    })
    .await
}

#[derive(Debug, Deserialize)]
struct HistoryQuery {
    namespace: String,
    name: String,
    #[serde(default = "autoscaler")]
    kind: String,
    #[serde(default = "cpu")]
    resource: String,
}

fn autoscaler() -> String {
    Kind::HorizontalPodAutoscaler.as_str().to_owned()
}

fn cpu() -> String {
    "cpu".to_owned()
}

async fn history(
    State(scaling): State<DashboardScalingState>,
    uri: Uri,
) -> Result<Json<ScalingHistory>, ApiError> {
    let HistoryQuery {
        namespace,
        name,
        kind,
        resource,
    } = parameters(
        &uri,
        "namespace=NAMESPACE&name=NAME[&kind=KIND][&resource=cpu|memory]",
    )?;
    let key = RecentHistoryKey {
        namespace: namespace.as_str().into(),
        kind: kind.as_str().into(),
        name: name.as_str().into(),
    };
    let points = scaling.traces.points(&key, &resource).ok_or_else(|| {
        let message =
            format!("{kind} {namespace}/{name} is not a target that scales by {resource}");
        ApiError::new(StatusCode::NOT_FOUND, "NoSuchTarget", message)
    })?;
    Ok(Json(ScalingHistory {
        step: STEP.as_secs(),
        points,
    }))
}
