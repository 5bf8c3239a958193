//! The finalizer by which the rights to restore outlive `kubectl delete -k`, on a ClusterRole, its
//! binding, and the replicas' ServiceAccount. A replica has its rights by these three objects
//! alone, so it must not lose one before its last request. Therefore role and binding become owners
//! of the account, and are deleted in the foreground: they wait for it. The last request releases
//! the account, and the cluster's garbage collector then releases role and binding.

use std::time::Duration;

use evenkeel_objects::kinds::Kind;
use evenkeel_objects::managed_fields::MANAGER;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams, Preconditions};
use kube::{Api, Client};
use serde_json::{Value, json};

pub const FINALIZER: &str = "evenkeel.dev/clean-up";
/// The finalizer of an owner that is deleted in the foreground. The garbage collector removes it
/// once no dependent blocks the deletion.
const FOREGROUND: &str = "foregroundDeletion";
/// The ClusterRole, and the binding of it.
const RIGHTS: &str = "evenkeel-clean-up";
const ACCOUNT: &str = "evenkeel";
/// The number of looks, each followed by one step.
const TRIES: usize = 8;

/// Why something is held still.
#[derive(Debug, thiserror::Error)]
pub enum ReleaseError {
    /// The API server refuses a step, or does not answer.
    #[error(transparent)]
    Refused(#[from] kube::Error),
    /// Only a part of it is being deleted.
    #[error("{} {name} is not being deleted", kind.as_str())]
    NotDeleted {
        kind: Kind,
        /// The name of the object.
        name: &'static str,
    },
    /// No look found the objects as they have to be.
    #[error(
        "ClusterRole, ClusterRoleBinding or ServiceAccount changed in between, or the API server does not collect \
         garbage"
    )]
    Unsettled,
}

/// True if the installation is being deleted, and waits until Evenkeel has undone its changes.
///
/// # Errors
/// It cannot be read.
pub async fn is_awaited(client: &Client, namespace: &str) -> kube::Result<bool> {
    let bindings = Api::all_with(client.clone(), &Kind::ClusterRoleBinding.api_resource());
    let binding = HeldObject::look(Kind::ClusterRoleBinding, RIGHTS, bindings).await?;
    if !binding.is_deleted() {
        return Ok(false);
    }
    let account = look_at_account(client, namespace).await?;
    // The binding waits for the finalizer, or for an account with a replica that died before its
    // last request. If the account is new, the installation is too, and the binding waits for the
    // garbage collector alone.
    Ok(account.seen.is_none() || account.is_deleted())
}

/// Takes the finalizer away with the rights of an administrator, which do not depend on it.
///
/// # Errors
/// Something is held still.
pub async fn release(client: &Client, namespace: &str) -> Result<(), ReleaseError> {
    for _ in 0..TRIES {
        let objects = look(client, namespace).await?;
        if let_go(&objects).await? {
            return Ok(());
        }
    }
    Err(ReleaseError::Unsettled)
}

/// Removes the finalizer by the rights that it holds. The garbage collector sees writes within
/// `pause`. Earlier runs or other replicas may have made any of the steps.
///
/// # Errors
/// Something is held still.
pub async fn release_own_rights(
    client: &Client,
    namespace: &str,
    pause: Duration,
) -> Result<(), ReleaseError> {
    let mut was_blocked = false;
    for _ in 0..TRIES {
        let objects = look(client, namespace).await?;
        if let Some(one) = objects
            .iter()
            .find(|one| one.is_held() && !one.is_deleted())
        {
            let &HeldObject { kind, name, .. } = one;
            return Err(ReleaseError::NotDeleted { kind, name });
        }
        let [rights @ .., account] = &objects;
        let unblocked = rights
            .iter()
            .filter(|one| one.is_held() && !one.carries(FOREGROUND));
        let unblocked: Vec<_> = unblocked.collect();
        let owners = missing_owners(account, rights);
        // Without an account nothing could block.
        if !account.is_held() || (was_blocked && owners.is_none() && unblocked.is_empty()) {
            if let_go(&objects).await? {
                return Ok(());
            }
        } else if let Some(owners) = owners {
            account.patch(json!({"ownerReferences": owners})).await?;
        } else {
            for one in &unblocked {
                one.delete_in_foreground().await?;
            }
            // If the garbage collector has not seen the owners, the finalizer is gone at the next
            // look.
            was_blocked = true;
        }
        tokio::time::sleep(pause).await;
    }
    Err(ReleaseError::Unsettled)
}

/// One of the objects that the finalizer holds, as it was when it was looked at.
struct HeldObject {
    kind: Kind,
    name: &'static str,
    api: Api<DynamicObject>,
    seen: Option<DynamicObject>,
}

/// The ClusterRole, its binding and the ServiceAccount.
async fn look(client: &Client, namespace: &str) -> kube::Result<[HeldObject; 3]> {
    let rights = |kind: Kind| {
        let api = Api::all_with(client.clone(), &kind.api_resource());
        HeldObject::look(kind, RIGHTS, api)
    };
    Ok([
        rights(Kind::ClusterRole).await?,
        rights(Kind::ClusterRoleBinding).await?,
        look_at_account(client, namespace).await?,
    ])
}

async fn look_at_account(client: &Client, namespace: &str) -> kube::Result<HeldObject> {
    let kind = Kind::ServiceAccount;
    let accounts = Api::namespaced_with(client.clone(), namespace, &kind.api_resource());
    HeldObject::look(kind, ACCOUNT, accounts).await
}

/// Removes the finalizer from one object after the other, the account last. False on a conflict.
async fn let_go(objects: &[HeldObject; 3]) -> kube::Result<bool> {
    for one in objects.iter().filter(|one| one.is_held()) {
        let left = one.finalizers().iter().filter(|left| *left != FINALIZER);
        let left: Vec<_> = left.collect();
        if !one.patch(json!({"finalizers": left})).await? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The account's owners, with the rights that do not wait for it yet; `None` if all do.
fn missing_owners(account: &HeldObject, rights: &[HeldObject]) -> Option<Vec<OwnerReference>> {
    let seen = account.seen.as_ref()?;
    let owners = seen.metadata.owner_references.clone().unwrap_or_default();
    let wanted = rights.iter().filter(|one| one.is_held());
    let wanted = wanted.filter_map(HeldObject::as_owner);
    let missing: Vec<_> = wanted.filter(|owner| !owners.contains(owner)).collect();
    (!missing.is_empty()).then(|| [owners, missing].concat())
}

impl HeldObject {
    async fn look(kind: Kind, name: &'static str, api: Api<DynamicObject>) -> kube::Result<Self> {
        let seen = api.get_opt(name).await?;
        Ok(Self {
            kind,
            name,
            api,
            seen,
        })
    }

    fn finalizers(&self) -> &[String] {
        let seen = self.seen.as_ref();
        let finalizers = seen.and_then(|seen| seen.metadata.finalizers.as_deref());
        finalizers.unwrap_or_default()
    }

    fn carries(&self, finalizer: &str) -> bool {
        self.finalizers().iter().any(|one| one == finalizer)
    }

    fn is_held(&self) -> bool {
        self.carries(FINALIZER)
    }

    fn is_deleted(&self) -> bool {
        let seen = self.seen.as_ref();
        seen.is_some_and(|seen| seen.metadata.deletion_timestamp.is_some())
    }

    fn as_owner(&self) -> Option<OwnerReference> {
        Some(OwnerReference {
            api_version: self.kind.api_version(),
            kind: self.kind.as_str().to_owned(),
            name: self.name.to_owned(),
            uid: self.seen.as_ref()?.metadata.uid.clone()?,
            block_owner_deletion: Some(true),
            controller: None,
        })
    }

    /// Changes metadata. False where it has changed since the look; what is gone needs no change.
    async fn patch(&self, mut metadata: Value) -> kube::Result<bool> {
        let seen = self.seen.as_ref();
        metadata["resourceVersion"] =
            json!(seen.and_then(|seen| seen.metadata.resource_version.as_ref()));
        let params = PatchParams {
            field_manager: Some(MANAGER.to_owned()),
            ..PatchParams::default()
        };
        let change = Patch::Merge(json!({"metadata": metadata}));
        is_done(self.api.patch(self.name, &params, &change).await)
    }

    /// Makes an object under deletion wait for its dependents. No update can add a finalizer then.
    async fn delete_in_foreground(&self) -> kube::Result<bool> {
        let seen = self.seen.as_ref();
        let params = DeleteParams::foreground().preconditions(Preconditions {
            uid: seen.and_then(|seen| seen.metadata.uid.clone()),
            resource_version: None,
        });
        is_done(self.api.delete(self.name, &params).await)
    }
}

/// False for an answer that another was faster.
fn is_done<T>(answer: kube::Result<T>) -> kube::Result<bool> {
    match answer {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(false),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(true),
        answer => answer.map(|_| true),
    }
}
