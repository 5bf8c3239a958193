//! Times that the node table goes by.

use evenkeel_units::{Resource, max_age};
use jiff::SignedDuration;

/// The times for which measurements and reservations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Older measurements are not fresh.
    pub max_age: SignedDuration,
    /// The last measurement counts for so long if it is above the sum of demands.
    pub kept: SignedDuration,
    /// As `max_age`, for disk, which may be measured less often.
    pub disk_max_age: SignedDuration,
    /// How long a Pod counts on its proposed node while its binding is not seen.
    pub provisional: SignedDuration,
    /// The same if kube-scheduler's notices have been coming, and none has for this Pod.
    pub unnoticed: SignedDuration,
    /// The same if volumes or devices may have to be made before kube-scheduler's notice.
    pub provisioning: SignedDuration,
    /// How long a bound Pod counts that does not start, for example because its image does not
    /// exist.
    pub unstarted: SignedDuration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_age: max_age::DEFAULT,
            // An exporter that is down is not mended in three minutes; half an hour later the
            // node's Pods are others.
            kept: SignedDuration::from_mins(30),
            disk_max_age: max_age::DEFAULT,
            provisional: SignedDuration::from_secs(10),
            unnoticed: SignedDuration::from_secs(2),
            // kube-scheduler's default wait for a volume; a Pod given up meanwhile is asked about
            // anew.
            provisioning: SignedDuration::from_mins(10),
            // Long enough for large images and slow volumes; a longer start is counted when it
            // comes.
            unstarted: SignedDuration::from_mins(10),
        }
    }
}

impl Settings {
    pub(super) const fn max_age_of(&self, resource: Resource) -> SignedDuration {
        match resource {
            Resource::Disk => self.disk_max_age,
            Resource::Cpu | Resource::Memory | Resource::NetworkIo | Resource::DiskIo => {
                self.max_age
            }
        }
    }

    pub(super) fn longest_age(&self) -> SignedDuration {
        self.max_age.max(self.disk_max_age)
    }
}
