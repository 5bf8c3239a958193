//! The second kube-scheduler, with the rights of its component alone: it places the Pods of opted-in
//! namespaces while it runs. When it has died, the default scheduler places new ones.

use k8s_openapi::api::core::v1::Pod;
use kube::api::PostParams;
use kube::{Api, Client};

use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World, plain_scheduling};

const SECOND: &str = "evenkeel-scheduler";
const DEFAULT: &str = "default-scheduler";

fn when_the_second_scheduler_dies_the_default_one_places_new_pods() {
    with_control_plane(async |plane| {
        let world = World::new(plane, 3, Patience::Ample).await;
        let client = &plane.client;
        plane.start_scheduler(plain_scheduling()).await;
        let evenkeel = world.serve_beside(SECOND).await;
        let second = world.start_second_scheduler().await;
        for namespace in ["alive", "dead", "back"] {
            objects::create_namespace(client, namespace, &OPTED_IN).await;
            world.await_webhook(namespace).await;
        }

        await_scheduler(client, "alive", SECOND).await;
        place(client, "alive", SECOND).await;
        // The page of metrics may be a second old.
        eventually("it calls the extender", async || {
            let name = "evenkeel_extender_nodes_passed_total";
            let passed = evenkeel.metric(name, &[]).await;
            holds(passed > 0.0, || format!("{passed} nodes passed"))
        })
        .await;

        drop(second);
        await_scheduler(client, "dead", DEFAULT).await;
        place(client, "dead", DEFAULT).await;

        let _second = world.start_second_scheduler().await;
        await_scheduler(client, "back", SECOND).await;
        place(client, "back", SECOND).await;
        evenkeel.assert_within_rights();
    });
}

fn sketch() -> PodSketch {
    PodSketch::requesting("100m", "64Mi").annotated("evenkeel.dev/network-io", "1MB/s")
}

/// Waits until new Pods go to this scheduler.
async fn await_scheduler(client: &Client, namespace: &str, scheduler: &str) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let dry_run = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    eventually(&format!("new Pods go to {scheduler}"), async || {
        let pod = pods.create(&dry_run, &sketch().to_pod("probe")).await;
        let pod = pod.map_err(|error| error.to_string())?;
        let found = scheduler_of(&pod);
        holds(found == Some(scheduler), || format!("{found:?}"))
    })
    .await;
}

/// Ten Pods that this scheduler places.
async fn place(client: &Client, namespace: &str, scheduler: &str) {
    objects::create_pods(client, namespace, 10, &sketch()).await;
    let by_node = objects::await_running(client, namespace).await;
    assert_eq!(by_node.values().sum::<usize>(), 10);
    let pods = objects::pods(client, namespace).await;
    let other = pods.iter().find(|pod| scheduler_of(pod) != Some(scheduler));
    assert_eq!(other, None);
}

fn scheduler_of(pod: &Pod) -> Option<&str> {
    pod.spec.as_ref()?.scheduler_name.as_deref()
}

crate::support::trial::suite!(super::world::NEEDS => [
    when_the_second_scheduler_dies_the_default_one_places_new_pods,
]);
