//! The recent lag between a load and its measurement.

use evenkeel_forecast::Resolution;
use jiff::{SignedDuration, Timestamp};

use crate::load::horizon::Lag;
use crate::load::observation::LoadSample;

const STEP: SignedDuration = Resolution::Fine.step();

/// The lag of the measurements of late: the largest of the last ten to twenty minutes. It is rounded,
/// since models learn anew where it changes.
#[derive(Debug, Default)]
pub(super) struct RecentLag {
    /// The begin of the present ten minutes.
    since: Option<Timestamp>,
    /// The largest of the present ten minutes and of those before.
    largest: [Lag; 2],
}

impl RecentLag {
    const PERIOD: SignedDuration = SignedDuration::from_mins(10);
    const ROUND: SignedDuration = SignedDuration::from_secs(5);

    pub(super) fn take(&mut self, sample: &LoadSample, now: Timestamp) {
        let passed = self.since.map(|since| now.duration_since(since));
        match passed {
            Some(passed) if !passed.is_negative() && passed < Self::PERIOD => {}
            passed => {
                let recent = passed.is_some_and(|passed| passed < Self::PERIOD * 2);
                let before = self.largest[0];
                self.largest = [Lag::default(), if recent { before } else { Lag::default() }];
                self.since = Some(now);
            }
        }
        let age = now
            .duration_since(sample.measured)
            .max(SignedDuration::ZERO);
        let half_window = sample.window / 2;
        self.largest[0] = larger(
            self.largest[0],
            Lag {
                age: rounded(age, STEP, STEP - SignedDuration::from_secs(1)),
                // Windows of the metrics API differ by fractions of seconds.
                half_window: rounded(half_window, Self::ROUND, Self::ROUND / 2),
            },
        );
    }

    pub(super) fn lag(&self) -> Lag {
        larger(self.largest[0], self.largest[1])
    }
}

fn larger(one: Lag, other: Lag) -> Lag {
    Lag {
        age: one.age.max(other.age),
        half_window: one.half_window.max(other.half_window),
    }
}

/// A whole number of `units`: the most that are no longer than the time and `more`.
fn rounded(time: SignedDuration, unit: SignedDuration, more: SignedDuration) -> SignedDuration {
    let (whole, unit) = (time.saturating_add(more).as_millis(), unit.as_millis());
    let milliseconds = whole - whole.rem_euclid(unit.max(1));
    SignedDuration::from_millis_i128(milliseconds)
}
