//! How fast the scenario's time runs.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use evenkeel_core::units::Ratio;

/// The relation between the clock and the time of the scenario, which stands still until it is
/// begun; clones are of the same scenario.
#[derive(Debug, Clone)]
pub struct Pace {
    started: Arc<OnceLock<Timestamp>>,
    speed: f64,
}

impl Pace {
    /// A scenario that will run `speed` times as fast as the clock; speeds of zero or less are
    /// taken for 1.
    #[must_use]
    pub fn new(speed: Ratio) -> Self {
        let speed = Some(speed.get()).filter(|speed| *speed > 0.0);
        Self {
            started: Arc::default(),
            speed: speed.unwrap_or(1.0),
        }
    }

    /// Begins the scenario; the first call counts.
    pub fn begin(&self, now: Timestamp) {
        self.started.get_or_init(|| now);
    }

    /// The scenario's time at a time of the clock.
    #[must_use]
    pub fn scenario(&self, now: Timestamp) -> SignedDuration {
        self.started.get().map_or(SignedDuration::ZERO, |started| {
            scaled(now.duration_since(*started), self.speed)
        })
    }

    /// The time of the clock at a time of the scenario.
    #[must_use]
    pub fn clock(&self, at: SignedDuration) -> Timestamp {
        let started = self.started.get().copied().unwrap_or(Timestamp::UNIX_EPOCH);
        let passed = scaled(at, self.speed.recip());
        started.checked_add(passed).unwrap_or(Timestamp::MAX)
    }

    /// What a span of the clock is in the scenario.
    #[must_use]
    pub fn span(&self, real: Duration) -> SignedDuration {
        let real = SignedDuration::try_from(real).unwrap_or(SignedDuration::MAX);
        scaled(real, self.speed)
    }

    /// How long a span of the scenario takes, but not less than `least`.
    #[must_use]
    pub fn real(&self, span: SignedDuration, least: Duration) -> Duration {
        scaled(span, self.speed.recip()).unsigned_abs().max(least)
    }
}

/// A span of the largest size that there is stands for one that is larger.
fn scaled(span: SignedDuration, by: f64) -> SignedDuration {
    SignedDuration::try_from_secs_f64(span.as_secs_f64() * by).unwrap_or(SignedDuration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ways_are_inverse() {
        let started = Timestamp::from_second(1_000).unwrap();
        let pace = Pace::new(Ratio::new(60.0).unwrap());
        assert_eq!(pace.scenario(started), SignedDuration::ZERO);
        pace.begin(started);
        let later = Timestamp::from_second(1_010).unwrap();
        assert_eq!(pace.scenario(later), SignedDuration::from_mins(10));
        assert_eq!(pace.clock(SignedDuration::from_mins(10)), later);
        let least = Duration::from_millis(200);
        assert_eq!(
            pace.real(SignedDuration::from_secs(15), least),
            Duration::from_millis(250)
        );
        assert_eq!(pace.real(SignedDuration::from_secs(1), least), least);
        assert_eq!(pace.span(least), SignedDuration::from_secs(12));
    }
}
