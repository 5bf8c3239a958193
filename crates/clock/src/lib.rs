//! The one place where the machine's clocks are read, and the [`Clock`] that a cluster goes by.
//!
//! Decisions take the time as an argument; the edge of the process (a request, a tick) reads it
//! once and passes it on. Whatever is compared with the times in objects, measurements or Events
//! is read from the cluster's [`Clock`], which is the machine's unless a simulation lets it run
//! faster. Certificates, deadlines of sockets and latencies of the process go by the machine's.

use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

#[allow(clippy::disallowed_methods)] // this is the named place
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// The machine's monotonic clock, for latencies and deadlines of the process itself.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn instant() -> Instant {
    Instant::now()
}

/// The runtime's monotonic clock, by which its time limits go: the machine's, unless a test moves it.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn runtime() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Time that the calling thread has spent on a processor, for measurements of what work costs.
#[must_use]
pub fn thread_time() -> Duration {
    processor_time(ClockId::ThreadCPUTime)
}

/// Time that all threads of this process, ended ones too, have spent on processors.
#[must_use]
pub fn process_time() -> Duration {
    processor_time(ClockId::ProcessCPUTime)
}

fn processor_time(clock: ClockId) -> Duration {
    // Neither is negative, nor are there more nanoseconds than make a second.
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

/// A loop of a clock that runs fast turns no more often than this: a turn takes real work.
const LEAST_PERIOD: Duration = Duration::from_millis(200);

/// A clock that shows a date of its own at one moment and runs at a speed of its own from there.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Clock {
    /// The moment, by the machine's clock.
    origin: Timestamp,
    /// The date that is shown then.
    shown: Timestamp,
    speed: f64,
}

impl Default for Clock {
    fn default() -> Self {
        Self::real()
    }
}

impl Clock {
    /// The machine's clock itself.
    #[must_use]
    pub const fn real() -> Self {
        Self {
            origin: Timestamp::UNIX_EPOCH,
            shown: Timestamp::UNIX_EPOCH,
            speed: 1.0,
        }
    }

    /// A clock that shows `shown` when the machine's shows `origin`, and runs `speed` times as
    /// fast; a speed of zero or less is taken for 1.
    #[must_use]
    pub fn accelerated(speed: f64, shown: Timestamp, origin: Timestamp) -> Self {
        let speed = Some(speed).filter(|speed| *speed > 0.0 && speed.is_finite());
        Self {
            origin,
            shown,
            speed: speed.unwrap_or(1.0),
        }
    }

    /// The date that it shows now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.at(now())
    }

    /// The date that it shows when the machine's clock shows `real`.
    #[must_use]
    pub fn at(&self, real: Timestamp) -> Timestamp {
        let since = scaled(real.duration_since(self.origin), self.speed);
        let end = if since.is_negative() {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        self.shown.checked_add(since).unwrap_or(end)
    }

    /// The time that passes on it while `real` passes on the machine.
    #[must_use]
    pub fn elapsed(&self, real: Duration) -> SignedDuration {
        let real = SignedDuration::try_from(real).unwrap_or(SignedDuration::MAX);
        scaled(real, self.speed)
    }

    /// The time that the machine takes while `span` passes on it; zero for a negative span.
    #[must_use]
    pub fn wait(&self, span: SignedDuration) -> Duration {
        scaled(span, self.speed.recip())
            .max(SignedDuration::ZERO)
            .unsigned_abs()
    }

    /// The time that the machine takes between two turns of a loop that turns every `span` on it;
    /// however fast it runs, not below 200 ms, or `span` itself where that is shorter.
    #[must_use]
    pub fn period(&self, span: SignedDuration) -> Duration {
        let least = span.max(SignedDuration::ZERO).unsigned_abs();
        self.wait(span).max(LEAST_PERIOD.min(least))
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
        assert_eq!(clock.at(odd), odd);
        assert_eq!(clock.wait(SignedDuration::new(7, 1)), Duration::new(7, 1));
        let short = SignedDuration::from_millis(3);
        assert_eq!(clock.period(short), Duration::from_millis(3));
        let before = now();
        let shown = clock.now();
        assert!(before <= shown && shown <= now());
    }

    #[test]
    fn an_accelerated_clock_starts_where_it_is_told_and_runs_ahead() {
        let clock = Clock::accelerated(20.0, second(500), second(1_000));
        for (real, shown) in [(1_000, 500), (1_003, 560), (999, 480)] {
            assert_eq!(clock.at(second(real)), second(shown));
        }
        let minute = SignedDuration::from_mins(1);
        assert_eq!(clock.elapsed(Duration::from_secs(3)), minute);
        assert_eq!(clock.wait(minute), Duration::from_secs(3));
        assert_eq!(clock.wait(-minute), Duration::ZERO);
    }

    #[test]
    fn a_loop_turns_at_the_speed_of_the_clock_as_far_as_a_machine_can() {
        let clock = Clock::accelerated(20.0, second(0), second(0));
        for (span, millis) in [(15_000, 750), (1_000, 200), (100, 100), (-5, 0)] {
            let period = clock.period(SignedDuration::from_millis(span));
            assert_eq!(period, Duration::from_millis(millis), "{span}");
        }
    }

    #[test]
    fn what_is_beyond_time_is_its_end() {
        let clock = Clock::accelerated(1e9, second(0), second(0));
        assert_eq!(clock.at(second(1_700_000_000)), Timestamp::MAX);
        assert_eq!(clock.at(second(-1_700_000_000)), Timestamp::MIN);
        assert_eq!(clock.elapsed(Duration::MAX), SignedDuration::MAX);
        let stands = Clock::accelerated(0.0, second(0), second(0));
        assert_eq!(stands.at(second(5)), second(5));
    }
}
