//! A gang of 100 Pods, which kube-scheduler places together or not at all. It asks about each Pod in a
//! trial, and reports no abandoned trial.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{Gates, with_gated_control_plane};
use crate::support::dev_api::create;

use super::world::{OPTED_IN, Patience, World};

const GATES: Gates = Gates {
    features: &["GenericWorkload", "GangScheduling"],
    apis: &["scheduling.k8s.io/v1alpha2"],
};
const PODS: usize = 100;

fn an_abandoned_gang_leaves_no_phantom_and_is_placed_when_there_is_room() {
    with_gated_control_plane(GATES, async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 10, Patience::Ample).await;
        let (closed, open) = world.node_names.split_at(5);
        cordon(client, closed, true).await;
        objects::create_namespace(client, "gang", &OPTED_IN).await;
        let evenkeel = world.serve_bursts().await;
        world.schedule_with_evenkeel().await;
        world.await_webhook("gang").await;

        let group = json!({
            "apiVersion": "scheduling.k8s.io/v1alpha2",
            "kind": "PodGroup",
            "metadata": {"name": "gang"},
            "spec": {"schedulingPolicy": {"gang": {"minCount": PODS}}},
        });
        let path = "/apis/scheduling.k8s.io/v1alpha2/namespaces/gang/podgroups";
        create(client, path, &group).await;
        // Five nodes have headroom for 60 of them.
        let pod = PodSketch::requesting("400m", "16Mi")
            .annotated("evenkeel.dev/network-io", "4MB/s")
            .with(json!({"spec": {"schedulingGroup": {"podGroupName": "gang"}}}));
        objects::create_pods(client, "gang", PODS, &pod).await;

        eventually("the open nodes are tried", async || {
            let calls = evenkeel.metric("evenkeel_extender_calls_total", &[("verb", "filter")]);
            let calls = calls.await;
            holds(calls > 60.0, || format!("{calls} calls"))
        })
        .await;
        eventually("no Pod of the abandoned trial counts", async || {
            let counted = evenkeel.metric("evenkeel_pods_in_flight", &[]).await;
            holds(counted == 0.0, || format!("{counted} Pods count"))
        })
        .await;
        let bound = objects::pods(client, "gang").await;
        let bound = bound.iter().filter_map(objects::node_of).count();
        assert_eq!(bound, 0, "a gang is placed together, beside {open:?}");

        cordon(client, closed, false).await;
        let by_node = objects::await_running(client, "gang").await;
        let filters = evenkeel.metric("evenkeel_extender_calls_total", &[("verb", "filter")]);
        report(&format!("{by_node:?} after {} filter calls", filters.await));
        assert_eq!(by_node.values().sum::<usize>(), PODS);
        // The even share is ten Pods; a phantom of a node would leave it fewer.
        assert!(
            by_node.len() == world.node_names.len()
                && by_node.values().all(|pods| (8..=12).contains(pods)),
            "{by_node:?}"
        );
        evenkeel.assert_within_rights();
    });
}

async fn cordon(client: &Client, nodes: &[String], closed: bool) {
    let api: Api<Node> = Api::all(client.clone());
    for node in nodes {
        let patch = Patch::Merge(json!({"spec": {"unschedulable": closed}}));
        let patched = api.patch(node, &PatchParams::default(), &patch).await;
        patched.unwrap_or_else(|error| panic!("Node {node}: {error}"));
    }
}

crate::support::trial::suite!(super::world::NEEDS => [
    an_abandoned_gang_leaves_no_phantom_and_is_placed_when_there_is_room,
]);
