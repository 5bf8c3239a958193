//! Where Pods go, each time beside a control run without the extender, which shows that the test
//! could fail.

use std::collections::BTreeMap;

use kube::Client;

use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::report;
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World, plain_scheduling};

#[test]
fn no_network_heavy_pod_goes_where_the_network_is_nearly_full() {
    with_control_plane(async |plane| {
        let world = World::new(plane, 10, Patience::Ample).await;
        let full = ["node-3", "node-7"];
        for node in full {
            world.load_network(node, 79.0);
        }
        // An eighth of what is free is not yet network-heavy, a sixth is.
        let pod =
            PodSketch::requesting("50m", "32Mi").annotated("evenkeel.dev/network-io", "12MB/s");
        let evenkeel = world.serve("1h").await;
        let (plain, steered) = place_twice(&world, "network", 20, &pod).await;

        let on_full = |by_node: &BTreeMap<String, usize>| -> usize {
            full.iter().filter_map(|&node| by_node.get(node)).sum()
        };
        assert!(
            on_full(&plain) > 0,
            "the control run shows nothing: {plain:?}"
        );
        assert_eq!(on_full(&steered), 0, "{steered:?}");
        evenkeel.assert_within_rights();
    });
}

#[test]
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
        let evenkeel = world.serve("1h").await;
        let (plain, steered) = place_twice(&world, "burst", 100, &pod).await;

        let fullest = |by_node: &BTreeMap<String, usize>| -> f64 {
            let loads = world.node_names.iter().enumerate().map(|(index, node)| {
                let pods = by_node.get(node).copied().unwrap_or(0);
                let pods = u32::try_from(pods).expect("a hundred Pods at most");
                measured(index) + 4.0 * f64::from(pods)
            });
            loads.fold(0.0, f64::max)
        };
        assert!(
            fullest(&plain) >= 80.0,
            "the control run shows nothing: {plain:?}"
        );
        assert!(fullest(&steered) < 80.0, "{steered:?}");
        evenkeel.assert_within_rights();
    });
}

/// Places `count` Pods without the extender, then, when they are gone, as many with it; answers
/// how many each node got.
async fn place_twice(
    world: &World<'_>,
    name: &str,
    count: usize,
    pod: &PodSketch,
) -> (BTreeMap<String, usize>, BTreeMap<String, usize>) {
    let client = &world.plane.client;
    world.plane.start_scheduler(plain_scheduling()).await;
    let plain = place(world, &format!("{name}-plain"), count, pod).await;
    objects::delete_pods(client, &format!("{name}-plain")).await;
    world.schedule_with_evenkeel().await;
    let steered = place(world, &format!("{name}-steered"), count, pod).await;
    report(&format!(
        "{name}: Pods by node without the extender {plain:?}, with it {steered:?}"
    ));
    (plain, steered)
}

async fn place(
    world: &World<'_>,
    namespace: &str,
    count: usize,
    pod: &PodSketch,
) -> BTreeMap<String, usize> {
    let client: &Client = &world.plane.client;
    objects::create_namespace(client, namespace, &OPTED_IN).await;
    world.await_webhook(namespace).await;
    objects::create_pods(client, namespace, count, pod).await;
    let by_node = objects::await_running(client, namespace).await;
    assert_eq!(by_node.values().sum::<usize>(), count);
    by_node
}
