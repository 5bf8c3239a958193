//! A Pod that no node has headroom for: it waits without wearing kube-scheduler out, and is placed
//! when headroom comes back, although nothing in the cluster but a measurement has changed.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};

use crate::support::control_plane::objects::{self, PodSketch, node_of};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World};

/// The only text that a refusal shows.
const REFUSAL: &str = "evenkeel: no headroom";
/// The span in which filter calls are counted, and the most that a waiting Pod may cause in it. A
/// refusal with a changing text would cause about 60 a second.
const SPAN: Duration = Duration::from_secs(10);
const FEW: f64 = 4.0;

fn a_refused_pod_waits_quietly_and_is_placed_when_headroom_comes_back() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 3, Patience::Ample).await;
        for node in &world.node_names {
            world.load_network(node, 79.0);
        }
        objects::create_namespace(client, "waiting", &OPTED_IN).await;
        let evenkeel = world.serve("1s").await;
        world.schedule_with_evenkeel().await;
        world.await_webhook("waiting").await;

        let heavy =
            PodSketch::requesting("50m", "32Mi").annotated("evenkeel.dev/network-io", "12MB/s");
        heavy.create(client, "waiting", "heavy").await;
        await_refusal(client, "waiting", "heavy").await;

        let filter = [("verb", "filter")];
        // The page of metrics may be a second old.
        eventually("the refusal was ours", async || {
            let calls = evenkeel.metric("evenkeel_extender_calls_total", &filter);
            holds(calls.await > 0.0, || "no call is counted".to_owned())
        })
        .await;
        let before = evenkeel
            .metric("evenkeel_extender_calls_total", &filter)
            .await;
        tokio::time::sleep(SPAN).await;
        let calls = evenkeel
            .metric("evenkeel_extender_calls_total", &filter)
            .await
            - before;
        report(&format!(
            "{before} filter calls until the refusal showed, {calls} in the {SPAN:?} after it"
        ));
        assert!(calls <= FEW, "{calls} filter calls in {SPAN:?}");

        world.load_network("node-1", 20.0);
        let by_node = objects::await_running(client, "waiting").await;
        assert_eq!(by_node.into_keys().collect::<Vec<_>>(), ["node-1"]);
        evenkeel.assert_within_rights();
    });
}

async fn await_refusal(client: &Client, namespace: &str, name: &str) {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    eventually("the Pod is refused", async || {
        let pod = pods.get(name).await.map_err(|error| error.to_string())?;
        assert_eq!(node_of(&pod), None, "no node has headroom");
        let conditions = pod
            .status
            .and_then(|status| status.conditions)
            .unwrap_or_default();
        let refused = conditions.iter().any(|condition| {
            condition.reason.as_deref() == Some("Unschedulable")
                && condition
                    .message
                    .as_deref()
                    .unwrap_or_default()
                    .contains(REFUSAL)
        });
        holds(refused, || format!("{conditions:?}"))
    })
    .await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    a_refused_pod_waits_quietly_and_is_placed_when_headroom_comes_back,
]);
