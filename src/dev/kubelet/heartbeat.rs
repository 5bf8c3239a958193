//! The Leases by which kubelets say that they live.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tracing::debug;

use crate::dev::objects::typed;

/// The namespace of nodes' Leases.
pub const LEASES: &str = "kube-node-lease";

/// How often a Lease is renewed, by the clock: the node controller waits several times as long.
const RENEWAL: Duration = Duration::from_secs(5);
/// How long a Lease is good for, as kubelets say.
const DURATION_SECONDS: i32 = 40;

/// When each node was last heard of.
#[derive(Debug, Default)]
pub(super) struct Heartbeats(HashMap<String, Timestamp>);

impl Heartbeats {
    /// Renews the Lease of a node where it is due.
    pub(super) async fn beat(&mut self, client: &Client, node: &Node, now: Timestamp) {
        let name = node.name_any();
        let due = self
            .0
            .get(&name)
            .is_none_or(|last| now.duration_since(*last).unsigned_abs() >= RENEWAL);
        if !due {
            return;
        }
        match renew(client, node, now).await {
            Ok(()) => drop(self.0.insert(name, now)),
            Err(error) => debug!(%error, node = name, "a Lease could not be renewed"),
        }
    }

    /// Forgets nodes that are gone.
    pub(super) fn retain(&mut self, keep: impl Fn(&str) -> bool) {
        self.0.retain(|node, _| keep(node));
    }
}

async fn renew(client: &Client, node: &Node, now: Timestamp) -> kube::Result<()> {
    let name = node.name_any();
    let api: Api<Lease> = Api::namespaced(client.clone(), LEASES);
    let renewed = now.strftime("%Y-%m-%dT%H:%M:%S%.6fZ").to_string();
    let patch = Patch::Merge(json!({"spec": {"renewTime": renewed}}));
    match api.patch(&name, &PatchParams::default(), &patch).await {
        Err(kube::Error::Api(status)) if status.code == 404 => {}
        patched => return patched.map(drop),
    }
    // It goes with its node.
    let lease: Lease = typed(json!({
        "metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "v1", "kind": "Node", "name": name, "uid": node.uid(),
        }]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": renewed},
    }));
    api.create(&PostParams::default(), &lease).await.map(drop)
}
