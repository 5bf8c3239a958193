//! A gang of 100 Pods, which kube-scheduler places together or not at all. In each trial it calls the
//! extender for every Pod. It does not report a trial that it gives up.

use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use serde_json::json;

use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::{self, Gates, with_gated_control_plane};
use crate::support::dev_api::create;
use crate::support::trial::Requirement;

use super::world::{OPTED_IN, Patience, World};

const GATES: Gates = Gates {
    features: &["GenericWorkload", "GangScheduling"],
    apis: &["scheduling.k8s.io/v1alpha2"],
};
const PODS: usize = 100;
/// Five nodes of 8 cores have headroom for 11 Pods of 400 millicores each: a fifth is in use.
const ROOM: f64 = 55.0;
const NEEDS: [Requirement; 3] = [
    super::world::NEEDS[0],
    super::world::NEEDS[1],
    Requirement::Condition(has_gangs),
];

/// Kubernetes 1.36 has this version of the API.
fn has_gangs() -> Result<(), String> {
    let version = control_plane::version()?;
    if version.contains(" v1.36.") {
        return Ok(());
    }
    Err(format!(
        "{version}, and PodGroups of v1alpha2 need Kubernetes 1.36"
    ))
}

fn trials_of_a_gang_take_no_room_from_others_and_it_is_placed_when_there_is_room() {
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
        let pod =
            PodSketch::requesting("400m", "16Mi").annotated("evenkeel.dev/network-io", "4MB/s");
        for number in 0..PODS {
            // The generated types do not know the field yet.
            let mut pod = json!(pod.to_pod(&format!("pod-{number}")));
            pod["spec"]["schedulingGroup"] = json!({"podGroupName": "gang"});
            let made = create(client, "/api/v1/namespaces/gang/pods", &pod).await;
            assert_eq!(made["spec"]["schedulingGroup"]["podGroupName"], "gang");
        }

        let filters = [("verb", "filter")];
        let calls = async || {
            evenkeel
                .metric("evenkeel_extender_calls_total", &filters)
                .await
        };
        eventually("the gang is tried several times", async || {
            let calls = calls().await;
            holds(calls > 4.0 * ROOM, || format!("{calls} calls"))
        })
        .await;
        // A phantom of an earlier trial would take room from this one.
        eventually("a trial finds all of the room again", async || {
            let counted = evenkeel.metric("evenkeel_pods_in_flight", &[]).await;
            holds(counted == ROOM, || format!("{counted} Pods count"))
        })
        .await;
        // The gang takes no room from others between its trials.
        objects::create_namespace(client, "other", &OPTED_IN).await;
        let other = json!(pod.to_pod("other"));
        create(client, "/api/v1/namespaces/other/pods", &other).await;
        objects::await_running(client, "other").await;
        let bound = objects::pods(client, "gang").await;
        let bound = bound.iter().filter_map(objects::node_of).count();
        assert_eq!(bound, 0, "a gang is placed together, beside {open:?}");

        cordon(client, closed, false).await;
        let by_node = objects::await_running(client, "gang").await;
        report(&format!("{by_node:?} after {} filter calls", calls().await));
        assert_eq!(by_node.values().sum::<usize>(), PODS);
        // The even share is ten Pods, and a node has headroom for one more.
        let is_even = by_node.values().all(|pods| (9..=11).contains(pods));
        assert!(is_even, "{by_node:?}");
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

crate::support::trial::suite!(NEEDS => [
    trials_of_a_gang_take_no_room_from_others_and_it_is_placed_when_there_is_room,
]);
