//! Preemption on a cluster that is full by requests, with half of it over the line by load. One Pod
//! is evicted where that makes room, and no other.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;

use crate::support::control_plane::objects::{self, PodSketch, node_of};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::eventually;
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World};

const NAMESPACE: &str = "preempting";

fn a_preemption_evicts_one_pod_where_that_makes_room_and_nobody_else() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 6, Patience::Ample).await;
        objects::create_namespace(client, NAMESPACE, &OPTED_IN).await;
        for (name, value) in [("lower", 10), ("higher", 1_000)] {
            create_class(client, name, value).await;
        }
        let hot: BTreeSet<&String> = world.node_names.iter().step_by(2).collect();
        for node in &hot {
            world.load_network(node, 95.0);
        }
        let evenkeel = world.serve("1s").await;
        world.schedule_with_evenkeel().await;
        world.await_webhook(NAMESPACE).await;
        // They are not judged, so that the hot nodes get theirs too.
        let filler = PodSketch::requesting("7", "32Mi").annotated("evenkeel.dev/skip", "true");
        for node in 0..world.node_names.len() {
            create(client, &format!("filler-{node}"), "lower", &filler).await;
        }
        let by_node = objects::await_running(client, NAMESPACE).await;
        assert!(
            by_node.values().all(|pods| *pods == 1),
            "full by requests: {by_node:?}"
        );

        let preemptor = PodSketch::requesting("3", "32Mi");
        create(client, "preemptor", "higher", &preemptor).await;
        let by_node = objects::await_running(client, NAMESPACE).await;
        let pods = objects::pods(client, NAMESPACE).await;
        let of = |name: &str| {
            pods.iter()
                .find(|pod| pod.metadata.name.as_deref() == Some(name))
        };
        let node = of("preemptor")
            .and_then(node_of)
            .expect("it runs")
            .to_owned();
        let fillers = pods.len() - 1;
        // The page of metrics may be a second old.
        let asked = eventually("the evictions were asked about", async || {
            let calls = evenkeel.metric("evenkeel_extender_calls_total", &[("verb", "preempt")]);
            let calls = calls.await;
            if calls > 0.0 {
                Ok(calls)
            } else {
                Err("no call is counted".to_owned())
            }
        })
        .await;
        report(&format!(
            "the preemptor is on {node}, {hot:?} are over the line, {fillers} of {} fillers are left, {asked} \
             calls to preempt: {by_node:?}",
            world.node_names.len()
        ));
        assert!(!hot.contains(&node), "{node} has no headroom");
        assert_eq!(fillers, world.node_names.len() - 1, "one was evicted");
        evenkeel.assert_within_rights();
    });
}

async fn create_class(client: &Client, name: &str, value: i32) {
    let class: PriorityClass =
        serde_json::from_value(json!({"metadata": {"name": name}, "value": value}))
            .expect("a PriorityClass");
    let classes: Api<PriorityClass> = Api::all(client.clone());
    let created = classes.create(&PostParams::default(), &class).await;
    created.unwrap_or_else(|error| panic!("PriorityClass {name}: {error}"));
}

/// Creates a Pod that is gone as soon as it is evicted.
async fn create(client: &Client, name: &str, class: &str, sketch: &PodSketch) {
    let mut pod = sketch.to_pod(name);
    if let Some(spec) = &mut pod.spec {
        spec.priority_class_name = Some(class.to_owned());
        spec.termination_grace_period_seconds = Some(0);
    }
    let api: Api<Pod> = Api::namespaced(client.clone(), NAMESPACE);
    let created = api.create(&PostParams::default(), &pod).await;
    created.unwrap_or_else(|error| panic!("Pod {name}: {error}"));
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_preemption_evicts_one_pod_where_that_makes_room_and_nobody_else,
]);
