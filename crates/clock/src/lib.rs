//! The one place where the clocks are read.
//!
//! Decisions take the time as an argument; the edge of the process (a request, a tick) reads it
//! here once and passes it on. Scaling goes by a [`Clock`] of its own, which is the wall clock but
//! in a cluster whose time runs faster: windows, cool-downs and horizons are then in that time.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};

/// The wall clock.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The monotonic clock, for latencies and deadlines of the process itself.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn instant() -> Instant {
    Instant::now()
}

/// A clock that agrees with the wall clock at one moment and runs at a speed of its own.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    origin: Timestamp,
    speed: f64,
}

impl Clock {
    /// The wall clock itself.
    #[must_use]
    pub const fn real() -> Self {
        Self {
            origin: Timestamp::UNIX_EPOCH,
            speed: 1.0,
        }
    }

    /// A clock that runs `speed` times as fast as the wall clock and shows the same at `origin`; a
    /// speed of zero or less is taken for 1.
    #[must_use]
    pub fn accelerated(speed: f64, origin: Timestamp) -> Self {
        let speed = Some(speed).filter(|speed| *speed > 0.0 && speed.is_finite());
        Self {
            origin,
            speed: speed.unwrap_or(1.0),
        }
    }

    /// What it shows.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.of(now())
    }

    /// What it shows at a time of the wall clock.
    #[must_use]
    pub fn of(&self, real: Timestamp) -> Timestamp {
        self.moved(real, self.speed)
    }

    /// When by the wall clock it shows `at`: for times that leave the loop.
    #[must_use]
    pub fn real_time(&self, at: Timestamp) -> Timestamp {
        self.moved(at, self.speed.recip())
    }

    /// What passes on it while a span of real time does.
    #[must_use]
    pub fn span(&self, real: SignedDuration) -> SignedDuration {
        scaled(real, self.speed)
    }

    /// How long a span on it takes.
    #[must_use]
    pub fn wait(&self, span: SignedDuration) -> Duration {
        scaled(span, self.speed.recip())
            .max(SignedDuration::ZERO)
            .unsigned_abs()
    }

    fn moved(&self, time: Timestamp, by: f64) -> Timestamp {
        if by.total_cmp(&1.0).is_eq() {
            return time;
        }
        let since = scaled(time.duration_since(self.origin), by);
        let end = if since.is_negative() {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        self.origin.checked_add(since).unwrap_or(end)
    }
}

/// A span of the largest size that there is stands for one that is larger.
fn scaled(span: SignedDuration, by: f64) -> SignedDuration {
    if by.total_cmp(&1.0).is_eq() {
        return span;
    }
    let end = if span.is_negative() {
        SignedDuration::MIN
    } else {
        SignedDuration::MAX
    };
    SignedDuration::try_from_secs_f64(span.as_secs_f64() * by).unwrap_or(end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    #[test]
    fn the_real_clock_changes_nothing() {
        let clock = Clock::real();
        let odd = Timestamp::new(1_700_000_000, 123_456_789).unwrap();
        let span = SignedDuration::new(7, 1);
        assert_eq!((clock.of(odd), clock.real_time(odd)), (odd, odd));
        assert_eq!(clock.span(span), span);
        assert_eq!(clock.wait(span), Duration::new(7, 1));
        let before = now();
        let shown = clock.now();
        assert!(before <= shown && shown <= now());
    }

    #[test]
    fn an_accelerated_clock_starts_with_the_real_one_and_runs_ahead() {
        let clock = Clock::accelerated(20.0, second(1_000));
        for (real, shown) in [(1_000, 1_000), (1_003, 1_060), (999, 980)] {
            assert_eq!(clock.of(second(real)), second(shown));
            assert_eq!(clock.real_time(second(shown)), second(real));
        }
        let minute = SignedDuration::from_mins(1);
        assert_eq!(clock.span(SignedDuration::from_secs(3)), minute);
        assert_eq!(clock.wait(minute), Duration::from_secs(3));
        assert_eq!(clock.wait(-minute), Duration::ZERO);
    }

    #[test]
    fn what_is_beyond_time_is_its_end() {
        let clock = Clock::accelerated(1e9, second(0));
        assert_eq!(clock.of(second(1_700_000_000)), Timestamp::MAX);
        assert_eq!(clock.of(second(-1_700_000_000)), Timestamp::MIN);
        assert_eq!(clock.span(SignedDuration::MAX), SignedDuration::MAX);
        let stands = Clock::accelerated(0.0, second(0));
        assert_eq!(stands.of(second(5)), second(5));
    }
}
