//! Times that a range query asks for.

use jiff::{SignedDuration, Timestamp};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Grid {
    pub first: Timestamp,
    pub step: SignedDuration,
    /// Number of times; at least one.
    pub points: u32,
}

impl Grid {
    pub fn last(&self) -> Timestamp {
        let steps = i32::try_from(self.points.saturating_sub(1)).unwrap_or(i32::MAX);
        let length = self.step.saturating_mul(steps);
        self.first.checked_add(length).unwrap_or(Timestamp::MAX)
    }

    pub(super) fn later(self, by: SignedDuration) -> Self {
        Self {
            first: self.first.checked_add(by).unwrap_or(Timestamp::MAX),
            ..self
        }
    }

    /// The time that a point of the answer was asked for; it may be off by rounding.
    pub(super) fn time(&self, seconds: f64) -> Option<Timestamp> {
        let since = SignedDuration::try_from_secs_f64(seconds).ok()?;
        let at = Timestamp::UNIX_EPOCH.checked_add(since).ok()?;
        let slack = SignedDuration::from_millis(2);
        let inside =
            self.first.duration_since(at) <= slack && at.duration_since(self.last()) <= slack;
        inside.then_some(at)
    }
}
