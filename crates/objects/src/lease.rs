//! The content of a Lease of any holder.

use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The name of the holder; `None` when the Lease was given back.
    pub holder: Option<String>,
    /// The version of the object, which changes with every write.
    pub resource_version: String,
    /// The time within which its holder promised to renew it.
    pub duration: Duration,
    /// The time of the last renewal, by the clock of the holder.
    pub renewed: Option<Timestamp>,
    /// The number of times that it has changed hands.
    pub transitions: i32,
}

impl LeaseRecord {
    /// The content of a Lease; one that promises nothing is over at once.
    pub fn of(lease: &Lease) -> Self {
        let spec = lease.spec.clone().unwrap_or_default();
        let seconds = spec.lease_duration_seconds.unwrap_or(0);
        Self {
            holder: spec.holder_identity.filter(|holder| !holder.is_empty()),
            resource_version: lease.metadata.resource_version.clone().unwrap_or_default(),
            duration: Duration::from_secs(u64::try_from(seconds).unwrap_or(0)),
            renewed: spec.renew_time.map(|time| time.0),
            transitions: spec.lease_transitions.unwrap_or(0),
        }
    }

    /// True if the last renewal was `span` or longer ago; `span` exceeds clock differences.
    pub fn is_abandoned(&self, span: SignedDuration, now: Timestamp) -> bool {
        let renewed = self.renewed;
        renewed.is_some_and(|renewed| now.duration_since(renewed) >= span)
    }

    /// True if the holder is late by this machine's clock, which may be wrong: only a Lease that
    /// does not change for its whole duration is abandoned.
    pub fn looks_abandoned(&self, now: Timestamp) -> bool {
        self.renewed.is_none_or(|renewed| {
            let age = Duration::try_from(now.duration_since(renewed));
            age.is_ok_and(|age| age > self.duration)
        })
    }
}
