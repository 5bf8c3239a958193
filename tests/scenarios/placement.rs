//! Where Pods go, each time beside a control run without the extender, which shows that the test
//! could fail.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use kube::Client;

use crate::support::control_plane::clear;
use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::report;
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World, plain_scheduling};

fn no_network_heavy_pod_goes_where_the_network_is_nearly_full() {
    with_control_plane(async |plane| {
        let world = World::new(plane, 10, Patience::Ample).await;
        // A sixth of what the nodes will have free makes the Pod network-heavy.
        let pod =
            PodSketch::requesting("800m", "32Mi").annotated("evenkeel.dev/network-io", "12MB/s");
        let plain = place_plainly(&world, "network-plain", 20, &pod).await;

        let mut favoured: Vec<_> = plain.iter().collect();
        favoured.sort_by_key(|&(node, pods)| (Reverse(pods), node));
        let full: Vec<&String> = favoured.iter().take(2).map(|&(node, _)| node).collect();
        for node in &full {
            world.load_network(node, 79.0);
        }
        let evenkeel = world.serve("1h").await;
        let steered = place_with_evenkeel(&world, "network-steered", 20, &pod).await;

        let on_full =
            |by_node: &ByNode| -> usize { full.iter().filter_map(|&node| by_node.get(node)).sum() };
        report(&format!(
            "network-heavy Pods, {full:?} at 79 %: {plain:?} without the extender, {steered:?} with it"
        ));
        assert!(on_full(&plain) > 0, "the control run shows nothing");
        assert_eq!(on_full(&steered), 0);
        evenkeel.assert_within_rights();
    });
}

fn a_burst_inside_one_metrics_interval_does_not_overfill_a_node() {
    with_control_plane(async |plane| {
        let world = World::new(plane, 10, Patience::Ample).await;
        // Five nodes with room for four Pods, five with room for nineteen: 115 in all.
        let measured = |index: usize| if index.is_multiple_of(2) { 60.0 } else { 0.0 };
        for (index, node) in world.node_names.iter().enumerate() {
            world.load_network(node, measured(index));
        }
        let pod =
            PodSketch::requesting("200m", "16Mi").annotated("evenkeel.dev/network-io", "4MB/s");
        let plain = place_plainly(&world, "burst-plain", 100, &pod).await;
        let evenkeel = world.serve("1h").await;
        let steered = place_with_evenkeel(&world, "burst-steered", 100, &pod).await;

        let percent = |by_node: &ByNode| -> Vec<f64> {
            let loads = world.node_names.iter().enumerate().map(|(index, node)| {
                let pods = by_node.get(node).copied().unwrap_or(0);
                let pods = u32::try_from(pods).expect("a hundred Pods at most");
                measured(index) + 4.0 * f64::from(pods)
            });
            loads.collect()
        };
        let overfull = |by_node: &ByNode| percent(by_node).iter().any(|&load| load >= 80.0);
        report(&format!(
            "percent of each node's network after a burst of 100: {:?} without the extender, {:?} with it",
            percent(&plain),
            percent(&steered),
        ));
        assert!(overfull(&plain), "the control run shows nothing");
        assert!(!overfull(&steered));
        evenkeel.assert_within_rights();
    });
}

/// How many Pods each node got.
type ByNode = BTreeMap<String, usize>;

/// The control run: Pods are placed before the service runs, and are gone again afterwards.
async fn place_plainly(
    world: &World<'_>,
    namespace: &str,
    count: usize,
    pod: &PodSketch,
) -> ByNode {
    let client = &world.plane.client;
    world.plane.start_scheduler(plain_scheduling()).await;
    objects::create_namespace(client, namespace, &OPTED_IN).await;
    let by_node = place(client, namespace, count, pod).await;
    clear::delete_pods(client, namespace).await;
    by_node
}

async fn place_with_evenkeel(
    world: &World<'_>,
    namespace: &str,
    count: usize,
    pod: &PodSketch,
) -> ByNode {
    let client = &world.plane.client;
    world.schedule_with_evenkeel().await;
    objects::create_namespace(client, namespace, &OPTED_IN).await;
    world.await_webhook(namespace).await;
    place(client, namespace, count, pod).await
}

async fn place(client: &Client, namespace: &str, count: usize, pod: &PodSketch) -> ByNode {
    objects::create_pods(client, namespace, count, pod).await;
    let by_node = objects::await_running(client, namespace).await;
    assert_eq!(by_node.values().sum::<usize>(), count);
    by_node
}

crate::support::trial::suite!(super::world::NEEDS => [
    no_network_heavy_pod_goes_where_the_network_is_nearly_full,
    a_burst_inside_one_metrics_interval_does_not_overfill_a_node,
]);
