//! Whatever happens to Evenkeel, the cluster goes on: Pods are created and placed while it is gone
//! and while it hangs.

use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::Signal;
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, PROFILE, Patience, World};

#[test]
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

async fn run(world: &World<'_>, namespace: &str) {
    let client = &world.plane.client;
    let pod = PodSketch::requesting("50m", "32Mi");
    objects::create_pods(client, namespace, 3, &pod).await;
    let by_node = objects::await_running(client, namespace).await;
    assert_eq!(by_node.values().sum::<usize>(), 3, "{by_node:?}");
}

/// That the Pods carry no annotation of ours shows that nobody answered.
async fn run_unannotated(world: &World<'_>, namespace: &str) {
    run(world, namespace).await;
    for pod in objects::pods(&world.plane.client, namespace).await {
        let annotations = pod.metadata.annotations.unwrap_or_default();
        assert!(!annotations.contains_key(PROFILE), "{annotations:?}");
    }
}
