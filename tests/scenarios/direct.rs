//! A Deployment without an HPA in mode direct: Evenkeel sets its replicas through `scale`, with the
//! shipped rights, and steps back for an HPA that comes.

use std::time::Duration;

use evenkeel_clock::{self as clock, Clock};
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::core::v1::Pod;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt};
use serde_json::{Value, json};

use crate::support::control_plane::nodes::{self, NodeShape};
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get};
use crate::support::load::{Handle, Prometheus};

use super::world::{self, OPTED_IN, Patience, World};

/// Prints the timeline for the reader; the test runner shows it with `--nocapture`.
macro_rules! tell {
    ($($told:tt)*) => {
        #[allow(clippy::print_stdout)]
        {
            println!($($told)*);
        }
    };
}

const NAMESPACE: &str = "direct";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/direct/deployments/web";
const HPAS: &str = "/apis/autoscaling/v2/namespaces/direct/horizontalpodautoscalers";
const STATUS: &str = "evenkeel.dev/scaling-status";
const MIN: i64 = 2;

/// The cores that are used so long after the beginning: up for two minutes, and then little.
pub(super) fn load(since: SignedDuration) -> f64 {
    let seconds = since.as_secs_f64();
    let noise = 0.01 * (seconds / 7.0).sin();
    if seconds < 120.0 {
        0.8 + 0.02 * seconds.max(0.0) + noise
    } else {
        0.4 + noise
    }
}

fn a_deployment_without_an_hpa_is_scaled_and_left_to_an_hpa_that_comes() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        nodes::create(client, "room", 2, &NodeShape::default()).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        let origin = clock::now() + SignedDuration::from_secs(20);
        let prometheus =
            Prometheus::start((NAMESPACE, "Deployment/web"), Clock::real(), move |at| {
                load(at.duration_since(origin))
            })
            .await;
        workload(client).await;
        let following = tokio::spawn(follow(client.clone(), NAMESPACE, prometheus.handle.clone()));
        let evenkeel = world.serve_scaling(&prometheus.url).await;
        let scene = Scene {
            client,
            origin,
            load: &prometheus.handle,
        };
        scene
            .until("it rises with the load", |now| now.replicas >= 6)
            .await;
        by_us(client).await;
        scene
            .until("it falls by its policy", |now| now.replicas == MIN)
            .await;
        told(client).await;
        conflict(&scene).await;
        following.abort();
        evenkeel.assert_within_rights();
        let background = json!({"propagationPolicy": "Background"});
        ask(client, "DELETE", DEPLOYMENT, &background).await;
        eventually("the Pods are gone", async || {
            let left = objects::pods(client, NAMESPACE).await.len();
            holds(left == 0, || format!("{left} are left"))
        })
        .await;
    });
}

async fn workload(client: &Client) {
    let behavior = json!({
        "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 15}]},
        "scaleDown": {"stabilizationWindowSeconds": 15,
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}});
    let deployment = json!({
        "metadata": {"name": "web", "annotations": {
            "evenkeel.dev/scaling": "direct", "evenkeel.dev/min-replicas": MIN.to_string(),
            "evenkeel.dev/max-replicas": "20", "evenkeel.dev/target": "cpu=400m",
            "evenkeel.dev/behavior": behavior.to_string()}},
        "spec": {"replicas": MIN, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{
                "name": "app", "image": "none",
                "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}}});
    let path = "/apis/apps/v1/namespaces/direct/deployments";
    create(client, path, &deployment).await;
}

/// Tells Prometheus which Pods there are.
pub(super) async fn follow(client: Client, namespace: &str, load: Handle) {
    let pods: Api<Pod> = Api::namespaced(client, namespace);
    loop {
        if let Ok(found) = pods.list(&ListParams::default()).await {
            let names: Vec<String> = found.iter().map(ResourceExt::name_any).collect();
            load.set_pods(&names);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

struct Scene<'a> {
    client: &'a Client,
    origin: Timestamp,
    load: &'a Handle,
}

struct Moment {
    replicas: i64,
    status: String,
}

impl Scene<'_> {
    async fn look(&self) -> Moment {
        let deployment = get(self.client, DEPLOYMENT).await;
        let now = clock::now();
        let seconds = now.duration_since(self.origin).as_secs();
        let replicas = deployment["spec"]["replicas"].as_i64().unwrap_or(0);
        let status = deployment["metadata"]["annotations"][STATUS].as_str();
        let status = status.unwrap_or_default().to_owned();
        let reason: Value = serde_json::from_str(&status).unwrap_or_default();
        let load = self.load.load(now);
        let ready = deployment["status"]["readyReplicas"].as_i64().unwrap_or(0);
        tell!(
            "{seconds:>5} s  load {load:.2}  replicas {replicas:>2}  ready {ready:>2}  {}",
            reason["reason"].as_str().unwrap_or_default()
        );
        Moment { replicas, status }
    }

    /// Looks every second; minutes pass on a real clock.
    async fn until(&self, what: &str, wanted: impl Fn(&Moment) -> bool) {
        let began = clock::instant();
        while !wanted(&self.look().await) {
            assert!(began.elapsed() < Duration::from_mins(10), "{what}");
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
    }
}

/// The count was written through the subresource, and nothing else of the spec.
async fn by_us(client: &Client) {
    let deployment = get(client, DEPLOYMENT).await;
    let entries = deployment["metadata"]["managedFields"].as_array().cloned();
    let ours = entries.unwrap_or_default().into_iter().find(|entry| {
        entry["manager"] == "evenkeel" && entry["fieldsV1"]["f:spec"]["f:replicas"].is_object()
    });
    let ours = ours.expect("Evenkeel set the replicas");
    assert_eq!(ours["subresource"], "scale", "{ours}");
    let spec = ours["fieldsV1"]["f:spec"].as_object().expect("a field");
    assert_eq!(spec.len(), 1, "{ours}");
}

async fn told(client: &Client) {
    let path = "/apis/events.k8s.io/v1/namespaces/direct/events";
    let (_, events) = ask(client, "GET", path, &Value::Null).await;
    let items = events["items"].as_array().cloned().unwrap_or_default();
    let told = items.iter().filter(|event| {
        event["reason"] == "SuccessfulRescale" && event["regarding"]["kind"] == "Deployment"
    });
    let notes: Vec<_> = told.filter_map(|event| event["note"].as_str()).collect();
    assert!(notes.len() >= 3, "{events}");
    for note in notes {
        tell!("{note}");
    }
}

/// An HPA that comes is told of on both, and the field is its.
async fn conflict(scene: &Scene<'_>) {
    let hpa = json!({
        "metadata": {"name": "web"},
        "spec": {"scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"},
            "minReplicas": MIN, "maxReplicas": 20}});
    create(scene.client, HPAS, &hpa).await;
    let tells = |status: &str| status.contains("DirectConflict");
    scene
        .until("the Deployment tells of the conflict", |now| {
            tells(&now.status)
        })
        .await;
    let hpa = get(scene.client, &format!("{HPAS}/web")).await;
    let status = hpa["metadata"]["annotations"][STATUS].as_str();
    assert!(tells(status.unwrap_or_default()), "{hpa}");
    let path = format!("{HPAS}/web");
    ask(scene.client, "DELETE", &path, &Value::Null).await;
    scene
        .until("the conflict is over", |now| !tells(&now.status))
        .await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_deployment_without_an_hpa_is_scaled_and_left_to_an_hpa_that_comes,
]);
