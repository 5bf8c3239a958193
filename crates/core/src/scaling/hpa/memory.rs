//! The state that the controller keeps of an HPA from one reconciliation to the next. It is held in
//! the controller's memory only: a restart forgets it.

use jiff::{SignedDuration, Timestamp};

use super::events::ScaleEvents;

/// The longest window that Kubernetes takes.
const LONGEST_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// A replica count that the metrics asked for, before stabilisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Recommendation {
    pub replicas: i32,
    /// The time of the reconciliation.
    pub at: Timestamp,
}

/// The memory of one HPA.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HpaMemory {
    /// Recommendations in their slots; a slot is used again once its recommendation is older than
    /// every window. `None` until the HPA is reconciled for the first time.
    pub recommendations: Option<Vec<Recommendation>>,
    /// Changes of the replica count.
    pub scale_events: ScaleEvents,
}

impl HpaMemory {
    /// Takes the current count as the first recommendation. So a new HPA, or one after a restart of
    /// its controller, does not scale down at once.
    pub fn begin(&mut self, current: i32, now: Timestamp) {
        self.recommendations.get_or_insert_with(|| {
            vec![Recommendation {
                replicas: current,
                at: now,
            }]
        });
    }
}

impl HpaMemory {
    /// Makes the recommendation of `now` at least so many replicas.
    pub(super) fn raise(&mut self, replicas: i32, now: Timestamp) {
        let all = self.recommendations.get_or_insert_default();
        if let Some(newest) = all.iter_mut().rfind(|one| one.at == now) {
            newest.replicas = newest.replicas.max(replicas);
            return;
        }
        let is_old = |one: &Recommendation| now.duration_since(one.at) > LONGEST_WINDOW;
        let old = all.iter().rposition(is_old);
        remember(all, old, replicas, now);
    }
}

/// Puts a recommendation into the `old` slot, or into a new one where no slot is free.
pub(super) fn remember(
    recommendations: &mut Vec<Recommendation>,
    old: Option<usize>,
    replicas: i32,
    now: Timestamp,
) {
    let newest = Recommendation { replicas, at: now };
    match old.and_then(|index| recommendations.get_mut(index)) {
        Some(slot) => *slot = newest,
        None => recommendations.push(newest),
    }
}
