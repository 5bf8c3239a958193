//! Changes of the replica count that policies count, kept as the HPA controller does: the slot of
//! an event is reused once the event is older than every period of the rules.

use jiff::{SignedDuration, Timestamp};

use super::behavior::{Behavior, ScalingRules};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleEvent {
    /// Replicas added or removed, not negative.
    pub change: i32,
    pub at: Timestamp,
    /// Older than every period of the rules; the slot is free.
    pub outdated: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScaleEvents {
    pub up: Vec<ScaleEvent>,
    pub down: Vec<ScaleEvent>,
}

impl ScaleEvents {
    /// Without `behavior` no rule counts changes, and none is kept.
    pub fn record(&mut self, behavior: Option<&Behavior>, previous: i32, new: i32, now: Timestamp) {
        let Some(behavior) = behavior else { return };
        let (events, rules) = if new > previous {
            (&mut self.up, &behavior.scale_up)
        } else {
            (&mut self.down, &behavior.scale_down)
        };
        let event = ScaleEvent {
            change: i32::try_from(new.abs_diff(previous)).unwrap_or(i32::MAX),
            at: now,
            outdated: false,
        };
        mark_outdated(events, rules, now);
        match events.iter_mut().rfind(|event| event.outdated) {
            Some(free) => *free = event,
            None => events.push(event),
        }
    }

    /// The count at the start of a policy's period, from the `current` one and the changes since.
    pub(crate) fn period_start(&self, current: i32, period_seconds: i32, now: Timestamp) -> i32 {
        let added = Self::change_within(&self.up, period_seconds, now);
        let removed = Self::change_within(&self.down, period_seconds, now);
        current.wrapping_sub(added).wrapping_add(removed)
    }

    /// Sum of the changes less than a period ago.
    pub fn change_within(events: &[ScaleEvent], period_seconds: i32, now: Timestamp) -> i32 {
        let period = SignedDuration::from_secs(i64::from(period_seconds));
        let recent = events
            .iter()
            .filter(|event| now.duration_since(event.at) < period);
        recent.fold(0, |sum, event| sum.wrapping_add(event.change))
    }
}

fn mark_outdated(events: &mut [ScaleEvent], rules: &ScalingRules, now: Timestamp) {
    let longest = SignedDuration::from_secs(i64::from(rules.longest_period()));
    for event in events {
        event.outdated |= now.duration_since(event.at) > longest;
    }
}
