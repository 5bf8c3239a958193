//! Times that the node table goes by.

use jiff::SignedDuration;

use crate::max_age;
use crate::units::Resource;

/// The times for which measurements and reservations count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settings {
    /// Measurements older than this are not fresh.
    pub max_age: SignedDuration,
    /// The time for which the last measurement counts where it is more than the sum of demands.
    pub kept: SignedDuration,
    /// The same for disk, which may be measured less often.
    pub disk_max_age: SignedDuration,
    /// The time for which a Pod counts on the node that was proposed for it while its binding is
    /// not seen.
    pub provisional: SignedDuration,
    /// The same where kube-scheduler's notices have been coming, and none has for this Pod.
    pub unnoticed: SignedDuration,
    /// The time for which a Pod counts on the node that was proposed for it where volumes or devices may have
    /// to be made before kube-scheduler tells of it.
    pub provisioning: SignedDuration,
    /// The time for which a bound Pod counts that does not start, for example because its image
    /// does not exist.
    pub unstarted: SignedDuration,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            max_age: max_age::DEFAULT,
            // An exporter that is down is not mended in three minutes; half an hour later the node's
            // Pods are others.
            kept: SignedDuration::from_mins(30),
            disk_max_age: max_age::DEFAULT,
            provisional: SignedDuration::from_secs(10),
            unnoticed: SignedDuration::from_secs(2),
            // As long as kube-scheduler waits for a volume by default; a Pod that is given up meanwhile is asked
            // about anew.
            provisioning: SignedDuration::from_mins(10),
            // Long enough for large images and slow volumes; a start that takes longer is counted
            // from when it comes.
            unstarted: SignedDuration::from_mins(10),
        }
    }
}

impl Settings {
    /// The age up to which measurements of a resource are used.
    pub(super) const fn max_age_of(&self, resource: Resource) -> SignedDuration {
        match resource {
            Resource::Disk => self.disk_max_age,
            Resource::Cpu | Resource::Memory | Resource::NetworkIo | Resource::DiskIo => {
                self.max_age
            }
        }
    }

    /// The age up to which any measurement is used.
    pub(super) fn longest_age(&self) -> SignedDuration {
        self.max_age.max(self.disk_max_age)
    }
}
