//! `GET /api/v1/explain?namespace=&pod=` judges a Pod that kube-scheduler has asked about on the
//! newest snapshot, beside the last answers with their terms. `POST` judges any Pod in the body.
//! `nodes=` names the nodes to judge, by default all.

use std::borrow::Cow;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use evenkeel_objects::json;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::pod_name::PodName;
use evenkeel_placement::extender::explain::{explain, explain_among};
use evenkeel_placement::extender::placement_rules;
use serde::Deserialize;

use super::json_answer::json_result;
use super::query::parameters;
use super::score_label_levels;
use crate::api;
use crate::api::explain::{DeletionCost, PodExplanation};
use crate::server::ApiError;
use crate::server::handlers::Handlers;

/// The path of explanations, for decisions of `handlers`.
pub(super) fn explanations(handlers: &Handlers) -> Router {
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
async fn past(State(handlers): State<Handlers>, uri: Uri) -> Result<Response, ApiError> {
    let query = parameters(&uri, "namespace=NAMESPACE&pod=NAME[&nodes=NAME,...]")?;
    json_result(move || of_known_pod(&handlers, query)).await
}

fn of_known_pod(handlers: &Handlers, query: PodQuery) -> Result<PodExplanation, ApiError> {
    let PodQuery {
        namespace,
        pod,
        nodes,
    } = query;
    let Handlers {
        decisions, policy, ..
    } = handlers;
    let record = decisions.get(&PodName::new(&namespace, &pod));
    let record = record.ok_or_else(|| {
        let hint = match policy.score_labels {
            Some(_) => format!(
                "; with score labels kube-scheduler does not ask Evenkeel: kubectl -n {namespace} get pod {pod} -o json \
                 | evenkeel explain -f -"
            ),
            None => String::new(),
        };
        let message = format!(
            "kube-scheduler has not asked this replica about Pod {namespace}/{pod} lately{hint}"
        );
        ApiError::new(StatusCode::NOT_FOUND, "PodUnknown", message)
    })?;
    Ok(PodExplanation {
        last_filter: decisions.last_filter(&record, policy),
        last_prioritize: decisions.last_prioritize(&record, policy),
        last_notice: record.notice.clone(),
        ..judge(handlers, &record.pod, nodes.as_deref())?
    })
}

/// Explains the Pod in the body, as if kube-scheduler asked about it now.
async fn what_if(
    State(handlers): State<Handlers>,
    uri: Uri,
    body: bytes::Bytes,
) -> Result<Response, ApiError> {
    let NodesQuery { nodes } = parameters(&uri, "[nodes=NAME,...]")?;
    json_result(move || {
        let mut pod = pod_in(&body).map_err(|why| {
            let message = format!(
                "the body: {why}; accepted: a Pod in JSON, as kubectl get pod -o json prints one"
            );
            ApiError::bad_request("malformed", message)
        })?;
        handlers.cluster.add_history(&mut pod);
        judge(&handlers, &pod, nodes.as_deref())
    })
    .await
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
    let names = now.nodes.iter().map(|node| node.name.as_str());
    let score_labels = score_label_levels::explained(handlers, pod, &snapshot, names);
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
        score_labels,
        now,
    })
}
