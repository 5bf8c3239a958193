//! Nodes that are overloaded are tainted, the worst of them first, and are so no more once they have
//! cooled down or the feature is turned off.

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::world::{World, with_world};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::dev_api::{ask, create};

const KEY: &str = "evenkeel.dev/overloaded";
fn node(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

/// Four nodes beside the one of every world, so that one of them may be tainted, one of which another
/// taint keeps Pods from.
async fn plant_nodes(world: &World<'_>) {
    for name in ["hot", "warm", "cool", "control"] {
        let mut node = json!({"metadata": {"name": name, "labels": {}}, "status": {
            "allocatable": {"cpu": "4", "memory": "16Gi", "pods": "110"},
            "conditions": [{"type": "Ready", "status": "True"}]}});
        if name == "hot" {
            node["spec"]["taints"] = json!([{"key": "gpu", "value": "a", "effect": "NoSchedule"}]);
        }
        if name == "control" {
            let role = "node-role.kubernetes.io/control-plane";
            node["metadata"]["labels"][role] = json!("");
        }
        create(world.client, "/api/v1/nodes", &node).await;
        // The API server adds one to each new node, which only a node controller takes away.
        let taints = node["spec"]["taints"].clone();
        world
            .change(&self::node(name), &json!({"spec": {"taints": taints}}))
            .await;
    }
}

/// The taint of Evenkeel on a node, with how many others there are.
fn found(node: &Value) -> (Option<String>, usize) {
    let taints = node["spec"]["taints"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    let text = |taint: &Value, field: &str| taint[field].as_str().unwrap_or_default().to_owned();
    let (own, others): (Vec<_>, Vec<_>) = taints.iter().partition(|taint| taint["key"] == KEY);
    let own = own
        .first()
        .map(|taint| format!("{}:{}", text(taint, "value"), text(taint, "effect")));
    (own, others.len())
}

async fn until_tainted(world: &World<'_>, name: &str, taint: Option<&str>, others: usize) {
    let what = format!("{name} has {taint:?}");
    let wanted = (taint.map(str::to_owned), others);
    eventually(&what, async || {
        let (_, object) = ask(world.client, "GET", &node(name), &Value::Null).await;
        holds(found(&object) == wanted, || object["spec"].to_string())
    })
    .await;
}

async fn until_told(world: &World<'_>, reason: &str, name: &str) -> String {
    let path = "/apis/events.k8s.io/v1/namespaces/default/events";
    eventually(&format!("an Event {reason} of {name}"), async || {
        let (_, list) = ask(world.client, "GET", path, &Value::Null).await;
        let events = list["items"].as_array().cloned().unwrap_or_default();
        let mut told = events
            .iter()
            .filter(|event| event["reason"] == reason && event["regarding"]["name"] == name);
        let note = told
            .next()
            .map(|event| event["note"].as_str().unwrap().to_owned());
        note.ok_or_else(|| list.to_string())
    })
    .await
}

#[test]
fn the_worst_nodes_are_tainted_while_they_are_overloaded_and_none_once_it_is_off() {
    with_world(async |world| {
        plant_nodes(world).await;
        let loads = |hot, warm| {
            let nodes = [
                ("hot", hot),
                ("warm", warm),
                ("cool", 1.0),
                ("control", 4.0),
            ];
            world.prometheus.handle.set_nodes(&nodes);
        };
        loads(3.9, 3.3);
        let enforced = [("scheduling.overload.taint", "enforce")];
        let service = world.serve(&enforced).await;

        until_tainted(world, "hot", Some("cpu:NoSchedule"), 1).await;
        let told = until_told(world, "NodeOverloaded", "hot").await;
        assert!(
            told.contains("cpu has been at 80 %") && told.contains("97 %"),
            "{told}"
        );
        let shown = world
            .explain(&json!({"metadata": {"name": "p", "namespace": "shop"}}))
            .await;
        assert_eq!(
            shown["overloaded"],
            json!({"hot": format!("{KEY}=cpu:NoSchedule")})
        );
        // A third of four nodes is one, and the control plane is none of them.
        world.pass(SignedDuration::from_mins(2)).await;
        until_tainted(world, "warm", None, 0).await;

        loads(2.0, 3.3);
        until_tainted(world, "hot", None, 1).await;
        until_told(world, "NodeRelieved", "hot").await;
        until_tainted(world, "warm", Some("cpu:NoSchedule"), 0).await;
        until_tainted(world, "control", None, 0).await;
        service.stop().await;

        let service = world.serve(&[]).await;
        until_tainted(world, "warm", None, 0).await;
        service.stop().await;
    });
}
