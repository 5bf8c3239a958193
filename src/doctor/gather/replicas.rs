//! The Pods of the Deployment, each asked for its metrics through the API server; without Pods, the
//! endpoint behind the Service for metrics.

use axum::http::Request;
use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;

use super::read::Reader;
use crate::doctor::observation::{Replica, Seen, Unseen};

/// The label of the Deployment's Pods.
const OURS: &str = "app.kubernetes.io/name=evenkeel";
/// The name of the container's port for metrics, and its number in the shipped manifests.
const PORT: (&str, i32) = ("http", 8080);
/// The Service for metrics with the name of its port.
const SERVICE: &str = "evenkeel-metrics:http";

/// The replicas, those that have ended left out.
pub(super) async fn read(reader: &Reader<'_>) -> Seen<Vec<Replica>> {
    let pods = match reader.all_own::<Pod>(OURS).await {
        Seen::There(pods) => pods,
        Seen::Absent => return Seen::Absent,
        Seen::Unseen(unseen) => return Seen::Unseen(unseen),
    };
    let lives = |pod: &Pod| {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
    };
    let asked = pods.into_iter().filter(lives).map(async |pod| Replica {
        metrics: metrics(reader, &pod).await,
        pod,
    });
    Seen::There(join_all(asked).await)
}

async fn metrics(reader: &Reader<'_>, pod: &Pod) -> Seen<String> {
    let namespace = reader.namespace;
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let port = port(pod);
    let path = format!("/api/v1/namespaces/{namespace}/pods/{name}:{port}/proxy/metrics");
    let request = Request::get(path).body(Vec::new());
    let request = request.expect("names of objects are fit for paths");
    let answer = reader.client.request_text(request).await;
    let right = || format!("get pods/{name} --subresource=proxy -n {namespace}");
    match Seen::of(answer, right) {
        // The Pod is there: its metrics are not, or this API server does not pass calls on.
        Seen::Absent => {
            let nothing = format!("{name} does not answer at /metrics");
            Seen::Unseen(Unseen::Failed(nothing))
        }
        seen => seen,
    }
}

/// Metrics of a service that runs outside of the cluster, asked through the Service that leads
/// there; absent where Pods of Evenkeel are found.
pub(super) async fn outside(reader: &Reader<'_>, replicas: &Seen<Vec<Replica>>) -> Seen<String> {
    if !replicas.there().is_some_and(Vec::is_empty) {
        return Seen::Absent;
    }
    let namespace = reader.namespace;
    let path = format!("/api/v1/namespaces/{namespace}/services/{SERVICE}/proxy/metrics");
    let request = Request::get(path).body(Vec::new());
    let request = request.expect("names of objects are fit for paths");
    let answer = reader.client.request_text(request).await;
    Seen::of(answer, || {
        format!("get services/{SERVICE} --subresource=proxy -n {namespace}")
    })
}

fn port(pod: &Pod) -> i32 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    let named = ports.find(|port| port.name.as_deref() == Some(PORT.0));
    named.map_or(PORT.1, |port| port.container_port)
}
