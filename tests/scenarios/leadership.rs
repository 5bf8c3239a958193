//! Two replicas under load: the leader is cut off, paused and killed, and each time the other one
//! takes over, while Pods are created and placed as if nothing were the matter.

use evenkeel_clock as clock;
use jiff::SignedDuration;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

use crate::support::control_plane::evenkeel::Evenkeel;
use crate::support::control_plane::link::Link;
use crate::support::control_plane::manifests::NAMESPACE;
use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::process::Signal;
use crate::support::control_plane::stream::PodStream;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::admission::await_label;
use super::world::{OPTED_IN, Patience, World};

const FIRST: &str = "evenkeel-0";
const SECOND: &str = "evenkeel-1";

fn whatever_befalls_the_leader_the_other_takes_over_and_no_pod_is_lost() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 3, Patience::Ample).await;
        let link = Link::to(plane.apiserver_port()).await;
        let first = world.serve_over(&link).await;
        await_leader(client, FIRST).await;
        let second = world.standby().await;
        world.schedule_with_evenkeel().await;
        objects::create_namespace(client, "steady", &OPTED_IN).await;
        world.await_webhook("steady").await;
        let pod = PodSketch::requesting("10m", "16Mi");
        let pods = PodStream::start(client, "steady", pod);

        link.cut();
        take_over(client, "cut off", SECOND).await;
        // It answers from memory all the time, and knows that it leads no longer.
        world.await_webhook("steady").await;
        await_follower(&first).await;
        link.mend();

        second.signal(Signal::STOP);
        take_over(client, "paused", FIRST).await;
        second.signal(Signal::CONT);
        await_follower(&second).await;
        await_leader(client, FIRST).await;

        // From here on no replica is called: callers find no server at the port and go on without.
        first.signal(Signal::KILL);
        take_over(client, "killed", SECOND).await;
        pods.await_more(5).await;

        let created = pods.stop().await;
        let by_node = objects::await_running(client, "steady").await;
        assert_eq!(by_node.values().sum::<usize>(), created, "{by_node:?}");
        second.assert_within_rights();
    });
}

/// Waits until `heir` leads and has written what a new namespace asks for, and tells how long the
/// leadership took to pass.
async fn take_over(client: &Client, fate: &str, heir: &str) {
    let began = clock::now();
    await_leader(client, heir).await;
    let took = clock::now().duration_since(began);
    tell(fate, took);
    let namespace = format!("led-when-{}", fate.replace(' ', "-"));
    objects::create_namespace(client, &namespace, &OPTED_IN).await;
    await_label(client, &namespace).await;
}

/// Prints the times for the reader; the test runner shows them with `--nocapture`.
#[allow(clippy::print_stdout)]
fn tell(fate: &str, took: SignedDuration) {
    println!(
        "leader {fate}: the other leads after {:.1} s",
        took.as_secs_f64()
    );
}

/// Waits until a replica knows that it does not lead.
async fn await_follower(replica: &Evenkeel) {
    eventually("it does not lead", async || {
        let leads = replica.metric("evenkeel_leader", &[]).await;
        holds(leads < 0.5, || leads.to_string())
    })
    .await;
}

async fn await_leader(client: &Client, identity: &str) {
    let leases: Api<Lease> = Api::namespaced(client.clone(), NAMESPACE);
    eventually(&format!("{identity} leads"), async || {
        let lease = leases
            .get_opt("evenkeel")
            .await
            .map_err(|error| error.to_string())?;
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        holds(holder.as_deref() == Some(identity), || {
            format!("{holder:?}")
        })
    })
    .await;
}

crate::support::trial::suite!(super::world::NEEDS => [
    whatever_befalls_the_leader_the_other_takes_over_and_no_pod_is_lost,
]);
