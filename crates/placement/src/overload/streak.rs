//! Samples of one resource of one node in a row over the upper line, or below the lower one. A
//! repeated sample counts once, and a gap longer than measurements hold restarts the count.

use evenkeel_metrics::usage::NodeSample;
use evenkeel_units::Amount;
use jiff::{SignedDuration, Timestamp};

/// Percentage of the capacity from which a node is overloaded: the rule of `[CLBP]`.
const UPPER: u64 = 80;
/// Percentage below which a node has cooled.
const LOWER: u64 = 75;
/// Samples in a row that make a verdict.
const SAMPLES: u8 = 3;

#[derive(Debug, Clone, Copy)]
pub(super) struct OverloadSample {
    percent: u64,
    /// Exactly below the lower line.
    below: bool,
    at: Timestamp,
}

impl OverloadSample {
    pub(super) fn new(measured: &NodeSample, capacity: Amount) -> Self {
        let used = u128::from(measured.value.get()) * 100;
        let capacity = u128::from(capacity.get());
        // A capacity of 0 is always full.
        let percent = used.checked_div(capacity).unwrap_or(u128::MAX);
        Self {
            percent: u64::try_from(percent).unwrap_or(u64::MAX),
            below: used < capacity * u128::from(LOWER),
            at: measured.at,
        }
    }

    /// Ignores a sample that is not newer than the last one. A last one from far in the future,
    /// from a wrong clock, gives way to any.
    pub(super) fn extend(
        &self,
        streak: &mut Option<Streak>,
        max_age: SignedDuration,
        now: Timestamp,
    ) {
        let before = streak.filter(|before| before.is_fresh(max_age, now));
        let is_news = before.is_none_or(|before| before.at < self.at);
        if !is_news || !is_fresh(self.at, max_age, now) {
            return;
        }
        let count = |so_far: u8, holds: bool| {
            if holds {
                so_far.saturating_add(1).min(SAMPLES)
            } else {
                0
            }
        };
        let (above, below) = before.map_or((0, 0), |before| (before.above, before.below));
        *streak = Some(Streak {
            at: self.at,
            percent: self.percent,
            above: count(above, self.percent >= UPPER),
            below: count(below, self.below),
        });
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Streak {
    at: Timestamp,
    percent: u64,
    above: u8,
    below: u8,
}

impl Streak {
    pub(super) fn is_fresh(&self, max_age: SignedDuration, now: Timestamp) -> bool {
        is_fresh(self.at, max_age, now)
    }

    pub(super) const fn is_hot(&self) -> bool {
        self.above >= SAMPLES
    }

    pub(super) const fn is_cool(&self) -> bool {
        self.below >= SAMPLES
    }

    /// The newest sample, rounded down.
    pub(super) const fn percent(&self) -> u64 {
        self.percent
    }
}

/// Clocks of two machines differ, so a little of the future is accepted.
fn is_fresh(at: Timestamp, max_age: SignedDuration, now: Timestamp) -> bool {
    now.duration_since(at).abs() <= max_age
}
