//! The controller's writes: the scale of a target and the status of an HPA, with a short reason.

use evenkeel_hpa::autoscaler::status as translation;
use evenkeel_hpa::{
    CurrentValue, HorizontalPodAutoscaler, HpaOutcome, MetricStatus, ScaleWriteError,
};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler as Object;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

/// HTTP status of a write after a conflicting one.
const CONFLICT: u16 = 409;

/// # Errors
/// The API server refused it.
pub(super) async fn scale(
    client: &Client,
    hpa: &HorizontalPodAutoscaler,
    replicas: i32,
) -> Result<(), ScaleWriteError> {
    let api: Api<Deployment> = Api::namespaced(client.clone(), &hpa.namespace);
    let patch = Patch::Merge(json!({"spec": {"replicas": replicas}}));
    let target = &hpa.spec.scale_target.name;
    let written = api
        .patch_scale(target, &PatchParams::default(), &patch)
        .await;
    written.map(drop).map_err(|error| match &error {
        kube::Error::Api(status) if status.code == CONFLICT => {
            ScaleWriteError::Conflict(error.to_string())
        }
        _ => ScaleWriteError::Failed(error.to_string()),
    })
}

/// If it has changed.
///
/// # Errors
/// The API server refused it.
pub(super) async fn status(
    client: &Client,
    hpa: &HorizontalPodAutoscaler,
    outcome: &HpaOutcome,
) -> kube::Result<()> {
    if !outcome.is_status_changed {
        return Ok(());
    }
    let api: Api<Object> = Api::namespaced(client.clone(), &hpa.namespace);
    let mut status = translation::write(&outcome.status);
    status["observedGeneration"] = json!(hpa.generation);
    let patch = Patch::Merge(json!({"status": status}));
    let parameters = PatchParams::default();
    let written = api.patch_status(&hpa.name, &parameters, &patch).await;
    written.map(drop)
}

/// For example `cpu at 93 % of requests`; without metric values, the bound that the count was out
/// of, as after a raised floor.
pub(super) fn why(outcome: &HpaOutcome) -> String {
    let metrics = outcome.status.current_metrics.iter();
    let values: Vec<_> = metrics.filter_map(value).collect();
    if values.is_empty() {
        let is_raised = outcome.status.desired_replicas > outcome.status.current_replicas;
        let bound = if is_raised {
            "below its minReplicas"
        } else {
            "above its maxReplicas"
        };
        return bound.to_owned();
    }
    values.join(", ")
}

fn value(metric: &MetricStatus) -> Option<String> {
    let signal = metric.signal.as_ref()?;
    let CurrentValue {
        average_utilization,
        average_value,
        value,
    } = metric.current;
    let value = match (average_utilization, average_value, value) {
        (Some(percent), ..) => format!("{percent} % of requests"),
        (None, Some(quantity), _) => format!("{quantity} a Pod"),
        (None, None, quantity) => quantity?.to_string(),
    };
    Some(format!("{signal} at {value}"))
}
