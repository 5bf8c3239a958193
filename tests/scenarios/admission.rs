//! Admission of Pods, called by a real API server through a Service with the signer's certificates;
//! and the leader's other writes.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Namespace, Pod};
use kube::{Api, Client};
use serde_json::json;

use crate::support::control_plane::manifests;
use crate::support::control_plane::objects::{self, PodSketch};
use crate::support::control_plane::wait::{eventually, holds};
use crate::support::control_plane::with_control_plane;

use super::world::{OPTED_IN, PROFILE, Patience, World};

fn pods_of_opted_in_namespaces_are_annotated_and_others_untouched() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 3, Patience::Ample).await;
        objects::create_namespace(client, "annotated", &OPTED_IN).await;
        objects::create_namespace(client, "untouched", &[]).await;
        let mut evenkeel = world.serve("1s").await;
        world.await_webhook("annotated").await;
        let bundles = ca_bundles(client).await;
        assert!(!bundles.is_empty() && bundles.iter().all(Option::is_some));

        let network =
            PodSketch::requesting("100m", "64Mi").annotated("evenkeel.dev/network-io", "30MB/s");
        let pod = network.create(client, "annotated", "network").await;
        assert_eq!(
            evenkeels(&pod).get(PROFILE).map(String::as_str),
            Some("network")
        );
        let source = evenkeels(&pod).remove("evenkeel.dev/profile-source");
        assert_eq!(source.as_deref(), Some("requests"));
        let demand = evenkeels(&pod)
            .remove("evenkeel.dev/demand")
            .expect("a demand");
        let demand: serde_json::Value = serde_json::from_str(&demand).expect("it is JSON");
        assert_eq!(demand["networkIo"], json!(30_000_000), "{demand}");

        let chosen = PodSketch::requesting("100m", "64Mi").annotated(PROFILE, "io");
        let pod = chosen.create(client, "annotated", "chosen").await;
        assert_eq!(evenkeels(&pod).get(PROFILE).map(String::as_str), Some("io"));

        let skipped = network.annotated("evenkeel.dev/skip", "true");
        let pod = skipped.create(client, "annotated", "skipped").await;
        assert_eq!(evenkeels(&pod), own(&skipped));
        let pod = skipped.create(client, "untouched", "other").await;
        assert_eq!(evenkeels(&pod), own(&skipped));

        evenkeel.assert_within_rights();
        world.signer.assert_within_rights();
        evenkeel.stop().await;
    });
}

fn the_leader_mirrors_the_opt_in_until_writing_is_switched_off() {
    with_control_plane(async |plane| {
        let client = &plane.client;
        let world = World::new(plane, 1, Patience::Ample).await;
        let mut evenkeel = world.serve("1s").await;
        objects::create_namespace(client, "mirrored", &OPTED_IN).await;
        await_label(client, "mirrored").await;

        evenkeel.reconfigure(&json!({"writes": "disabled"}));
        eventually("the switch is obeyed", async || {
            let enabled = evenkeel.metric("evenkeel_writes_enabled", &[]).await;
            holds(enabled < 0.5, || enabled.to_string())
        })
        .await;
        objects::create_namespace(client, "unwritten", &OPTED_IN).await;
        world.await_webhook("unwritten").await;
        // The Lease is exempt, so that one replica goes on to look after the certificates.
        let before = renewed(client).await;
        eventually("the Lease is held on", async || {
            let renewed = renewed(client).await;
            holds(renewed > before, || format!("{renewed:?}"))
        })
        .await;
        assert!(evenkeel.metric("evenkeel_leader", &[]).await > 0.5);
        assert_eq!(label(client, "unwritten").await, None);

        evenkeel.reconfigure(&json!({"writes": "enabled"}));
        await_label(client, "unwritten").await;
        evenkeel.assert_within_rights();
    });
}

/// The caBundles by which the API server checks the service's certificate; none is shipped.
async fn ca_bundles(client: &Client) -> Vec<Option<ByteString>> {
    let configurations: Api<MutatingWebhookConfiguration> = Api::all(client.clone());
    let configuration = configurations.get("evenkeel").await;
    let webhooks = configuration.expect("it is installed").webhooks;
    let bundles = webhooks.into_iter().flatten();
    bundles
        .map(|webhook| webhook.client_config.ca_bundle)
        .collect()
}

/// When the leader last renewed its Lease.
async fn renewed(client: &Client) -> Option<jiff::Timestamp> {
    let leases: Api<Lease> = Api::namespaced(client.clone(), manifests::NAMESPACE);
    let lease = leases.get("evenkeel").await.expect("there is a Lease");
    lease.spec?.renew_time.map(|time| time.0)
}

/// The label by which a narrowed webhook finds opted-in namespaces.
async fn label(client: &Client, namespace: &str) -> Option<String> {
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let object = namespaces
        .get(namespace)
        .await
        .expect("the namespace exists");
    object.metadata.labels?.remove("evenkeel.dev/enabled")
}

/// Waits for the label.
pub(super) async fn await_label(client: &Client, namespace: &str) {
    eventually(&format!("{namespace} has the label"), async || {
        let label = label(client, namespace).await;
        holds(label.as_deref() == Some("true"), || format!("{label:?}"))
    })
    .await;
}

fn evenkeels(pod: &Pod) -> BTreeMap<String, String> {
    let mut annotations = pod.metadata.annotations.clone().unwrap_or_default();
    annotations.retain(|key, _| key.starts_with("evenkeel.dev/"));
    annotations
}

fn own(sketch: &PodSketch) -> BTreeMap<String, String> {
    sketch.annotations.clone()
}

crate::support::trial::suite!(super::world::NEEDS => [
    pods_of_opted_in_namespaces_are_annotated_and_others_untouched,
    the_leader_mirrors_the_opt_in_until_writing_is_switched_off,
]);
