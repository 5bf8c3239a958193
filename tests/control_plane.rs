//! Evenkeel on a real control plane: the shipped manifests, the built program with the rights that
//! its ServiceAccount has and no others, nodes without machines, and measurements that a test sets.
//!
//! Needs `KUBEBUILDER_ASSETS` (see `tests/support/control_plane/assets.rs`).

mod support {
    pub mod control_plane;
}

use support::control_plane::nodes::{self, NodeShape};
use support::control_plane::objects::{self, PodSketch};
use support::control_plane::{ControlPlane, with_control_plane};

use serde_json::json;

/// The harness itself: what the other tests rest on.
#[test]
fn pods_of_plain_scheduling_run() {
    with_control_plane(async |plane: &ControlPlane| {
        let client = &plane.client;
        nodes::create(client, "plain", 3, &NodeShape::default()).await;
        plane
            .start_scheduler(json!({
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
            }))
            .await;
        objects::create_namespace(client, "plain", &[]).await;
        let pod = PodSketch::requesting("100m", "64Mi");
        for index in 0..30 {
            pod.create(client, "plain", &format!("pod-{index}")).await;
        }
        let by_node = objects::await_running(client, "plain").await;
        assert_eq!(by_node.len(), 3, "{by_node:?}");
        assert_eq!(by_node.values().sum::<usize>(), 30);
    });
}
