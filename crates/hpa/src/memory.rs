//! The state that the controller keeps of an HPA between reconciliations, in memory only: a restart
//! forgets it.

use jiff::{SignedDuration, Timestamp};

use super::events::ScaleEvents;

/// The longest window that Kubernetes accepts.
const LONGEST_WINDOW: SignedDuration = SignedDuration::from_hours(1);

/// The metrics' replica count before stabilisation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimedRecommendation {
    pub replicas: i32,
    pub at: Timestamp,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HpaMemory {
    /// A slot is reused once its recommendation is older than every window. `None` until the first
    /// reconciliation.
    pub recommendations: Option<Vec<TimedRecommendation>>,
    pub scale_events: ScaleEvents,
}

impl HpaMemory {
    /// The current count becomes the first recommendation, so that a new HPA, or one after a
    /// restart of its controller, does not scale down at once.
    pub fn begin(&mut self, current: i32, now: Timestamp) {
        self.recommendations.get_or_insert_with(|| {
            vec![TimedRecommendation {
                replicas: current,
                at: now,
            }]
        });
    }
}

impl HpaMemory {
    pub(crate) fn raise(&mut self, replicas: i32, now: Timestamp) {
        let all = self.recommendations.get_or_insert_default();
        if let Some(newest) = all.iter_mut().rfind(|one| one.at == now) {
            newest.replicas = newest.replicas.max(replicas);
            return;
        }
        let is_old = |one: &TimedRecommendation| now.duration_since(one.at) > LONGEST_WINDOW;
        let old = all.iter().rposition(is_old);
        remember(all, old, replicas, now);
    }
}

/// Writes into the `old` slot, or appends if no slot is free.
pub(crate) fn remember(
    recommendations: &mut Vec<TimedRecommendation>,
    old: Option<usize>,
    replicas: i32,
    now: Timestamp,
) {
    let newest = TimedRecommendation { replicas, at: now };
    match old.and_then(|index| recommendations.get_mut(index)) {
        Some(slot) => *slot = newest,
        None => recommendations.push(newest),
    }
}
