//! Whatever happens to Evenkeel, the cluster goes on: Pods are created and placed while it is gone
//! and while it hangs. Whatever happens to the API server, Evenkeel goes on.

use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::Signal;
use crate::support::control_plane::stream::PodStream;
use crate::support::control_plane::with_control_plane;

use super::admission::await_label;
use super::world::{OPTED_IN, PROFILE, Patience, World};

fn the_cluster_goes_on_while_the_service_hangs_and_when_it_is_gone() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 3, Patience::Shipped).await;
        let namespaces = ["served", "hanging", "gone"];
        for namespace in namespaces {
            objects::create_namespace(client, namespace, &OPTED_IN).await;
        }
        let mut evenkeel = world.serve("1s").await;
        world.schedule_with_evenkeel().await;
        for namespace in namespaces {
            world.await_webhook(namespace).await;
        }

        evenkeel.signal(Signal::STOP);
        run_unannotated(&world, "hanging").await;
        evenkeel.signal(Signal::CONT);
        world.await_webhook("hanging").await;
        run(&world, "served").await;

        evenkeel.stop().await;
        run_unannotated(&world, "gone").await;
    });
}

fn no_pod_is_lost_while_the_api_server_is_restarted_under_load() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 3, Patience::Ample).await;
        let mut evenkeel = world.serve("1s").await;
        world.schedule_with_evenkeel().await;
        objects::create_namespace(client, "throughout", &OPTED_IN).await;
        world.await_webhook("throughout").await;
        let pod = PodSketch::requesting("10m", "16Mi");
        let pods = PodStream::start(client, "throughout", pod);
        pods.await_more(10).await;
        // An API server that has just started refuses every caller for a moment, until it has read
        // the roles. Its answers then are no matter of rights.
        evenkeel.assert_within_rights();

        for _ in 0..2 {
            plane.restart_apiserver().await;
            pods.await_more(10).await;
        }
        // It follows what comes, answers and leads, and is the process that it was.
        objects::create_namespace(client, "afterwards", &OPTED_IN).await;
        await_label(client, "afterwards").await;
        world.await_webhook("afterwards").await;
        let created = pods.stop().await;
        let by_node = objects::await_running(client, "throughout").await;
        assert_eq!(by_node.values().sum::<usize>(), created, "{by_node:?}");
        evenkeel.assert_running();
    });
}

async fn run(world: &World<'_>, namespace: &str) {
    let client = &world.plane.client;
    let pod = PodSketch::requesting("50m", "32Mi");
    objects::create_pods(client, namespace, 3, &pod).await;
    let by_node = objects::await_running(client, namespace).await;
    assert_eq!(by_node.values().sum::<usize>(), 3, "{by_node:?}");
}

/// Pods without an annotation of ours show that no replica answered.
async fn run_unannotated(world: &World<'_>, namespace: &str) {
    run(world, namespace).await;
    for pod in objects::pods(&world.plane.client, namespace).await {
        let annotations = pod.metadata.annotations.unwrap_or_default();
        assert!(!annotations.contains_key(PROFILE), "{annotations:?}");
    }
}

crate::support::trial::suite!(super::world::NEEDS => [
    the_cluster_goes_on_while_the_service_hangs_and_when_it_is_gone,
    no_pod_is_lost_while_the_api_server_is_restarted_under_load,
]);
