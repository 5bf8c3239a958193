//! The node controller on the API server in memory: nodes that fall silent.

use evenkeel_clock as clock;
use evenkeel_sandbox::store::Stores;
use evenkeel_sandbox::{SandboxEventSink, Timeline, controllers};
use kube::Client;
use serde_json::{Value, json};

use crate::support::control_plane::wait::eventually;
use crate::support::dev_api::{create, get, patch, path, pod, settings, with_settings};

/// A node with a Lease that was last renewed long ago, and a Pod that tolerates nothing for long.
async fn silent_node(client: &Client) -> String {
    let node = json!({"metadata": {"name": "silent"}, "status": {"conditions": [
        {"type": "Ready", "status": "True"}]}});
    create(client, "/api/v1/nodes", &node).await;
    let lease = json!({"metadata": {"name": "silent"}, "spec": {"holderIdentity": "silent",
        "leaseDurationSeconds": 40, "renewTime": "2020-01-01T00:00:00.000000Z"}});
    let leases = path("kube-node-lease", "coordination.k8s.io/v1/leases");
    create(client, &leases, &lease).await;
    let pods = path("default", "v1/pods");
    let mut given = pod("there");
    given["spec"]["nodeName"] = "silent".into();
    given["spec"]["tolerations"] = json!([{"key": "node.kubernetes.io/unreachable",
        "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}]);
    create(client, &pods, &given).await;
    format!("{leases}/silent")
}

/// True if the node controller has marked the node as silent.
fn is_marked(node: &Value) -> bool {
    let taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let unreachable = |taint: &Value| taint["key"] == "node.kubernetes.io/unreachable";
    node["status"]["conditions"][0]["status"] == "Unknown" && taints.iter().any(unreachable)
}

#[test]
fn silent_nodes_are_marked_and_left_until_they_answer() {
    with_settings(settings(), async |_, client| {
        let lease = silent_node(client).await;
        let mut tasks = tokio::task::JoinSet::new();
        let stores = Stores::start(client, &mut tasks);
        let timeline = Timeline::new(clock::Clock::real());
        timeline.begin();
        controllers::start(
            client,
            &stores,
            &timeline,
            &SandboxEventSink::default(),
            &mut tasks,
        );
        let node = async || get(client, "/api/v1/nodes/silent").await;
        eventually("the node to be marked", async || {
            let node = node().await;
            is_marked(&node).then_some(()).ok_or(node.to_string())
        })
        .await;
        let there = format!("{}/there", path("default", "v1/pods"));
        eventually("the Pod to be evicted", async || {
            let pod = get(client, &there).await;
            let going = pod["metadata"]["deletionTimestamp"].is_string();
            going.then_some(()).ok_or(pod.to_string())
        })
        .await;
        let events = path("default", "v1/events");
        eventually("the Event", async || {
            let told = get(
                client,
                &format!("{events}?fieldSelector=reason=NodeNotReady"),
            )
            .await;
            let some = told["items"]
                .as_array()
                .is_some_and(|items| !items.is_empty());
            some.then_some(()).ok_or(told.to_string())
        })
        .await;
        let now = clock::now().strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
        let renewed = json!({"spec": {"renewTime": now}});
        assert_eq!(patch(client, &lease, "merge", &renewed).await.0, 200);
        let ready = json!({"status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let status = "/api/v1/nodes/silent/status";
        assert_eq!(
            patch(client, status, "strategic-merge", &ready).await.0,
            200
        );
        eventually("the taint to go", async || {
            let node = node().await;
            let taints = node["spec"]["taints"].to_string();
            let gone = !taints.contains("unreachable");
            gone.then_some(()).ok_or(taints)
        })
        .await;
        tasks.shutdown().await;
    });
}
