//! The kill switch: the writes that are allowed at all, one atomic that the writer reads right
//! before each write, so that turning it off stops the very next one. It does not stop the Lease,
//! because without one no replica could know which one restores, nor the signer's certificates,
//! because their end would take the webhook away.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use evenkeel_objects::plan::Purpose;
use evenkeel_units::words;
use serde::{Deserialize, Serialize};

words! {
    /// The positions of the switch in front of everything that Evenkeel changes in the cluster.
    #[derive(Default, Serialize, Deserialize)]
    #[serde(rename_all = "lowercase")]
    pub enum Writes {
        /// It does what it decides.
        #[default]
        Enabled = "enabled",
        /// It decides, answers and reports, and leaves everything as it stands.
        Disabled = "disabled",
        /// It puts back all bounds that it has changed, and then leaves everything as it stands.
        Restore = "restore",
    }
}

impl Writes {
    /// True where a write for this reason may be made.
    pub const fn allows(self, purpose: Purpose) -> bool {
        match purpose {
            Purpose::Restore => matches!(self, Self::Restore),
            Purpose::MirrorNamespace
            | Purpose::WakePods
            | Purpose::AnnotationWarning
            | Purpose::ScalingBounds
            | Purpose::ScalingReplicas
            | Purpose::ScalingStatus
            | Purpose::ScalingEvent
            | Purpose::Portrait
            | Purpose::OverloadTaint
            | Purpose::OverloadEvent
            | Purpose::ScoreLabel
            | Purpose::DeletionCost
            | Purpose::DeletionCostEvent
            | Purpose::Resize
            | Purpose::ResizeEvent
            | Purpose::PodState
            | Purpose::PodStateEvent
            | Purpose::DiskIoEvent
            | Purpose::Configuration => matches!(self, Self::Enabled),
        }
    }
}

/// Shared by the configuration's watcher, which sets it, and the writers, which obey it.
#[derive(Debug, Clone)]
pub struct WriteSwitch(Arc<AtomicU8>);

/// No position of the switch.
const RETIRED: u8 = u8::MAX;

impl WriteSwitch {
    pub fn new(writes: Writes) -> Self {
        Self(Arc::new(AtomicU8::new(writes as u8)))
    }

    pub fn get(&self) -> Writes {
        let place = usize::from(self.0.load(Ordering::SeqCst));
        // Only positions are stored; what is none would be no leave to write.
        Writes::ALL.get(place).copied().unwrap_or(Writes::Disabled)
    }

    /// Sets the switch; gives whether that changed it. One that is retired stays so.
    pub fn set(&self, writes: Writes) -> bool {
        let writes = writes as u8;
        let update = |place| (place != RETIRED && place != writes).then_some(writes);
        let (set, fetch) = (Ordering::SeqCst, Ordering::SeqCst);
        self.0.fetch_update(set, fetch, update).is_ok()
    }

    /// Lets nothing be written any more, whatever the configuration says.
    pub fn retire(&self) {
        self.0.store(RETIRED, Ordering::SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_position_allows_its_own_and_the_services_needs() {
        for (writes, bounds, restore) in [
            (Writes::Enabled, true, false),
            (Writes::Disabled, false, false),
            (Writes::Restore, false, true),
        ] {
            let switch = WriteSwitch::new(Writes::Enabled);
            assert_eq!(switch.set(writes), writes != Writes::Enabled);
            assert_eq!(switch.get(), writes);
            let allows = |purpose| switch.get().allows(purpose);
            for purpose in [
                Purpose::ScalingBounds,
                Purpose::ScalingReplicas,
                Purpose::WakePods,
                Purpose::ScalingEvent,
            ] {
                assert_eq!(allows(purpose), bounds, "{writes:?} {purpose:?}");
            }
            assert_eq!(allows(Purpose::Restore), restore, "{writes:?}");
        }
    }

    #[test]
    fn one_that_is_retired_allows_nothing_and_is_not_set_again() {
        let switch = WriteSwitch::new(Writes::Enabled);
        switch.retire();
        assert!(!switch.set(Writes::Enabled));
        assert_eq!(switch.get(), Writes::Disabled);
    }
}
