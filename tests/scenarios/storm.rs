//! A storm: five hundred Pods that no node has room for, while a hundred others a second are bound. Each
//! binding lets kube-scheduler try them again. The run prints the figures; the reader judges them.

use std::time::Duration;

use futures::{StreamExt as _, stream};
use kube::Client;
use serde_json::json;

use evenkeel_clock as clock;

use crate::support::control_plane::objects::{self, PodSketch, node_of};
use crate::support::control_plane::process::report;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, Patience, World};

const NODES: usize = 100;
const REFUSED: usize = 500;
/// Bindings in all, and the time between two of them.
const BINDINGS: usize = 1000;
const PAUSE: Duration = Duration::from_millis(10);

fn what_nobody_has_room_for_is_asked_about_again_and_again_and_waits() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, NODES, Patience::Ample).await;
        for namespace in ["storm", "others"] {
            let opted_in: &[_] = if namespace == "storm" { &OPTED_IN } else { &[] };
            objects::create_namespace(client, namespace, opted_in).await;
        }
        let evenkeel = world.serve("1s").await;
        world.await_webhook("storm").await;
        let heavy =
            PodSketch::requesting("10m", "16Mi").annotated("evenkeel.dev/network-io", "70MB/s");
        objects::create_pods(client, "storm", REFUSED, &heavy).await;
        world.schedule_with_evenkeel().await;
        await_refusals(client).await;

        let filter = [("verb", "filter")];
        let calls = async || {
            evenkeel
                .metric("evenkeel_extender_calls_total", &filter)
                .await
        };
        let taken = || (evenkeel.processor_seconds(), plane.processor_seconds()[0]);
        let (calls_before, before, began) = (calls().await, taken(), clock::instant());
        bind_others(client, &world.node_names).await;
        let seconds = clock::instant().duration_since(began).as_secs_f64();
        let (after, asked) = (taken(), calls().await - calls_before);
        let bindings = f64::from(u32::try_from(BINDINGS).expect("a thousand"));
        report(&format!(
            "{REFUSED} refused Pods, {:.0} bindings a second: {:.0} filter calls a second, Evenkeel {:.3} and \
             kube-scheduler {:.3} of a processor",
            bindings / seconds,
            asked / seconds,
            (after.0 - before.0) / seconds,
            (after.1 - before.1) / seconds
        ));
        assert!(asked > 0.0, "nobody asked");
        let waiting = objects::pods(client, "storm").await;
        assert_eq!(
            waiting.iter().filter(|pod| node_of(pod).is_none()).count(),
            REFUSED
        );
        evenkeel.assert_within_rights();
    });
}

/// Binds Pods of another owner, one after another at a steady pace.
async fn bind_others(client: &Client, nodes: &[String]) {
    let begun = (tokio::time::interval(PAUSE), 0);
    let due = stream::unfold(begun, |(mut pace, number)| async move {
        if number == BINDINGS {
            return None;
        }
        pace.tick().await;
        Some((number, (pace, number + 1)))
    });
    due.for_each_concurrent(8, async |number| {
        let bound = json!({"spec": {"nodeName": nodes[number % nodes.len()]}});
        let sketch = PodSketch::requesting("1m", "1Mi").with(bound);
        sketch
            .create(client, "others", &format!("other-{number}"))
            .await;
    })
    .await;
}

async fn await_refusals(client: &Client) {
    eventually("every Pod is refused", async || {
        let pods = objects::pods(client, "storm").await;
        let is_refused = |pod: &&k8s_openapi::api::core::v1::Pod| {
            let status = pod.status.as_ref();
            let mut conditions = status
                .and_then(|status| status.conditions.as_ref())
                .into_iter()
                .flatten();
            conditions.any(|condition| condition.reason.as_deref() == Some("Unschedulable"))
        };
        let refused = pods.iter().filter(is_refused).count();
        holds(refused == REFUSED, || format!("{refused} of {REFUSED}"))
    })
    .await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    what_nobody_has_room_for_is_asked_about_again_and_again_and_waits,
]);
