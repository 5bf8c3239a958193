//! Looks for a leader that is alive: it would write anew what is taken back.
//!
//! A Lease that was renewed just now has a living holder. One that looks abandoned may only look so
//! because the clocks differ: it is abandoned when it does not change for the time within which its
//! holder has promised to renew it.

use std::time::Duration;

use evenkeel_kubernetes::lease::Record;
use evenkeel_kubernetes::plan::uninstall::Extent;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client};

/// The name of the leader's Lease.
pub(super) const NAME: &str = "evenkeel";
/// A Lease that nobody has renewed for so long has no leader: all replicas renew within seconds.
const ABANDONED: SignedDuration = SignedDuration::from_hours(1);
/// Nobody is waited for longer, whatever the Lease says.
const MOST: Duration = Duration::from_mins(1);

/// The name of the replica that leads the installation in `namespace`, if one is alive.
///
/// # Errors
/// The Lease cannot be read.
pub async fn living_leader(
    client: &Client,
    namespace: &str,
    now: Timestamp,
) -> kube::Result<Option<String>> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let record = read(&api).await?;
    let Some(record) = record.filter(|record| record.holder.is_some()) else {
        return Ok(None);
    };
    if !record.looks_abandoned(now) {
        return Ok(record.holder);
    }
    tokio::time::sleep(record.duration.min(MOST)).await;
    let renewed = read(&api)
        .await?
        .filter(|later| later.resource_version != record.resource_version);
    Ok(renewed.and_then(|later| later.holder))
}

/// The part of the traces that is nobody's any more: where the Lease of the installation in `namespace` has not
/// been renewed for an hour, what only a leader takes away is in it.
///
/// # Errors
/// The Lease cannot be read.
pub async fn lapsed_extent(
    client: &Client,
    namespace: &str,
    now: Timestamp,
) -> kube::Result<Extent> {
    let api: Api<Lease> = Api::namespaced(client.clone(), namespace);
    let record = read(&api).await?;
    // Without a Lease nobody can tell: its name is configurable.
    let abandoned = record.is_some_and(|record| record.is_abandoned(ABANDONED, now));
    Ok(if abandoned {
        Extent::Abandoned
    } else {
        Extent::Lapsed
    })
}

async fn read(api: &Api<Lease>) -> kube::Result<Option<Record>> {
    let lease = api.get_opt(NAME).await?;
    Ok(lease.as_ref().map(Record::of))
}
