//! `GET /api/v1/explain?namespace=&pod=` takes a Pod that kube-scheduler has asked about and judges
//! it again on the newest snapshot, beside the last answers that were given; `POST` does so for any
//! Pod in the body.

use std::collections::BTreeMap;

use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::routing::get;
use axum::{Json, Router};
use serde::Deserialize;

use super::query::parameters;
use crate::api;
use crate::api::explain::{LoadTerms, PodExplanation};
use crate::server::ApiError;
use crate::server::handlers::Handlers;
use evenkeel_core::placement::node_table::{NodeDetail, NodeState};
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Resource, Resources};
use evenkeel_kubernetes::extender::explain::{Resourced, explain};
use evenkeel_kubernetes::extender::judgement;
use evenkeel_kubernetes::json;
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::snapshot::Snapshot;

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
}

/// Explains a Pod that kube-scheduler has asked about.
async fn past(
    State(handlers): State<Handlers>,
    uri: Uri,
) -> Result<Json<PodExplanation>, ApiError> {
    let PodQuery { namespace, pod } = parameters(&uri, "namespace=NAMESPACE&pod=NAME")?;
    let record = handlers.decisions.get(&PodName::new(&namespace, &pod));
    let record = record.ok_or_else(|| {
        let message =
            format!("kube-scheduler has not asked this replica about Pod {namespace}/{pod} lately");
        ApiError::new(StatusCode::NOT_FOUND, "PodUnknown", message)
    })?;
    Ok(Json(PodExplanation {
        last_filter: record.filter,
        last_prioritize: record.prioritize,
        ..judge(&handlers, &record.pod)
    }))
}

/// Explains the Pod in the body, as if kube-scheduler asked about it now.
async fn what_if(
    State(handlers): State<Handlers>,
    body: bytes::Bytes,
) -> Result<Json<PodExplanation>, ApiError> {
    let pod: Pod = json::from_slice(&body)?;
    Ok(Json(judge(&handlers, &pod)))
}

fn judge(handlers: &Handlers, pod: &Pod) -> PodExplanation {
    let cluster = &handlers.cluster;
    let snapshot = cluster.snapshot();
    let call = judgement::Call {
        snapshot: &snapshot,
        policy: &handlers.policy,
        now: cluster.now(),
        refused_since: cluster.refused_since(pod.uid()),
    };
    PodExplanation {
        workload: cluster.workload(pod),
        last_filter: None,
        last_prioritize: None,
        loads: loads(handlers, &snapshot),
        overloaded: cluster.overloaded(),
        now: explain(pod, &call),
    }
}

fn loads(handlers: &Handlers, snapshot: &Snapshot) -> BTreeMap<String, Resourced<LoadTerms>> {
    let terms = |node: &NodeState| {
        let detail = handlers.cluster.node_detail(&node.name)?;
        let of = |resource| load_terms(&detail, resource);
        Some((node.name.to_string(), Resourced(Resources::from_fn(of))))
    };
    snapshot.nodes.iter().filter_map(terms).collect()
}

fn load_terms(detail: &NodeDetail, resource: Resource) -> LoadTerms {
    let measured = detail.measured[resource];
    LoadTerms {
        measured: measured.map(|measured| measured.value.get()),
        measured_at: measured.map(|measured| measured.at),
        in_flight: detail.in_flight[resource].get(),
        gone: detail.gone[resource].get(),
        demanded: detail.committed[resource].get(),
    }
}
