//! A kubelet for all nodes at once: a bound Pod runs at once and shows its containers' resources
//! (without which the API server refuses to resize it), a deleted one is gone at once. A Pod with
//! an image [`MISSING`] never starts, and one with readiness gates waits for these.

use std::time::Duration;

use futures::StreamExt as _;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, Patch, PatchParams, Preconditions};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client, ResourceExt as _};
use serde_json::{Value, json};

pub(crate) const MISSING: &str = "registry.example/missing:1";

/// Between two tries of a status write while the API server is away.
const PAUSE: Duration = Duration::from_millis(200);

/// Concurrent status writes, which keep up with a burst of Pods without starving the API server.
const WRITERS: usize = 4;

/// Never ends.
pub(crate) async fn run(client: Client) {
    let pods: Api<Pod> = Api::all(client.clone());
    let bound = watcher::Config::default().fields("spec.nodeName!=");
    watcher(pods, bound)
        .default_backoff()
        .applied_objects()
        .filter_map(async |event| event.ok())
        .for_each_concurrent(WRITERS, |pod| see(client.clone(), pod))
        .await;
}

/// Brings one bound Pod to its state. A failure because the Pod has changed is repeated with that
/// change.
async fn see(client: Client, pod: Pod) {
    let pods: Api<Pod> = Api::namespaced(client, &pod.namespace().unwrap_or_default());
    let name = pod.name_any();
    if pod.metadata.deletion_timestamp.is_some() {
        let now = DeleteParams {
            grace_period_seconds: Some(0),
            preconditions: Some(Preconditions {
                uid: pod.metadata.uid,
                resource_version: None,
            }),
            ..DeleteParams::default()
        };
        let _ = pods.delete(&name, &now).await;
    } else if !waits(&pod) && needs_status(&pod) {
        let status = Patch::Strategic(status(&pod));
        let params = PatchParams::default();
        while let Err(error) = pods.patch_status(&name, &params, &status).await
            && is_passing(&error)
        {
            tokio::time::sleep(PAUSE).await;
        }
    }
}

/// The error of a restarting server.
fn is_passing(error: &kube::Error) -> bool {
    match error {
        kube::Error::Api(status) => status.code == 403 || status.code >= 500,
        _ => true,
    }
}

/// A container's image is missing.
fn waits(pod: &Pod) -> bool {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    containers.any(|container| container.image.as_deref() == Some(MISSING))
}

/// The Pod has not started, or its resources were changed since.
fn needs_status(pod: &Pod) -> bool {
    let Some(status) = &pod.status else {
        return true;
    };
    let seen = status.container_statuses.as_deref().unwrap_or_default();
    let stale = containers(pod).any(|(name, resources)| {
        let shown = seen.iter().find(|shown| shown.name == name);
        shown.is_none_or(|shown| {
            serde_json::to_value(shown.resources.clone().unwrap_or_default())
                .ok()
                .as_ref()
                != Some(&resources)
        })
    });
    match status.phase.as_deref() {
        None | Some("Pending") => true,
        Some("Running") => stale || condition(pod, "Ready") != Some(is_open(pod)),
        Some(_) => false,
    }
}

/// `None` if the condition is missing.
fn condition(pod: &Pod, kind: &str) -> Option<bool> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|one| one.type_ == kind)?;
    Some(found.status == "True")
}

fn gates(pod: &Pod) -> impl Iterator<Item = &str> {
    let gates = pod
        .spec
        .iter()
        .flat_map(|spec| spec.readiness_gates.iter().flatten());
    gates.map(|gate| gate.condition_type.as_str())
}

/// All conditions of readiness hold.
fn is_open(pod: &Pod) -> bool {
    gates(pod).all(|gate| condition(pod, gate) == Some(true))
}

fn containers(pod: &Pod) -> impl Iterator<Item = (&str, Value)> {
    let spec = pod.spec.as_ref();
    spec.into_iter()
        .flat_map(|spec| &spec.containers)
        .map(|container| {
            let resources = container.resources.clone().unwrap_or_default();
            let value = serde_json::to_value(resources).expect("resources are JSON");
            (container.name.as_str(), value)
        })
}

fn status(pod: &Pod) -> Value {
    let now = now();
    let conditions = ["Initialized", "Ready", "ContainersReady", "PodScheduled"].map(|kind| {
        let holds = kind != "Ready" || is_open(pod);
        let status = if holds { "True" } else { "False" };
        json!({"type": kind, "status": status, "lastTransitionTime": now})
    });
    let containers: Vec<Value> = containers(pod)
        .map(|(name, resources)| {
            json!({
                "name": name,
                "ready": true,
                "started": true,
                "restartCount": 0,
                "image": "none",
                "imageID": "none",
                "containerID": format!("none://{name}"),
                "state": {"running": {"startedAt": now}},
                "resources": resources,
                "allocatedResources": resources["requests"],
            })
        })
        .collect();
    let mut status = json!({
        "phase": "Running",
        "startTime": now,
        "conditions": conditions,
        "containerStatuses": containers,
    });
    let has_address = pod
        .status
        .as_ref()
        .is_some_and(|status| status.pod_ip.is_some());
    if !has_address {
        let address = address(pod);
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{"ip": address}]);
    }
    json!({"status": status})
}

/// Unique for the number of Pods in a test.
fn address(pod: &Pod) -> String {
    let name = pod.name_any();
    let sum = name.bytes().fold(7_u32, |sum, byte| {
        sum.wrapping_mul(31).wrapping_add(u32::from(byte))
    });
    let [_, a, b, c] = sum.to_be_bytes();
    format!("10.{a}.{b}.{}", c.clamp(1, 254))
}

#[allow(
    clippy::disallowed_methods,
    reason = "what a kubelet writes is true now"
)]
fn now() -> String {
    jiff::Timestamp::now().to_string()
}
