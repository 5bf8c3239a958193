//! The times of ticks: in the middle of each step that loads are remembered at, so that each step
//! gets one measurement however late a tick is; or more often where decisions are wanted so.

use evenkeel_forecast::Resolution;
use jiff::{SignedDuration, Timestamp};

/// The distance of the steps that loads are remembered at.
const STEP: SignedDuration = Resolution::Fine.step();

/// When ticks are due, and which of them decide.
#[derive(Debug, Clone, Copy)]
pub struct TickSchedule {
    period: SignedDuration,
    interval: SignedDuration,
    next: Timestamp,
    decided: Option<Timestamp>,
}

impl TickSchedule {
    /// The schedule from `now` on, with a decision every `interval`.
    pub fn new(interval: SignedDuration, now: Timestamp) -> Self {
        let period = interval.min(STEP);
        Self {
            period,
            interval,
            next: middle_after(now, period),
            decided: None,
        }
    }

    /// When the next tick is due.
    pub const fn next(&self) -> Timestamp {
        self.next
    }

    /// Passes the tick that happens at `now`; true where it decides, and does not only measure.
    pub fn pass(&mut self, now: Timestamp) -> bool {
        self.next = middle_after(now, self.period);
        // A tick that came late must not hold up the next one.
        let due = self.interval - self.period / 2;
        let decides = self
            .decided
            .is_none_or(|at| now.duration_since(at) >= due || now < at);
        if decides {
            self.decided = Some(now);
        }
        decides
    }
}

/// The next middle of a step of this length after `now`.
fn middle_after(now: Timestamp, step: SignedDuration) -> Timestamp {
    let step = step.as_millis().max(1);
    let middle = step / 2;
    let passed = (i128::from(now.as_millisecond()) - middle).div_euclid(step);
    let next = (passed + 1) * step + middle;
    let next = i64::try_from(next).ok();
    next.and_then(|next| Timestamp::from_millisecond(next).ok())
        .unwrap_or(Timestamp::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millisecond: i64) -> Timestamp {
        Timestamp::from_millisecond(millisecond).unwrap()
    }

    #[test]
    fn ticks_stand_in_the_middle_of_the_steps() {
        for (now, next) in [
            (0, 7_500),
            (7_499, 7_500),
            (7_500, 22_500),
            (22_400, 22_500),
            (29_000, 37_500),
            (-1, 7_500),
        ] {
            assert_eq!(middle_after(at(now), STEP), at(next), "{now}");
        }
        assert_eq!(middle_after(at(0), SignedDuration::from_secs(1)), at(500));
    }

    #[test]
    fn every_step_is_measured_and_decisions_keep_their_interval() {
        let mut ticks = TickSchedule::new(SignedDuration::from_secs(45), at(0));
        let mut decided = Vec::new();
        for tick in 0..9 {
            let now = ticks.next() + SignedDuration::from_millis(tick * 100);
            if ticks.pass(now) {
                decided.push(tick);
            }
            assert_eq!(ticks.next(), at(7_500 + 15_000 * (tick + 1)));
        }
        assert_eq!(decided, [0, 3, 6]);
        let mut often = TickSchedule::new(SignedDuration::from_secs(5), at(0));
        for tick in 0..3 {
            assert_eq!(often.next(), at(2_500 + 5_000 * tick));
            assert!(often.pass(often.next()));
        }
        // A clock that was set back does not stop the loop.
        assert!(often.pass(at(-100_000)));
    }
}
