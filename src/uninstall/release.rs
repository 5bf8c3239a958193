//! The finalizer by which the rights to put back outlive `kubectl delete -k`: it stands on a ClusterRole, its
//! binding, and the ServiceAccount of the replicas, and goes once nothing is left to put back.

use futures::FutureExt as _;
use futures::future::join_all;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use evenkeel_kubernetes::kinds::Kind;
use evenkeel_kubernetes::managed_fields::MANAGER;

/// The finalizer.
pub const FINALIZER: &str = "evenkeel.dev/clean-up";
/// The ClusterRole, and the binding of it.
const RIGHTS: &str = "evenkeel-clean-up";
/// The ServiceAccount of the replicas.
const ACCOUNT: &str = "evenkeel";
/// The number of attempts, each lost to somebody who was faster.
const TRIES: usize = 5;

/// True where the installation is being deleted, and waits for what Evenkeel wrote to be taken back.
///
/// # Errors
/// It cannot be read.
pub async fn is_awaited(client: &Client) -> kube::Result<bool> {
    let binding = Kind::ClusterRoleBinding.api_resource();
    let bindings: Api<DynamicObject> = Api::all_with(client.clone(), &binding);
    let found = bindings.get_opt(RIGHTS).await?;
    Ok(found.is_some_and(|found| {
        found.metadata.deletion_timestamp.is_some() && without(&found).is_some()
    }))
}

/// Lets everything go that the finalizer holds.
///
/// # Errors
/// Something is held still.
pub async fn release(client: &Client, namespace: &str) -> kube::Result<()> {
    let of_cluster = |kind: Kind| {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), &kind.api_resource());
        (api, RIGHTS)
    };
    let accounts = Kind::ServiceAccount.api_resource();
    let accounts: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &accounts);
    let held = [
        of_cluster(Kind::ClusterRole),
        of_cluster(Kind::ClusterRoleBinding),
        (accounts, ACCOUNT),
    ];
    let mut last = None;
    for _ in 0..TRIES {
        let looks: Vec<_> = held
            .iter()
            .map(|(api, name)| api.get_opt(name).boxed())
            .collect();
        let found = join_all(looks).await;
        let mut patches = Vec::new();
        for ((api, name), found) in held.iter().zip(found) {
            let change = found?.as_ref().and_then(without);
            patches.extend(change.map(|change| (api, *name, change)));
        }
        if patches.is_empty() {
            return Ok(());
        }
        // At once: whoever asks by these rights has none of them any more after the first.
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let sent: Vec<_> = patches
            .iter()
            .map(|(api, name, change)| take_away(api, name, &params, change).boxed())
            .collect();
        for answer in join_all(sent).await {
            match answer {
                Ok(()) => {}
                Err(kube::Error::Api(status)) if [404, 409].contains(&status.code) => {
                    last = Some(kube::Error::Api(status));
                }
                Err(error) => return Err(error),
            }
        }
        if last.take().is_none() {
            return Ok(());
        }
    }
    last.map_or(Ok(()), Err)
}

async fn take_away(
    api: &Api<DynamicObject>,
    name: &str,
    params: &PatchParams,
    change: &Value,
) -> kube::Result<()> {
    let change = Patch::Merge(change);
    api.patch(name, params, &change).await.map(drop)
}

/// The change that takes the finalizer away; `None` where it is not there.
fn without(object: &DynamicObject) -> Option<Value> {
    let found = object.metadata.finalizers.as_deref().unwrap_or_default();
    let left: Vec<_> = found.iter().filter(|one| *one != FINALIZER).collect();
    (left.len() < found.len()).then(|| {
        json!({"metadata": {"finalizers": left, "resourceVersion": object.metadata.resource_version}})
    })
}
