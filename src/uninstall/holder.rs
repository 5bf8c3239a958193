//! Whether a leader is alive: one that is would write anew what is taken back.
//!
//! A Lease that was renewed just now has a living holder. One that looks abandoned may only look so
//! because the clocks differ: it is abandoned when it does not change for the time within which its
//! holder has promised to renew it.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

/// The name of the leader's Lease.
const NAME: &str = "evenkeel";
/// The promise of a Lease that does not say.
const DURATION: i32 = 10;
/// Nobody is waited for longer, whatever the Lease says.
const MOST: Duration = Duration::from_secs(60);

/// A leader that is alive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder {
    /// The replica.
    pub name: String,
}

/// The leader of the installation in `namespace`, if one is alive.
///
/// # Errors
/// The Lease cannot be read.
pub async fn holder(
    client: &Client,
    namespace: &str,
    now: Timestamp,
) -> kube::Result<Option<Holder>> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let Some(lease) = api.get_opt(NAME).await? else {
        return Ok(None);
    };
    let Some(name) = held_by(&lease) else {
        return Ok(None);
    };
    let promise = promise(&lease);
    if !is_over(&lease, promise, now) {
        return Ok(Some(Holder { name }));
    }
    tokio::time::sleep(promise.min(MOST)).await;
    let later = api.get_opt(NAME).await?;
    let renewed =
        later.filter(|later| later.metadata.resource_version != lease.metadata.resource_version);
    Ok(renewed
        .as_ref()
        .and_then(held_by)
        .map(|name| Holder { name }))
}

fn held_by(lease: &Lease) -> Option<String> {
    let holder = lease.spec.as_ref()?.holder_identity.clone();
    holder.filter(|holder| !holder.is_empty())
}

fn promise(lease: &Lease) -> Duration {
    let seconds = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.lease_duration_seconds);
    let seconds = u64::try_from(seconds.unwrap_or(DURATION)).unwrap_or(0);
    Duration::from_secs(seconds)
}

fn is_over(lease: &Lease, promise: Duration, now: Timestamp) -> bool {
    let renewed = lease
        .spec
        .as_ref()
        .and_then(|spec| spec.renew_time.as_ref());
    renewed.is_none_or(|renewed| {
        let age = now.duration_since(renewed.0);
        Duration::try_from(age).is_ok_and(|age| age > promise)
    })
}
