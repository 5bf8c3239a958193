//! Two replicas: one leads, and when it is killed the other takes over.

use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

use crate::support::control_plane::manifests::NAMESPACE;
use crate::support::control_plane::objects;
use crate::support::control_plane::process::Signal;
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::admission::await_label;
use super::world::{OPTED_IN, Patience, World};

#[test]
fn the_second_replica_takes_over_when_the_leader_is_killed() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        let first = world.serve("1s").await;
        await_leader(client, "evenkeel-0").await;
        let second = world.standby().await;
        objects::create_namespace(client, "led-by-the-first", &OPTED_IN).await;
        await_label(client, "led-by-the-first").await;
        await_leader(client, "evenkeel-0").await;

        first.signal(Signal::KILL);
        objects::create_namespace(client, "led-by-the-second", &OPTED_IN).await;
        await_label(client, "led-by-the-second").await;
        await_leader(client, "evenkeel-1").await;
        first.assert_within_rights();
        second.assert_within_rights();
    });
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
