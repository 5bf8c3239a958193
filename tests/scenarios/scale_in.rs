//! A Deployment in mode direct is scaled in: the Pods on the fullest node are given a lower cost of
//! deletion, with the rights of the component, and kube-controller-manager deletes them.

use std::time::Duration;

use evenkeel_clock::{self as clock, Clock};
use jiff::SignedDuration;
use k8s_openapi::api::core::v1::Pod;
use kube::{Client, ResourceExt as _};
use serde_json::json;

use crate::support::control_plane::manifests;
use crate::support::control_plane::objects;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create, get};
use crate::support::load::Prometheus;

use super::direct::follow;
use super::world::{self, OPTED_IN, Patience, World};

const NAMESPACE: &str = "scale-in";
const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/scale-in/deployments/web";
const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
const OWN: &str = "evenkeel.dev/deletion-cost";
const BEFORE: usize = 6;
const AFTER: usize = 4;

fn the_pods_without_which_nodes_are_even_are_those_that_the_cluster_deletes() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 2, Patience::Ample).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        // Six Pods at their target for a minute, and then work for four.
        let origin = clock::now();
        let load = move |at: jiff::Timestamp| {
            let since = at.duration_since(origin);
            if since < SignedDuration::from_secs(90) {
                2.4
            } else {
                1.6
            }
        };
        let prometheus =
            Prometheus::start((NAMESPACE, "Deployment/web"), Clock::real(), load).await;
        workload(client).await;
        let following = tokio::spawn(follow(client.clone(), NAMESPACE, prometheus.handle.clone()));
        let before = eventually("all Pods run", async || {
            let pods = objects::pods(client, NAMESPACE).await;
            let ready = pods.iter().filter(|pod| is_ready(pod)).count();
            holds(ready == BEFORE, || format!("{ready} are ready")).map(|()| pods)
        })
        .await;
        // Each node has some of them; one of the nodes is made the fuller.
        let [full, other] = &world.node_names[..] else {
            panic!("{:?}", world.node_names);
        };
        let on = |node: &str| before.iter().filter(|pod| node_of(pod) == node).count();
        assert!(
            on(full) >= 2 && on(other) >= 2,
            "{} {}",
            on(full),
            on(other)
        );
        prometheus.handle.set_nodes(&[(full, 5.0), (other, 2.0)]);
        let evenkeel = world.serve_scale_in(&prometheus.url).await;

        let left = until_scaled_in(client).await;
        let gone: Vec<&Pod> = before
            .iter()
            .filter(|pod| !left.contains(&pod.name_any()))
            .collect();
        assert_eq!(gone.len(), BEFORE - AFTER);
        for pod in gone {
            assert_eq!(node_of(pod), full, "{}", pod.name_any());
        }
        told(client).await;
        following.abort();
        evenkeel.assert_within_rights();
        // The guards as they were, for the next test on this control plane.
        manifests::grant(client, "deploy/base").await;
        clear(client).await;
    });
}

/// Leaves nothing to the next test.
async fn clear(client: &Client) {
    let background = json!({"propagationPolicy": "Background"});
    ask(client, "DELETE", DEPLOYMENT, &background).await;
    eventually("the Pods are gone", async || {
        let left = objects::pods(client, NAMESPACE).await.len();
        holds(left == 0, || format!("{left} are left"))
    })
    .await;
}

fn node_of(pod: &Pod) -> &str {
    let spec = pod.spec.as_ref();
    spec.and_then(|spec| spec.node_name.as_deref())
        .unwrap_or_default()
}

fn is_ready(pod: &Pod) -> bool {
    let status = pod.status.as_ref();
    let conditions = status.and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

async fn workload(client: &Client) {
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 15}});
    let deployment = json!({
        "metadata": {"name": "web", "annotations": {
            "evenkeel.dev/scaling": "direct", "evenkeel.dev/predict": "off",
            "evenkeel.dev/min-replicas": AFTER.to_string(),
            "evenkeel.dev/max-replicas": "20", "evenkeel.dev/target": "cpu=400m",
            "evenkeel.dev/behavior": behavior.to_string()}},
        "spec": {"replicas": BEFORE, "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{
                "name": "app", "image": "none",
                "resources": {"requests": {"cpu": "500m", "memory": "64Mi"}}}]}}}});
    let path = "/apis/apps/v1/namespaces/scale-in/deployments";
    create(client, path, &deployment).await;
}

/// The names of the Pods that are left; minutes pass on a real clock.
async fn until_scaled_in(client: &Client) -> Vec<String> {
    let began = clock::instant();
    loop {
        let deployment = get(client, DEPLOYMENT).await;
        let pods = objects::pods(client, NAMESPACE).await;
        let staying = pods
            .iter()
            .filter(|pod| pod.metadata.deletion_timestamp.is_none());
        let staying: Vec<&Pod> = staying.collect();
        if staying.len() <= AFTER {
            return staying.iter().map(|pod| pod.name_any()).collect();
        }
        let marks: Vec<_> = pods.iter().map(|pod| pod.annotations().get(OWN)).collect();
        let status = &deployment["metadata"]["annotations"]["evenkeel.dev/scaling-status"];
        let waited = began.elapsed() < Duration::from_mins(6);
        assert!(
            waited,
            "{} {status} {marks:?}",
            deployment["spec"]["replicas"]
        );
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
}

/// An Event names those that went, and no Pod that is left is marked for long.
async fn told(client: &Client) {
    let path = "/apis/events.k8s.io/v1/namespaces/scale-in/events";
    let (_, events) = ask(client, "GET", path, &serde_json::Value::Null).await;
    let items = events["items"].as_array().cloned().unwrap_or_default();
    let told = items.iter().any(|event| {
        event["reason"] == "ScaleInBalanced" && event["regarding"]["kind"] == "ReplicaSet"
    });
    assert!(told, "{events}");
    let began = clock::instant();
    loop {
        let pods = objects::pods(client, NAMESPACE).await;
        let is_marked = |pod: &Pod| {
            let annotations = pod.annotations();
            annotations.contains_key(COST) || annotations.contains_key(OWN)
        };
        if !pods.iter().any(is_marked) {
            return;
        }
        assert!(began.elapsed() < Duration::from_mins(5), "costs are left");
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
}

crate::support::trial::suite!(super::world::NEEDS => [
    the_pods_without_which_nodes_are_even_are_those_that_the_cluster_deletes,
]);
