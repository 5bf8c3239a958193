//! The one place where the machine's clocks are read, and the [`Clock`] of a cluster.
//!
//! Decisions take the time as an argument; the edge of the process (a request, a tick) reads it
//! once. Times of objects, measurements and Events are compared with the cluster's [`Clock`], which
//! is the machine's unless a simulation makes it faster. Certificates, socket deadlines and
//! latencies use the machine's.

use std::sync::{PoisonError, RwLock};
use std::time::{Duration, Instant};

use jiff::{SignedDuration, Timestamp};
use rustix::time::{ClockId, clock_gettime};

#[allow(clippy::disallowed_methods)] // this is the named place
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// Monotonic, for latencies and deadlines of the process itself.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn instant() -> Instant {
    Instant::now()
}

/// The runtime's monotonic clock for its time limits: the machine's, unless a test moves it.
#[allow(clippy::disallowed_methods)] // this is the named place
pub fn runtime() -> tokio::time::Instant {
    tokio::time::Instant::now()
}

/// Processor time of the calling thread, for measurements of cost.
pub fn thread_time() -> Duration {
    processor_time(ClockId::ThreadCPUTime)
}

/// Processor time of all threads of this process, including ended ones.
pub fn process_time() -> Duration {
    processor_time(ClockId::ProcessCPUTime)
}

fn processor_time(clock: ClockId) -> Duration {
    // Neither is negative, and nanoseconds are below a second.
    Duration::try_from(clock_gettime(clock)).unwrap_or_default()
}

/// Loops of a fast clock have no shorter period, because a turn takes real work.
const LEAST_PERIOD: Duration = Duration::from_millis(200);

/// Shows its own date at one moment and runs at its own speed from there. The speed may change; the
/// date never jumps or goes back.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    /// `None` for the machine's clock. Copies share it; it lives as long as the process, because
    /// copies may be anywhere.
    pace: Option<&'static RwLock<ClockPace>>,
}

/// The date of a clock at one moment, and its speeds before and after.
#[derive(Debug, Clone, Copy)]
struct ClockPace {
    /// By the machine's clock.
    origin: Timestamp,
    /// The date shown at `origin`.
    shown: Timestamp,
    /// The speed until then: a moment that was read before a change counts by it.
    before: f64,
    speed: f64,
}

impl ClockPace {
    fn at(&self, real: Timestamp) -> Timestamp {
        let since = real.duration_since(self.origin);
        let speed = if since.is_negative() {
            self.before
        } else {
            self.speed
        };
        let since = scaled(since, speed);
        let end = if since.is_negative() {
            Timestamp::MIN
        } else {
            Timestamp::MAX
        };
        self.shown.checked_add(since).unwrap_or(end)
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::real()
    }
}

impl Clock {
    pub const fn real() -> Self {
        Self { pace: None }
    }

    /// Shows `shown` when the machine shows `origin`, and runs `speed` times as fast; a speed of 0
    /// or less becomes 1.
    pub fn accelerated(speed: f64, shown: Timestamp, origin: Timestamp) -> Self {
        let speed = usable(speed).unwrap_or(1.0);
        let pace = RwLock::new(ClockPace {
            origin,
            shown,
            before: speed,
            speed,
        });
        Self {
            pace: Some(Box::leak(Box::new(pace))),
        }
    }

    /// Runs `speed` times as fast as the machine from now on. The machine's own clock keeps its
    /// speed; a speed of 0 or less changes nothing.
    pub fn set_speed(&self, speed: f64) {
        self.set_speed_from(speed, now);
    }

    /// The moment of the change is read while no date can be read: a date read after it at the old
    /// speed could be later than the next one.
    fn set_speed_from(self, speed: f64, real: impl FnOnce() -> Timestamp) {
        let (Some(pace), Some(speed)) = (self.pace, usable(speed)) else {
            return;
        };
        let mut pace = pace.write().unwrap_or_else(PoisonError::into_inner);
        // A moment before the last change would let that change's date go back.
        let origin = real().max(pace.origin);
        *pace = ClockPace {
            origin,
            shown: pace.at(origin),
            before: pace.speed,
            speed,
        };
    }

    /// Seconds per second of the machine.
    pub fn speed(&self) -> f64 {
        self.pace().map_or(1.0, |pace| pace.speed)
    }

    fn pace(self) -> Option<ClockPace> {
        let pace = self.pace?;
        Some(*pace.read().unwrap_or_else(PoisonError::into_inner))
    }

    pub fn now(&self) -> Timestamp {
        self.at(now())
    }

    /// The date when the machine shows `real`.
    pub fn at(&self, real: Timestamp) -> Timestamp {
        self.pace().map_or(real, |pace| pace.at(real))
    }

    /// Time on this clock while `real` passes on the machine, at the present speed.
    pub fn elapsed(&self, real: Duration) -> SignedDuration {
        let real = SignedDuration::try_from(real).unwrap_or(SignedDuration::MAX);
        scaled(real, self.speed())
    }

    /// Time on the machine while `span` passes here, at the present speed; 0 for a negative span.
    pub fn wait(&self, span: SignedDuration) -> Duration {
        scaled(span, self.speed().recip())
            .max(SignedDuration::ZERO)
            .unsigned_abs()
    }

    /// Period on the machine of a loop with the period `span` here; at least 200 ms, or `span`
    /// itself if shorter.
    pub fn period(&self, span: SignedDuration) -> Duration {
        let least = span.max(SignedDuration::ZERO).unsigned_abs();
        self.wait(span).max(LEAST_PERIOD.min(least))
    }

    /// Turns of a loop with [`Self::period`], whatever the speed becomes.
    pub const fn ticks(self, span: SignedDuration) -> Ticks {
        Ticks {
            clock: self,
            span,
            next: None,
        }
    }
}

/// A loop that is late by a whole turn skips the missed turns.
#[derive(Debug)]
pub struct Ticks {
    clock: Clock,
    span: SignedDuration,
    /// `None` before the first turn.
    next: Option<tokio::time::Instant>,
}

impl Ticks {
    /// The first turn is due at once. A cancelled wait loses no turn.
    pub async fn tick(&mut self) {
        let due = self.next.unwrap_or_else(runtime);
        tokio::time::sleep_until(due).await;
        let period = self.clock.period(self.span);
        let now = runtime();
        let after = due.checked_add(period).filter(|after| *after > now);
        self.next = after.or_else(|| now.checked_add(period)).or(Some(now));
    }
}

/// `None` if no clock can run at it.
fn usable(speed: f64) -> Option<f64> {
    Some(speed).filter(|speed| *speed > 0.0 && speed.is_finite())
}

/// Saturates at the largest span.
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
    use proptest::prelude::*;

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

    proptest! {
        #[test]
        fn a_change_of_the_speed_moves_no_date_and_turns_none_back(
            changes in prop::collection::vec((0_i64..100_000, 0.1_f64..100.0), 1..20)
        ) {
            let clock = Clock::accelerated(20.0, second(1_000), second(0));
            let (mut real, mut speed) = (second(0), 20.0);
            for (millis, next) in changes {
                let span = SignedDuration::from_millis(millis);
                let (before, between) = (clock.at(real), real + span / 2);
                real += span;
                let shown = clock.at(real);
                let passed = shown.duration_since(before).as_secs_f64();
                prop_assert!((passed - span.as_secs_f64() * speed).abs() < 1e-6, "{} {}", passed, speed);
                let halfway = clock.at(between);
                clock.set_speed_from(next, || real);
                prop_assert_eq!(clock.at(real), shown);
                // A moment read before the change, up to rounding to nanoseconds.
                let moved = clock.at(between).duration_since(halfway).abs();
                prop_assert!(moved <= SignedDuration::from_nanos(2), "{:?}", moved);
                prop_assert!(before <= halfway && halfway <= shown);
                speed = next;
            }
        }
    }

    #[test]
    fn a_speed_that_is_none_changes_nothing_and_nor_does_a_change_in_the_past() {
        let clock = Clock::accelerated(20.0, second(0), second(0));
        for speed in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            clock.set_speed_from(speed, || second(5));
            assert_eq!(clock.at(second(10)), second(200), "{speed}");
        }
        clock.set_speed_from(1.0, || second(10));
        clock.set_speed_from(2.0, || second(5));
        assert_eq!(
            [10, 12].map(|real| clock.at(second(real))),
            [second(200), second(204)]
        );
        let real = Clock::real();
        real.set_speed_from(20.0, || second(0));
        assert_eq!(real.at(second(7)), second(7));
    }

    /// A date read between the moment of a change and the change was later than the next one.
    #[test]
    fn no_date_is_read_between_the_moment_of_a_change_and_the_change() {
        let clock = Clock::accelerated(20.0, second(0), second(0));
        let mut asked = false;
        clock.set_speed_from(1.0, || {
            asked = true;
            assert!(clock.pace.unwrap().try_read().is_err());
            second(10)
        });
        assert!(asked);
        assert_eq!(clock.at(second(11)), second(201));
    }

    #[tokio::test(start_paused = true)]
    async fn turns_follow_the_speed() {
        let clock = Clock::accelerated(20.0, second(0), second(0));
        let mut ticks = clock.ticks(SignedDuration::from_secs(20));
        let begun = runtime();
        let mut turns = Vec::new();
        for turn in 0..5 {
            ticks.tick().await;
            turns.push(begun.elapsed().as_millis());
            if turn == 1 {
                clock.set_speed(10.0);
            }
            if turn == 3 {
                tokio::time::sleep(Duration::from_secs(5)).await;
            }
        }
        assert_eq!(turns, [0, 1_000, 2_000, 4_000, 9_000]);
    }
}
