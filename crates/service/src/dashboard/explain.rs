//! `GET /api/v1/explain?namespace=&pod=` judges a Pod that kube-scheduler has asked about on the
//! newest snapshot, beside the last answers with their terms. `POST` judges any Pod in the body.
//! `nodes=` names the nodes to judge, by default all.

use std::borrow::Cow;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use axum::{Json, Router};
use evenkeel_objects::json;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::extender::explain::{explain, explain_among};
use evenkeel_placement::extender::placement_rules;
use serde::Deserialize;

use super::query::parameters;
use crate::api;
use crate::api::explain::{DeletionCost, PodExplanation};
use crate::server::ApiError;
use crate::server::handlers::Handlers;

/// The path of explanations, for decisions of `handlers`.
pub fn explanations(handlers: &Handlers) -> Router {
    Router::new().route(
        api::EXPLAIN,
        get(past).post(what_if).with_state(handlers.clone()),
    )
}

#[derive(Debug, Deserialize)]
struct PodQuery {
    namespace: String,
    pod: String,
    nodes: Option<String>,
}

#[derive(Debug, Deserialize)]
struct NodesQuery {
    nodes: Option<String>,
}

/// Explains a Pod that kube-scheduler has asked about.
async fn past(
    State(handlers): State<Handlers>,
    uri: Uri,
) -> Result<Json<PodExplanation>, ApiError> {
    let PodQuery {
        namespace,
        pod,
        nodes,
    } = parameters(&uri, "namespace=NAMESPACE&pod=NAME[&nodes=NAME,...]")?;
    let record = handlers.decisions.get(&PodName::new(&namespace, &pod));
    let record = record.ok_or_else(|| {
        let message =
            format!("kube-scheduler has not asked this replica about Pod {namespace}/{pod} lately");
        ApiError::new(StatusCode::NOT_FOUND, "PodUnknown", message)
    })?;
    let Handlers {
        decisions, policy, ..
    } = &handlers;
    Ok(Json(PodExplanation {
        last_filter: decisions.last_filter(&record, policy),
        last_prioritize: decisions.last_prioritize(&record, policy),
        last_notice: record.notice.clone(),
        ..judge(&handlers, &record.pod, nodes.as_deref())?
    }))
}

/// Explains the Pod in the body, as if kube-scheduler asked about it now.
async fn what_if(
    State(handlers): State<Handlers>,
    uri: Uri,
    body: bytes::Bytes,
) -> Result<Json<PodExplanation>, ApiError> {
    let NodesQuery { nodes } = parameters(&uri, "[nodes=NAME,...]")?;
    let mut pod = pod_in(&body).map_err(|why| {
        let message = format!(
            "the body: {why}; accepted: a Pod in JSON, as kubectl get pod -o json prints one"
        );
        ApiError::bad_request("malformed", message)
    })?;
    handlers.cluster.add_history(&mut pod);
    Ok(Json(judge(&handlers, &pod, nodes.as_deref())?))
}

/// The Pod in a body, which may leave its kind out; the error says what else is in it.
fn pod_in(body: &[u8]) -> Result<Pod, String> {
    #[derive(Deserialize)]
    struct ExplainQuestion {
        kind: Option<String>,
    }
    // Lists would be read as objects without names.
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err("is not a JSON object".to_owned());
    }
    let typed: ExplainQuestion = json::from_slice(body).map_err(|error| error.to_string())?;
    match typed.kind.as_deref() {
        None | Some("Pod") => json::from_slice(body).map_err(|error| error.to_string()),
        Some(kind) => Err(format!("is a {kind}")),
    }
}

/// The decision that would be made now, among the named nodes or among all.
fn judge(handlers: &Handlers, pod: &Pod, nodes: Option<&str>) -> Result<PodExplanation, ApiError> {
    let cluster = &handlers.cluster;
    let snapshot = cluster.snapshot();
    let call = placement_rules::PlacementContext {
        snapshot: &snapshot,
        policy: &handlers.policy,
        now: cluster.now(),
        refused_since: cluster.refused_since(pod.uid()),
    };
    let now = match nodes {
        None => explain(pod, &call),
        Some(nodes) => {
            let names: Vec<Cow<'_, str>> = nodes.split(',').map(Cow::Borrowed).collect();
            if let Some(stranger) = names.iter().find(|name| snapshot.nodes.get(name).is_none()) {
                let message = format!("nodes: {stranger:?} is not a node of this cluster");
                return Err(ApiError::bad_request("NodeUnknown", message));
            }
            explain_among(pod, &call, names)
        }
    };
    Ok(PodExplanation {
        workload: cluster.workload(pod),
        last_filter: None,
        last_prioritize: None,
        last_notice: None,
        overloaded: cluster.overloaded(),
        deletion_cost: cluster
            .removable()
            .cost(pod.uid())
            .map(|given| DeletionCost {
                cost: given.cost,
                why: given.ground.explanation().into(),
            }),
        now,
    })
}
