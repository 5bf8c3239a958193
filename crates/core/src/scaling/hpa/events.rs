//! Changes of the replica count that policies count, kept the way the HPA controller keeps them:
//! the slot of an event is used again once the event is older than every period of the rules.

use jiff::{SignedDuration, Timestamp};

use super::behavior::{Behavior, ScalingRules};

/// One change of the replica count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScaleEvent {
    /// The number of replicas added or taken away, not negative.
    pub change: i32,
    /// The time of the change.
    pub at: Timestamp,
    /// True once the event is older than every period of the rules; its slot is free.
    pub outdated: bool,
}

/// The changes of one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ScaleEvents {
    /// Replicas added.
    pub up: Vec<ScaleEvent>,
    /// Replicas taken away.
    pub down: Vec<ScaleEvent>,
}

impl ScaleEvents {
    /// Records a change of the count. Without `behavior` no rule counts changes, and none is kept.
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

    /// The count at the start of a policy's period, worked out from the `current` one by what has
    /// changed since.
    pub(super) fn period_start(&self, current: i32, period_seconds: i32, now: Timestamp) -> i32 {
        let added = Self::change_within(&self.up, period_seconds, now);
        let removed = Self::change_within(&self.down, period_seconds, now);
        current.wrapping_sub(added).wrapping_add(removed)
    }

    /// The sum of the changes less than a period ago.
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
