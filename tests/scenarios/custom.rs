//! A custom resource in mode direct: Evenkeel sets the replicas of a Rollout through its `scale`, with the
//! rights that the component takes in and under the guard that it widens.

use std::time::Duration;

use evenkeel_clock::{self as clock, Clock};
use jiff::SignedDuration;
use kube::Client;
use serde_json::{Value, json};

use super::direct::{follow, load};
use super::world::{self, OPTED_IN, Patience, World};
use crate::support::control_plane::nodes::{self, NodeShape};
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get, patch};
use crate::support::load::Prometheus;

const NAMESPACE: &str = "rollouts";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const ROLLOUTS: &str = "/apis/argoproj.io/v1alpha1/namespaces/rollouts/rollouts";
const ROLLOUT: &str = "/apis/argoproj.io/v1alpha1/namespaces/rollouts/rollouts/web";
const SETS: &str = "/apis/apps/v1/namespaces/rollouts/replicasets";
const EVENTS: &str = "/apis/events.k8s.io/v1/namespaces/rollouts/events";
const STATUS: &str = "evenkeel.dev/scaling-status";
const MIN: i64 = 2;

fn a_custom_resource_is_scaled_through_its_scale_within_the_rights_of_the_component() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        nodes::create(client, "deck", 2, &NodeShape::default()).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        create(client, DEFINITIONS, &definition()).await;
        let set = rollout(client).await;
        let origin = clock::now() + SignedDuration::from_secs(20);
        let prometheus = Prometheus::start((NAMESPACE, "Rollout/web"), Clock::real(), move |at| {
            load(at.duration_since(origin))
        })
        .await;
        let handle = prometheus.handle.clone();
        let following = tokio::spawn(follow(client.clone(), NAMESPACE, handle));
        let controller = tokio::spawn(reconcile(client.clone(), set));
        let kinds = json!([{"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout"}]);
        let evenkeel = world.serve_custom_kinds(&prometheus.url, &kinds).await;
        until(client, "it rises with the load", |count| count >= 6).await;
        by_us(client).await;
        until(client, "it falls by its policy", |count| count == MIN).await;
        told(client).await;
        evenkeel.assert_within_rights();
        for task in [following, controller] {
            task.abort();
        }
        let background = json!({"propagationPolicy": "Background"});
        ask(client, "DELETE", ROLLOUT, &background).await;
        let definition = format!("{DEFINITIONS}/rollouts.argoproj.io");
        eventually("the Pods are gone", async || {
            let left = objects::pods(client, NAMESPACE).await.len();
            holds(left == 0, || format!("{left} are left"))
        })
        .await;
        ask(client, "DELETE", &definition, &Value::Null).await;
    });
}

/// The definition of Rollouts, as far as scaling needs it: the names and paths are those of Argo.
fn definition() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"metadata": {"name": "rollouts.argoproj.io"}, "spec": {
        "group": "argoproj.io", "scope": "Namespaced",
        "names": {"kind": "Rollout", "plural": "rollouts"},
        "versions": [{"name": "v1alpha1", "served": true, "storage": true,
            "schema": {"openAPIV3Schema": schema},
            "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.replicas",
                "statusReplicasPath": ".status.HPAReplicas",
                "labelSelectorPath": ".status.selector"}}}],
    }})
}

/// A Rollout and its first ReplicaSet, the path of which is given.
async fn rollout(client: &Client) -> String {
    let behavior = json!({
        "scaleUp": {"policies": [{"type": "Pods", "value": 2, "periodSeconds": 15}]},
        "scaleDown": {"stabilizationWindowSeconds": 15,
            "policies": [{"type": "Pods", "value": 4, "periodSeconds": 15}]}});
    let template = json!({"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{
        "name": "app", "image": "none",
        "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}});
    let selector = json!({"matchLabels": {"app": "web"}});
    let rollout = json!({
        "apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout",
        "metadata": {"name": "web", "annotations": {
            "evenkeel.dev/scaling": "direct", "evenkeel.dev/min-replicas": MIN.to_string(),
            "evenkeel.dev/max-replicas": "20", "evenkeel.dev/target": "cpu=400m",
            "evenkeel.dev/behavior": behavior.to_string()}},
        "spec": {"replicas": MIN, "selector": selector, "template": template}});
    eventually("Rollouts are served", async || {
        let (status, answer) = ask(client, "POST", ROLLOUTS, &rollout).await;
        holds(status == 201, || answer.to_string())
    })
    .await;
    let rollout = get(client, ROLLOUT).await;
    let owner = json!({"apiVersion": "argoproj.io/v1alpha1", "kind": "Rollout", "name": "web",
        "uid": rollout["metadata"]["uid"], "controller": true});
    let set = json!({"metadata": {"name": "web-5d4f", "ownerReferences": [owner]},
        "spec": {"replicas": MIN, "selector": selector, "template": template}});
    create(client, SETS, &set).await;
    format!("{SETS}/web-5d4f")
}

/// The work of Argo's controller on a count: it hands it on to the ReplicaSet, and reports the present one.
async fn reconcile(client: Client, set: String) {
    loop {
        let (_, rollout) = ask(&client, "GET", ROLLOUT, &Value::Null).await;
        let (_, found) = ask(&client, "GET", &set, &Value::Null).await;
        let wanted = &rollout["spec"]["replicas"];
        if wanted.is_i64() && found["spec"]["replicas"] != *wanted {
            let count = json!({"spec": {"replicas": wanted}});
            patch(&client, &set, "merge", &count).await;
        }
        let there = found["status"]["replicas"].as_i64().unwrap_or(0);
        let status = json!({"status": {"HPAReplicas": there, "selector": "app=web"}});
        patch(&client, &format!("{ROLLOUT}/status"), "merge", &status).await;
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// Looks every second; minutes pass on a real clock.
async fn until(client: &Client, what: &str, wanted: impl Fn(i64) -> bool) {
    let began = clock::instant();
    loop {
        let rollout = get(client, ROLLOUT).await;
        if rollout["spec"]["replicas"].as_i64().is_some_and(&wanted) {
            return;
        }
        assert!(
            began.elapsed() < Duration::from_mins(10),
            "{what}: {rollout}"
        );
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

/// The count was written through the subresource, and nothing else of the spec.
async fn by_us(client: &Client) {
    let rollout = get(client, ROLLOUT).await;
    let entries = rollout["metadata"]["managedFields"].as_array().cloned();
    let mut ours = entries.unwrap_or_default();
    ours.retain(|entry| entry["manager"] == "evenkeel" && entry["fieldsV1"]["f:spec"].is_object());
    assert_eq!(ours.len(), 1, "{rollout}");
    assert_eq!(ours[0]["subresource"], "scale", "{rollout}");
    let spec = json!({"f:replicas": {}});
    assert_eq!(ours[0]["fieldsV1"]["f:spec"], spec, "{rollout}");
    let status = rollout["metadata"]["annotations"][STATUS].as_str();
    assert!(
        status.is_some_and(|told| told.contains(r#""mode":"direct""#)),
        "{rollout}"
    );
}

async fn told(client: &Client) {
    let (_, events) = ask(client, "GET", EVENTS, &Value::Null).await;
    let items = events["items"].as_array().cloned().unwrap_or_default();
    let told = items.iter().filter(|event| {
        event["reason"] == "SuccessfulRescale" && event["regarding"]["kind"] == "Rollout"
    });
    assert!(told.count() >= 3, "{events}");
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_custom_resource_is_scaled_through_its_scale_within_the_rights_of_the_component,
]);
