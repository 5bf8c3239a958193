//! `/api/v1/scaling`: what is known and decided of every target, and the recent past of one.
//!
//! Both read what the loop has put up; neither waits for it.

use axum::Json;
use axum::Router;
use axum::extract::{Query, State};
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use serde::{Deserialize, Serialize};

use crate::controller::scaling::trace::{Key, Point, STEP, Traces};
use crate::controller::scaling::{Board, board::Shown};
use crate::server::{ApiError, paths};

/// What the loop puts up.
#[derive(Debug, Clone, Default)]
pub struct Scaling {
    /// The newest picture of all targets.
    pub board: Board,
    /// The recent past of each.
    pub traces: Traces,
}

impl Scaling {
    /// The paths of the dashboard's listener.
    pub fn routes(&self) -> Router {
        Router::new()
            .route(paths::SCALING, get(targets))
            .route(paths::SCALING_HISTORY, get(history))
            .with_state(self.clone())
    }
}

#[derive(Debug, Deserialize)]
pub(super) struct Asked {
    namespace: Option<String>,
}

async fn targets(
    State(scaling): State<Scaling>,
    Query(asked): Query<Asked>,
) -> axum::response::Response {
    let targets = scaling.board.targets();
    // Ten thousand targets are some 10 MB of text.
    let written = tokio::task::spawn_blocking(move || {
        let wanted = |shown: &&Shown| {
            let namespace = asked.namespace.as_deref();
            namespace.is_none_or(|namespace| *shown.namespace == *namespace)
        };
        let targets: Vec<&Shown> = targets
            .iter()
            .map(|shown| &**shown)
            .filter(wanted)
            .collect();
        serde_json::to_vec(&Listed { targets })
    });
    match written.await {
        Ok(Ok(body)) => super::json_body(body),
        _ => axum::response::IntoResponse::into_response(ApiError::new(
            StatusCode::INTERNAL_SERVER_ERROR,
            "NotWritten",
            "the targets could not be written",
        )),
    }
}

#[derive(Serialize)]
struct Listed<'a> {
    targets: Vec<&'a Shown>,
}

#[derive(Debug, Deserialize)]
struct Target {
    namespace: String,
    name: String,
    #[serde(default = "autoscaler")]
    kind: String,
    #[serde(default = "cpu")]
    resource: String,
}

fn autoscaler() -> String {
    "HorizontalPodAutoscaler".to_owned()
}

fn cpu() -> String {
    "cpu".to_owned()
}

/// `points` are `[seconds since 1970, load, forecast, lower80, upper80, replicas, floor]`.
#[derive(Debug, Serialize)]
struct History {
    step: i64,
    points: Vec<Row>,
}

type Row = (
    i64,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<f64>,
    Option<i32>,
    Option<i32>,
);

async fn history(State(scaling): State<Scaling>, uri: Uri) -> Result<Json<History>, ApiError> {
    let Target {
        namespace,
        name,
        kind,
        resource,
    } = super::parameters(
        &uri,
        "namespace=NAMESPACE&name=NAME[&kind=KIND][&resource=cpu|memory]",
    )?;
    let key = Key {
        namespace: namespace.as_str().into(),
        kind: kind.as_str().into(),
        name: name.as_str().into(),
    };
    let points = scaling.traces.points(&key, &resource).ok_or_else(|| {
        let message = format!("{kind} {namespace}/{name} is no target that scales by {resource}");
        ApiError::new(StatusCode::NOT_FOUND, "NoSuchTarget", message)
    })?;
    Ok(Json(History {
        step: STEP.as_secs(),
        points: points.iter().map(row).collect(),
    }))
}

fn row(point: &Point) -> Row {
    let Point {
        at,
        load,
        forecast,
        replicas,
        floor,
    } = *point;
    (
        at.as_second(),
        load,
        forecast.map(|(mean, _, _)| mean),
        forecast.map(|(_, lower, _)| lower),
        forecast.map(|(_, _, upper)| upper),
        replicas,
        floor,
    )
}
