//! What the rules want to know of Pods: from metrics.k8s.io and from the Pods themselves.

use std::collections::BTreeMap;

use evenkeel_http_client::Request;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::{Container, Pod};
use kube::{Client, ResourceExt as _};
use serde::Deserialize;

use crate::simulate::hpa::{Measured, NoProposal, PodPhase, PodState, Readiness};
use evenkeel_core::units::Quantity;

#[derive(Deserialize)]
struct PodMetricsList {
    items: Vec<PodMetrics>,
}

/// One Pod's usage as metrics.k8s.io tells it.
#[derive(Deserialize)]
pub(super) struct PodMetrics {
    metadata: Name,
    timestamp: Timestamp,
    window: String,
    containers: Vec<ContainerMetrics>,
}

#[derive(Deserialize)]
struct Name {
    name: String,
    namespace: String,
}

#[derive(Deserialize)]
struct ContainerMetrics {
    name: String,
    usage: BTreeMap<String, String>,
}

/// Usage of all Pods.
pub(super) async fn fetch(client: &Client) -> kube::Result<Vec<PodMetrics>> {
    let request = Request::get("/apis/metrics.k8s.io/v1beta1/pods")
        .body(Vec::new())
        .expect("the path is valid");
    let list: PodMetricsList = client.request(request).await?;
    Ok(list.items)
}

/// What is measured of a resource, or of it in one container, in the Pods of a namespace.
pub(super) fn measured(
    all: &[PodMetrics],
    namespace: &str,
    resource: &str,
    container: Option<&str>,
) -> BTreeMap<String, Measured> {
    let of = |pod: &PodMetrics| {
        let window: SignedDuration = pod.window.parse().ok()?;
        let measured = Measured {
            value: used(pod, resource, container)?,
            at: pod.timestamp,
            window,
        };
        Some((pod.metadata.name.clone(), measured))
    };
    let ours = all.iter().filter(|pod| pod.metadata.namespace == namespace);
    ours.filter_map(of).collect()
}

/// A Pod of which a container is not measured is not measured.
fn used(pod: &PodMetrics, resource: &str, container: Option<&str>) -> Option<i64> {
    let wanted = |one: &&ContainerMetrics| container.is_none_or(|name| one.name == name);
    let mut containers = pod.containers.iter().filter(wanted).peekable();
    containers.peek()?;
    containers.map(|one| milli(one.usage.get(resource)?)).sum()
}

/// Thousandths of the unit of a quantity.
pub(super) fn milli(quantity: &str) -> Option<i64> {
    let quantity: Quantity = quantity.parse().ok()?;
    i64::try_from(quantity.milli_ceil()).ok()
}

/// A Pod as the rules see it.
pub(super) fn state(pod: &Pod, resource: &str, container: Option<&str>) -> PodState {
    let status = pod.status.clone().unwrap_or_default();
    let conditions = status.conditions.unwrap_or_default();
    let ready = conditions.iter().find(|one| one.type_ == "Ready");
    PodState {
        name: pod.name_any(),
        phase: match status.phase.as_deref() {
            Some("Pending") => PodPhase::Pending,
            Some("Failed") => PodPhase::Failed,
            _ => PodPhase::Running,
        },
        deleted: pod.metadata.deletion_timestamp.is_some(),
        started: status.start_time.map(|time| time.0),
        ready: ready.map(|ready| Readiness {
            is_false: ready.status == "False",
            since: ready
                .last_transition_time
                .as_ref()
                .map_or(Timestamp::UNIX_EPOCH, |time| time.0),
        }),
        request: request(pod, resource, container),
    }
}

/// The sum over containers and sidecars, each of which has to request something; or that of one.
fn request(pod: &Pod, resource: &str, container: Option<&str>) -> Result<i64, NoProposal> {
    let spec = pod.spec.clone().unwrap_or_default();
    let sidecar = |one: &Container| one.restart_policy.as_deref() == Some("Always");
    let mut all: Vec<Container> = spec.init_containers.unwrap_or_default();
    all.retain(sidecar);
    all.splice(0..0, spec.containers);
    let of = |one: &Container| {
        let requests = one.resources.as_ref().and_then(|it| it.requests.as_ref());
        let quantity = requests.and_then(|requests| requests.get(resource));
        let missing = || NoProposal::MissingRequest {
            resource: resource.to_owned(),
            container: one.name.clone(),
            pod: pod.name_any(),
        };
        quantity
            .and_then(|quantity| milli(&quantity.0))
            .ok_or_else(missing)
    };
    let Some(name) = container else {
        return all.iter().map(of).sum();
    };
    let found = all.iter().find(|one| one.name == name);
    let absent = || NoProposal::ContainerNotFound {
        container: name.to_owned(),
        pod: pod.name_any(),
    };
    of(found.ok_or_else(absent)?)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn usage_is_told_of_each_container_and_of_all() {
        let metrics = json!([{
            "metadata": {"name": "a", "namespace": "n"}, "window": "60s",
            "timestamp": Timestamp::from_second(1_030).unwrap().to_string(),
            "containers": [
                {"name": "app", "usage": {"cpu": "250m", "memory": "1Mi"}},
                {"name": "side", "usage": {"cpu": "50m", "memory": "1Mi"}},
            ],
        }]);
        let metrics: Vec<PodMetrics> = serde_json::from_value(metrics).unwrap();
        for (resource, container, value) in [
            ("cpu", None, Some(300)),
            ("cpu", Some("side"), Some(50)),
            ("memory", None, Some(2 * 1024 * 1024 * 1000)),
            ("cpu", Some("none"), None),
            ("disk", None, None),
        ] {
            let found = measured(&metrics, "n", resource, container);
            let expected = value.map(|value| Measured {
                value,
                at: Timestamp::from_second(1_030).unwrap(),
                window: SignedDuration::from_secs(60),
            });
            assert_eq!(
                found.get("a").copied(),
                expected,
                "{resource} {container:?}"
            );
        }
        assert!(measured(&metrics, "other", "cpu", None).is_empty());
    }

    #[test]
    fn every_container_has_to_request() {
        let pod = |side: &serde_json::Value| -> Pod {
            let app = json!({"name": "app", "resources": {"requests": {"cpu": "100m"}}});
            let pod = json!({"metadata": {"name": "a"}, "spec": {"containers": [app, side]}});
            serde_json::from_value(pod).unwrap()
        };
        let whole = pod(&json!({"name": "side", "resources": {"requests": {"cpu": "1"}}}));
        assert_eq!(request(&whole, "cpu", None), Ok(1_100));
        assert_eq!(request(&whole, "cpu", Some("app")), Ok(100));
        let partial = pod(&json!({"name": "side"}));
        let error = request(&partial, "cpu", None).unwrap_err();
        assert_eq!(
            error.to_string(),
            "missing request for cpu in container side of Pod a"
        );
        assert_eq!(request(&partial, "cpu", Some("app")), Ok(100));
    }
}
