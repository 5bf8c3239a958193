//! The Leases that show living kubelets.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::future::join_all;
use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client, ResourceExt as _};
use serde_json::json;
use tracing::debug;

use crate::machines::Machines;
use crate::objects::typed;
use crate::store::Stores;
use evenkeel_clock::{self as clock, Clock};

pub const LEASES: &str = "kube-node-lease";

/// Renewal interval by the machine's clock: the node controller waits several times as long.
const RENEWAL: Duration = Duration::from_secs(5);
/// Interval of checks for due Leases: of new nodes, or after a failed renewal.
const LOOK: Duration = Duration::from_millis(500);
/// Validity of a Lease, as kubelets set it.
const DURATION_SECONDS: i32 = 40;

/// Renews Leases of all nodes that are not lost, for ever. No Pod waits for it.
pub async fn run(client: Client, stores: Stores, machines: Machines, clock: Clock) {
    let mut ticks = tokio::time::interval(LOOK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    // The last renewal of each node.
    let mut heard: HashMap<String, Instant> = HashMap::new();
    loop {
        ticks.tick().await;
        let (now, date) = (clock::instant(), clock.now());
        let nodes = stores.nodes.list();
        heard.retain(|name, _| nodes.iter().any(|node| node.name_any() == *name));
        let due = nodes.iter().filter(|node| {
            let last = heard.get(&node.name_any());
            let old = |last: &Instant| now.duration_since(*last) >= RENEWAL;
            !machines.is_lost(&node.name_any()) && last.is_none_or(old)
        });
        let renewing = due.map(|node| async {
            let name = node.name_any();
            match renew(&client, node, date).await {
                Ok(()) => Some((name, now)),
                Err(error) => {
                    debug!(%error, node = name, "a Lease could not be renewed");
                    None
                }
            }
        });
        heard.extend(join_all(renewing).await.into_iter().flatten());
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
    // The Lease is deleted with its node.
    let lease: Lease = typed(json!({
        "metadata": {"name": name, "ownerReferences": [{
            "apiVersion": "v1", "kind": "Node", "name": name, "uid": node.uid(),
        }]},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": DURATION_SECONDS,
            "renewTime": renewed},
    }));
    api.create(&PostParams::default(), &lease).await.map(drop)
}
