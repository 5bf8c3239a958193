//! The harness itself and the manifests: what the other scenarios rest on.

use crate::support::control_plane::clear;
use crate::support::control_plane::manifests;
use crate::support::control_plane::nodes::{self, NodeShape};
use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::with_control_plane;

use super::world;

fn pods_of_plain_scheduling_run() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        nodes::create(client, "plain", 3, &NodeShape::default()).await;
        plane.start_scheduler(world::plain_scheduling()).await;
        objects::create_namespace(client, "plain", &[]).await;
        objects::create_pods(client, "plain", 30, &PodSketch::requesting("100m", "64Mi")).await;
        let by_node = objects::await_running(client, "plain").await;
        assert_eq!(by_node.len(), 3, "{by_node:?}");
        assert_eq!(by_node.values().sum::<usize>(), 30);
        clear::delete_pods(client, "plain").await;
    });
}

fn the_api_server_accepts_the_manifests_to_the_last_field() {
    with_control_plane(async |plane| {
        manifests::install(plane, 443, None).await;
        for overlay in ["narrowed-webhook", "second-scheduler"] {
            let folder = format!("deploy/overlays/{overlay}");
            manifests::validate(&plane.client, &folder).await;
        }
    });
}

crate::support::trial::suite!(super::world::NEEDS => [
    pods_of_plain_scheduling_run,
    the_api_server_accepts_the_manifests_to_the_last_field,
]);
