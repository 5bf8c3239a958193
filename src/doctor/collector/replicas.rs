//! The metrics of each Pod of the Deployment, read through the API server; without Pods, those of
//! the endpoint behind the metrics Service. If readers need a token, it is one of a dedicated
//! ServiceAccount and lasts for minutes: it passes through the API server's proxy, which checks no
//! Pod's certificate, so a user's own token is never sent.

use axum::http::Request;
use futures::future::join_all;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Pod, ServiceAccount};
use kube::Api;
use kube::api::PostParams;

use super::api_reader::ClusterReader;
use crate::doctor::observation::{DoctorObservation, Replica};
use evenkeel_service::cluster::read_outcome::{ReadFailure, ReadOutcome};
use evenkeel_service::server::MetricsAuthentication;
use evenkeel_service::server::paths::{FORWARDED_TOKEN, METRICS};

/// The label of the Deployment's Pods.
const OURS: &str = "app.kubernetes.io/name=evenkeel";
/// The name of the container's port for metrics, and its number in the shipped manifests.
const PORT: (&str, i32) = ("metrics", 8444);
/// The Service for metrics with the name of its port.
const SERVICE: &str = "evenkeel-metrics:metrics";
const ACCOUNT: &str = "evenkeel-metrics-reader";
/// The shortest life of a token that the API server gives.
const TOKEN_SECONDS: i64 = 600;

struct MetricsCredentials {
    token: Option<ReadOutcome<String>>,
}

impl MetricsCredentials {
    /// Reads with a token, unless the configuration lets every client read.
    async fn new(reader: &ClusterReader<'_>, seen: &DoctorObservation) -> Self {
        let config = seen.configured().and_then(Result::ok);
        let authentication = config.map(|config| config.server.metrics_authentication);
        let token = match authentication.unwrap_or_default() {
            MetricsAuthentication::None => None,
            MetricsAuthentication::Kubernetes => Some(token(reader).await),
        };
        Self { token }
    }

    /// The page at `target`, the part of a path that names a Pod or Service with its port.
    async fn read(
        &self,
        reader: &ClusterReader<'_>,
        of: &str,
        target: &str,
    ) -> ReadOutcome<String> {
        let (scheme, token) = match &self.token {
            None => ("", None),
            Some(ReadOutcome::There(token)) => ("https:", Some(token)),
            Some(other) => return other.clone(),
        };
        let namespace = reader.namespace;
        let path = format!("/api/v1/namespaces/{namespace}/{of}/{scheme}{target}/proxy{METRICS}");
        let mut request = Request::get(path);
        if let Some(token) = token {
            request = request.header(FORWARDED_TOKEN, token);
        }
        let request = request.body(Vec::new());
        let request = request.expect("names of objects are fit for paths, and tokens for headers");
        let answer = reader.client.request_text(request).await;
        let name = target.split(':').next().unwrap_or_default();
        ReadOutcome::of(answer, || {
            format!("get {of}/{name} --subresource=proxy -n {namespace}")
        })
    }
}

async fn token(reader: &ClusterReader<'_>) -> ReadOutcome<String> {
    let accounts: Api<ServiceAccount> = Api::namespaced(reader.client.clone(), reader.namespace);
    let request = TokenRequest {
        spec: TokenRequestSpec {
            expiration_seconds: Some(TOKEN_SECONDS),
            ..TokenRequestSpec::default()
        },
        ..TokenRequest::default()
    };
    let made = accounts
        .create_token_request(ACCOUNT, &PostParams::default(), &request)
        .await;
    let token = ReadOutcome::of(made, || {
        let namespace = reader.namespace;
        format!("create serviceaccounts/{ACCOUNT} --subresource=token -n {namespace}")
    });
    match token {
        ReadOutcome::There(TokenRequest { status, .. }) => match status {
            Some(status) => ReadOutcome::There(status.token),
            None => ReadOutcome::Unseen(ReadFailure::Failed(
                "the API server gave no token".to_owned(),
            )),
        },
        ReadOutcome::Absent => {
            let missing = format!("there is no ServiceAccount {ACCOUNT} to read them as");
            ReadOutcome::Unseen(ReadFailure::Failed(missing))
        }
        ReadOutcome::Unseen(unseen) => ReadOutcome::Unseen(unseen),
    }
}

/// Adds the replicas to what was seen, or else what runs outside of the cluster.
pub(super) async fn observe(reader: &ClusterReader<'_>, seen: &mut DoctorObservation) {
    let access = MetricsCredentials::new(reader, seen).await;
    seen.replicas = read(reader, &access).await;
    seen.outside = outside(reader, &access, &seen.replicas).await;
}

async fn read(
    reader: &ClusterReader<'_>,
    access: &MetricsCredentials,
) -> ReadOutcome<Vec<Replica>> {
    let pods = match reader.all_own::<Pod>(OURS).await {
        ReadOutcome::There(pods) => pods,
        ReadOutcome::Absent => return ReadOutcome::Absent,
        ReadOutcome::Unseen(unseen) => return ReadOutcome::Unseen(unseen),
    };
    let lives = |pod: &Pod| {
        let phase = pod
            .status
            .as_ref()
            .and_then(|status| status.phase.as_deref());
        pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
    };
    let asked = pods.into_iter().filter(lives).map(async |pod| Replica {
        metrics: metrics(reader, access, &pod).await,
        pod,
    });
    ReadOutcome::There(join_all(asked).await)
}

async fn metrics(
    reader: &ClusterReader<'_>,
    access: &MetricsCredentials,
    pod: &Pod,
) -> ReadOutcome<String> {
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let target = format!("{name}:{}", port(pod));
    match access.read(reader, "pods", &target).await {
        // The Pod is there: its metrics are not, or this API server does not pass calls on.
        ReadOutcome::Absent => {
            let nothing = format!("{name} does not answer at {METRICS}");
            ReadOutcome::Unseen(ReadFailure::Failed(nothing))
        }
        seen => seen,
    }
}

/// Metrics of a service outside of the cluster, through its Service; absent if there are Pods of
/// Evenkeel.
async fn outside(
    reader: &ClusterReader<'_>,
    access: &MetricsCredentials,
    replicas: &ReadOutcome<Vec<Replica>>,
) -> ReadOutcome<String> {
    if !replicas.there().is_some_and(Vec::is_empty) {
        return ReadOutcome::Absent;
    }
    access.read(reader, "services", SERVICE).await
}

fn port(pod: &Pod) -> i32 {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut ports = containers.flat_map(|container| container.ports.iter().flatten());
    let named = ports.find(|port| port.name.as_deref() == Some(PORT.0));
    named.map_or(PORT.1, |port| port.container_port)
}
