//! `GET /api/v1/hpas` lists the HPAs of all namespaces; `GET /api/v1/hpas/explain?namespace=&name=`
//! says why one has its count, as `evenkeel explain hpa` does. An explanation reads the API server,
//! so few are made at a time.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, Uri};
use axum::response::Response;
use axum::routing::get;
use evenkeel_hpa::autoscaler::{Autoscaler, AutoscalerStatus};
use evenkeel_hpa::explanation::HpaSnapshot;
use evenkeel_objects::kinds::Kind;
use kube::Client;
use serde::Deserialize;
use tokio::sync::Semaphore;

use super::json_answer::json_answer;
use super::query::parameters;
use crate::api;
use crate::api::hpas::{HpaEntry, HpaList};
use crate::cluster::ClusterState;
use crate::hpa_reader::{self, HpaReadError};
use crate::server::ApiError;

/// Explanations that are made at a time; others wait.
const SIDE_BY_SIDE: usize = 2;

/// The longest time for an explanation, with the wait for its permit.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The HPAs of a cluster and the API server that explains them; clones share the permits.
#[derive(Clone)]
pub(super) struct HpaSource {
    cluster: ClusterState,
    client: Client,
    permits: Arc<Semaphore>,
}

impl HpaSource {
    pub(super) fn new(cluster: ClusterState, client: Client) -> Self {
        Self {
            cluster,
            client,
            permits: Arc::new(Semaphore::new(SIDE_BY_SIDE)),
        }
    }

    pub(super) fn routes(&self) -> Router {
        Router::new()
            .route(api::HPAS, get(list))
            .route(api::HPA_EXPLANATION, get(explanation))
            .with_state(self.clone())
    }

    async fn read(&self, query: &HpaQuery) -> Result<HpaSnapshot, ApiError> {
        let HpaQuery { namespace, name } = query;
        let closed = |_| ApiError::new(StatusCode::SERVICE_UNAVAILABLE, "NotRead", "shutting down");
        let _permit = self.permits.acquire().await.map_err(closed)?;
        let now = self.cluster.now();
        let read = hpa_reader::read(&self.client, namespace, name, now).await;
        read.map_err(|error| refusal(&error))
    }
}

async fn list(State(source): State<HpaSource>) -> Result<Response, ApiError> {
    json_answer(move || {
        let all = source.cluster.scaling().autoscalers();
        let hpas = all.iter().map(|(one, opted_in)| entry(one, *opted_in));
        let synced = (source.cluster.scaling()).knows(Kind::HorizontalPodAutoscaler);
        HpaList {
            synced,
            hpas: hpas.collect(),
        }
    })
    .await
}

fn entry(autoscaler: &Autoscaler, opted_in: bool) -> HpaEntry {
    let Autoscaler {
        metadata,
        spec,
        status,
    } = autoscaler;
    let AutoscalerStatus {
        current_replicas,
        desired_replicas,
        scaling_active,
    } = *status;
    let target = &spec.scale_target_ref;
    HpaEntry {
        namespace: metadata.namespace.clone().unwrap_or_default(),
        name: metadata.name.clone().unwrap_or_default(),
        target: format!("{} {}", target.kind, target.name),
        current: current_replicas,
        desired: desired_replicas,
        min: spec.min_replicas.unwrap_or(1),
        max: spec.max_replicas,
        active: scaling_active,
        opted_in,
    }
}

#[derive(Debug, Deserialize)]
struct HpaQuery {
    namespace: String,
    name: String,
}

async fn explanation(State(source): State<HpaSource>, uri: Uri) -> Result<Response, ApiError> {
    let query: HpaQuery = parameters(&uri, "namespace=NAMESPACE&name=NAME")?;
    for (parameter, given) in [("namespace", &query.namespace), ("name", &query.name)] {
        if !is_object_name(given) {
            let message = format!(
                "{parameter}: {given:?} is not the name of an object; accepted: small letters, \
                 digits, '-' and '.'"
            );
            return Err(ApiError::bad_request("WrongParameters", message));
        }
    }
    let snapshot = tokio::time::timeout(TIMEOUT, Box::pin(source.read(&query))).await;
    let late = |_| {
        let message = format!(
            "the API server and its metrics did not answer within {} s",
            TIMEOUT.as_secs()
        );
        ApiError::new(StatusCode::GATEWAY_TIMEOUT, "NotReadInTime", message)
    };
    let snapshot = snapshot.map_err(late)??;
    json_answer(move || snapshot.explain()).await
}

/// It becomes a part of paths of the API server.
fn is_object_name(text: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let is_part = |byte: u8| is_inner(byte) || byte == b'-' || byte == b'.';
    let (first, last) = (text.bytes().next(), text.bytes().next_back());
    text.len() <= 253
        && text.bytes().all(is_part)
        && [first, last]
            .into_iter()
            .all(|end| end.is_some_and(is_inner))
}

/// The answer about an HPA that cannot be read with the rights of this service.
fn refusal(error: &HpaReadError) -> ApiError {
    let (status, reason) = match error {
        HpaReadError::Absent { .. } => (StatusCode::NOT_FOUND, "NoSuchHpa"),
        HpaReadError::Forbidden { .. } => {
            let message = format!("{error} from Evenkeel's ServiceAccount");
            return ApiError::new(StatusCode::BAD_GATEWAY, "RightMissing", message);
        }
        HpaReadError::Failed { .. } => (StatusCode::BAD_GATEWAY, "NotRead"),
    };
    ApiError::new(status, reason, error.to_string())
}
