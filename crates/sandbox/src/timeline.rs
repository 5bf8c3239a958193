//! When the scenario began, on the clock that the whole cluster goes by.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use evenkeel_clock::Clock;

/// How often a wait reads the clock, because the speed of the clock may have changed.
const LOOK: Duration = Duration::from_millis(500);

/// The clock of a cluster, and the date on it at which the scenario began; clones are of the same
/// scenario.
#[derive(Debug, Clone)]
pub struct Timeline {
    clock: Clock,
    began: Arc<OnceLock<Timestamp>>,
}

impl Timeline {
    /// A scenario that has not begun.
    #[must_use]
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            began: Arc::default(),
        }
    }

    /// A scenario that began at `date` by the machine's clock.
    #[cfg(test)]
    pub(crate) fn begun(date: Timestamp) -> Self {
        let timeline = Self::new(Clock::real());
        timeline.began.get_or_init(|| date);
        timeline
    }

    /// Begins the scenario; the first call counts.
    pub fn begin(&self) {
        self.began.get_or_init(|| self.clock.now());
    }

    /// The clock of the cluster.
    #[must_use]
    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// The date in the cluster, which objects are stamped with.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// The time since the scenario began; zero until it has.
    #[must_use]
    pub fn elapsed(&self) -> SignedDuration {
        self.at(self.now())
    }

    /// The time of the scenario at a date; zero until it has begun.
    #[must_use]
    pub fn at(&self, date: Timestamp) -> SignedDuration {
        let began = self.began.get();
        began.map_or(SignedDuration::ZERO, |began| date.duration_since(*began))
    }

    /// The date at a time of the scenario.
    #[must_use]
    pub fn date(&self, at: SignedDuration) -> Timestamp {
        let began = self.began.get().copied();
        let began = began.unwrap_or_else(|| self.now());
        began.checked_add(at).unwrap_or(Timestamp::MAX)
    }

    /// Waits until a time of the scenario.
    pub async fn wait_until(&self, at: SignedDuration) {
        loop {
            let left = at.saturating_sub(self.elapsed());
            if !left.is_positive() {
                return;
            }
            tokio::time::sleep(self.clock.wait(left).min(LOOK)).await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_the_scenario_are_counted_from_its_beginning() {
        let began = Timestamp::from_second(1_000).unwrap();
        let minute = SignedDuration::from_mins(1);
        let timeline = Timeline::begun(began);
        assert_eq!(timeline.at(began + minute), minute);
        assert_eq!(timeline.date(minute), began + minute);
        timeline.begin();
        assert_eq!(timeline.date(SignedDuration::ZERO), began);
        let waiting = Timeline::new(Clock::real());
        assert_eq!(waiting.elapsed(), SignedDuration::ZERO);
    }
}
