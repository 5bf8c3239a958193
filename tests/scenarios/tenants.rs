//! Malicious tenants with the rights of one namespace: what they say of themselves changes nothing
//! for others.

use kube::Client;
use serde_json::json;

use crate::support::control_plane::kubelet;
use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::stream::PodStream;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;
use crate::support::dev_api::{ask, create};

use super::world::{OPTED_IN, Patience, World};

/// More than all nodes of any cluster have.
const CLAIM: &str = "1TB/s";
const DAEMON_SETS: &str = "/apis/apps/v1/namespaces/claimants/daemonsets";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/claimants/deployments";

fn claims_of_pods_that_never_run_keep_nobody_from_any_node() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 3, Patience::Ample).await;
        let evenkeel = world.serve("1s").await;
        world.schedule_with_evenkeel().await;
        for namespace in ["claimants", "others"] {
            objects::create_namespace(client, namespace, &OPTED_IN).await;
            world.await_webhook(namespace).await;
        }
        claim(client).await;
        // One on each node; those of the Deployment fit on none.
        eventually("every node has a claimant", async || {
            let pods = objects::pods(client, "claimants").await;
            let bound = pods.iter().filter_map(objects::node_of).count();
            holds(bound == 3 && pods.len() == 5, || {
                format!("{bound} of {} are bound", pods.len())
            })
        })
        .await;

        let pod =
            PodSketch::requesting("100m", "32Mi").annotated("evenkeel.dev/network-io", "5MB/s");
        let stream = PodStream::start(client, "others", pod);
        stream.await_more(9).await;
        let created = stream.stop().await;
        let by_node = objects::await_running(client, "others").await;
        assert_eq!(by_node.values().sum::<usize>(), created);
        assert_eq!(by_node.len(), 3, "{by_node:?}");
        for path in [DAEMON_SETS, DEPLOYMENTS] {
            let gone = json!({"propagationPolicy": "Background"});
            ask(client, "DELETE", &format!("{path}/claimant"), &gone).await;
        }
        evenkeel.assert_within_rights();
    });
}

/// Pods that request nothing, claim everything and have a missing image: by a DaemonSet, which no
/// headroom rule holds back, and by a Deployment.
async fn claim(client: &Client) {
    let labels = json!({"app": "claimant"});
    let template = json!({
        "metadata": {"labels": labels, "annotations": {
            "evenkeel.dev/network-io": CLAIM, "evenkeel.dev/disk-io": CLAIM}},
        "spec": {"containers": [{"name": "app", "image": kubelet::MISSING}]},
    });
    let spec = json!({"selector": {"matchLabels": labels}, "template": template});
    let mut deployment = spec.clone();
    deployment["replicas"] = json!(2);
    for (path, spec) in [(DAEMON_SETS, spec), (DEPLOYMENTS, deployment)] {
        create(
            client,
            path,
            &json!({"metadata": {"name": "claimant"}, "spec": spec}),
        )
        .await;
    }
}

crate::support::trial::suite!(super::world::NEEDS => [
    claims_of_pods_that_never_run_keep_nobody_from_any_node,
]);
