//! The scale-ins of the newest tick, on their way from the scaling loop to the rounds. A tick
//! decides on every workload, so its scale-ins replace all before: an older lowering is released
//! only while there is no newer tick.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use evenkeel_scaling::writes::scale_in::PendingScaleIn;
use jiff::{SignedDuration, Timestamp};

/// The time for which what a tick has decided holds: by then two others have decided anew.
const FRESH: SignedDuration = SignedDuration::from_secs(30);

#[derive(Debug)]
struct TickScaleIns {
    at: Timestamp,
    scale_ins: Vec<PendingScaleIn>,
}

/// The scale-ins of the newest tick, until a round takes them; clones share them.
#[derive(Debug, Clone, Default)]
pub struct ScaleIns(Arc<Mutex<Option<TickScaleIns>>>);

impl ScaleIns {
    /// Takes the scale-ins of the tick at this time in the place of those before.
    pub fn expect(&self, scale_ins: Vec<PendingScaleIn>, at: Timestamp) {
        *self.locked() = Some(TickScaleIns { at, scale_ins });
    }

    /// Those of a tick that no round has taken, unless it is long past.
    pub(super) fn take(&self, now: Timestamp) -> Option<Vec<PendingScaleIn>> {
        let TickScaleIns { at, scale_ins } = self.locked().take()?;
        let is_fresh = now.duration_since(at) < FRESH;
        if !is_fresh {
            let scale_ins = scale_ins.len();
            tracing::info!(
                scale_ins,
                "scale-ins of a tick long past are left to the next"
            );
        }
        is_fresh.then_some(scale_ins)
    }

    /// Drops those that no round has taken.
    pub(in crate::controller) fn forget(&self) {
        *self.locked() = None;
    }

    /// Does something that a newer tick forbids, false if there is one. None comes meanwhile.
    pub(super) fn unless_newer(&self, act: impl FnOnce()) -> bool {
        let tick = self.locked();
        let is_newest = tick.is_none();
        if is_newest {
            act();
        }
        is_newest
    }

    fn locked(&self) -> MutexGuard<'_, Option<TickScaleIns>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
