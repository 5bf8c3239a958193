//! The begin of the scenario on the cluster's clock.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use evenkeel_clock::Clock;

/// A wait reads the clock this often, because its speed may change.
const LOOK: Duration = Duration::from_millis(500);

/// The cluster's clock, and the scenario's begin on it; clones share both.
#[derive(Debug, Clone)]
pub struct Timeline {
    clock: Clock,
    began: Arc<OnceLock<Timestamp>>,
}

impl Timeline {
    pub fn new(clock: Clock) -> Self {
        Self {
            clock,
            began: Arc::default(),
        }
    }

    /// By the machine's clock.
    #[cfg(test)]
    pub(crate) fn begun(date: Timestamp) -> Self {
        let timeline = Self::new(Clock::real());
        timeline.began.get_or_init(|| date);
        timeline
    }

    /// The first call counts.
    pub fn begin(&self) {
        self.began.get_or_init(|| self.clock.now());
    }

    pub const fn clock(&self) -> Clock {
        self.clock
    }

    /// In the cluster, for stamps of objects.
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// 0 before the begin.
    pub fn elapsed(&self) -> SignedDuration {
        self.at(self.now())
    }

    /// 0 before the begin.
    pub fn at(&self, date: Timestamp) -> SignedDuration {
        let began = self.began.get();
        began.map_or(SignedDuration::ZERO, |began| date.duration_since(*began))
    }

    /// Date of a time of the scenario.
    pub fn date(&self, at: SignedDuration) -> Timestamp {
        let began = self.began.get().copied();
        let began = began.unwrap_or_else(|| self.now());
        began.checked_add(at).unwrap_or(Timestamp::MAX)
    }

    /// A time of the scenario.
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
