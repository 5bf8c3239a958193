//! Looks for a living leader, which would rewrite what is undone. A recently renewed Lease has a
//! living holder. One may look abandoned only because clocks differ: it is abandoned if it does not
//! change for the time of its holder's promised renewal.

use std::time::Duration;

use evenkeel_objects::lease::LeaseRecord;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::ListParams;
use kube::{Api, Client, ResourceExt as _};

use crate::uninstall_plan::Extent;
use crate::uninstall_plan::installation::{LEASE, LEASE_LABELLED};

/// A Lease without a renewal for so long has no leader: all replicas renew within seconds.
const ABANDONED: SignedDuration = SignedDuration::from_hours(1);
/// Without a renewal for so long, score labels are outdated and are removed.
const LEADERLESS: SignedDuration = SignedDuration::from_mins(10);
/// The longest wait for a renewal, whatever the Lease says.
const MOST: Duration = Duration::from_mins(1);

/// The Leases by which the replicas of an installation may elect their leader.
pub struct Election {
    api: Api<Lease>,
    name: String,
}

type NamedLease = (String, LeaseRecord);

/// The extent of the abandoned traces, and the time by which that is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    pub extent: Extent,
    /// The time by the living leader's clock, if that lags behind; it dates records.
    pub now: Timestamp,
}

impl Election {
    /// The election of the installation in `namespace`; `name` is the configured name of its Lease,
    /// if known.
    pub fn of(client: &Client, namespace: &str, name: Option<&str>) -> Self {
        Self {
            api: Api::namespaced(client.clone(), namespace),
            name: name.unwrap_or(LEASE).to_owned(),
        }
    }

    /// True where there is a Lease at all.
    ///
    /// # Errors
    /// The Leases cannot be read.
    pub(crate) async fn has_lease(&self) -> kube::Result<bool> {
        Ok(!self.leases().await?.is_empty())
    }

    /// The name of the replica that leads, if one is alive.
    ///
    /// # Errors
    /// The Leases cannot be read.
    pub async fn living_leader(&self, now: Timestamp) -> kube::Result<Option<String>> {
        let found = self.leases().await?;
        let mut renewed = held(&found).filter(|(_, record)| !record.looks_abandoned(now));
        if let Some((_, record)) = renewed.next() {
            return Ok(record.holder.clone());
        }
        let changed = self.changed_since(&found).await?;
        Ok(changed.and_then(|record| record.holder))
    }

    /// The extent of the abandoned traces. If no Lease has been renewed for ten minutes, it includes
    /// score labels, and after an hour all that only a leader removes. A living leader is known by its renewals, whatever its clock
    /// says.
    ///
    /// # Errors
    /// The Leases cannot be read.
    pub async fn judge(&self, now: Timestamp) -> kube::Result<Judgement> {
        let lapsed = Judgement {
            extent: Extent::Lapsed,
            now,
        };
        let found = self.leases().await?;
        if found.iter().any(|(_, record)| !record.looks_abandoned(now)) {
            return Ok(lapsed);
        }
        if let Some(living) = self.changed_since(&found).await? {
            let now = living.renewed.map_or(now, |renewed| now.min(renewed));
            return Ok(Judgement { now, ..lapsed });
        }
        let has_ended = |since| {
            let mut all = found.iter();
            !found.is_empty() && all.all(|(_, record)| record.is_abandoned(since, now))
        };
        Ok(Judgement {
            extent: if has_ended(ABANDONED) {
                Extent::Abandoned
            } else if has_ended(LEADERLESS) {
                Extent::Leaderless
            } else {
                Extent::Lapsed
            },
            now,
        })
    }

    async fn changed_since(&self, found: &[NamedLease]) -> kube::Result<Option<LeaseRecord>> {
        let Some(longest) = held(found).map(|(_, record)| record.duration).max() else {
            return Ok(None);
        };
        tokio::time::sleep(longest.min(MOST)).await;
        let later = self.leases().await?;
        let is_new = |(name, record): &NamedLease| {
            let before = found.iter().find(|(other, _)| other == name);
            record.holder.is_some()
                && before
                    .is_none_or(|(_, before)| before.resource_version != record.resource_version)
        };
        Ok(later.into_iter().find(is_new).map(|(_, record)| record))
    }

    /// The Lease of the configured name, and those with Evenkeel's label, because a variable may
    /// give replicas another name. Without the right to list Leases, a user finds only the
    /// configured one.
    async fn leases(&self) -> kube::Result<Vec<NamedLease>> {
        let named = |lease: &Lease| (lease.name_any(), LeaseRecord::of(lease));
        let configured = self.api.get_opt(&self.name).await?;
        let mut found: Vec<NamedLease> = configured.iter().map(named).collect();
        let labelled = ListParams::default().labels(LEASE_LABELLED);
        match self.api.list(&labelled).await {
            Ok(leases) => {
                let others = leases.iter().filter(|lease| lease.name_any() != self.name);
                found.extend(others.map(named));
            }
            Err(kube::Error::Api(status)) if status.code == 403 => {}
            Err(error) => return Err(error),
        }
        Ok(found)
    }
}

fn held(found: &[NamedLease]) -> impl Iterator<Item = &NamedLease> {
    found.iter().filter(|(_, record)| record.holder.is_some())
}
