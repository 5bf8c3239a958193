//! Decides how fast the scenario runs, from how late this machine does its work. A control plane
//! that is late by tenths of a second fails (calls to the extender end after 200 ms), and such
//! failures are the machine's, so the scenario slows down.

use std::time::Duration;

/// Work that is so late counts as too late: half of the time that the scheduler gives the extender.
const TOO_LATE: Duration = Duration::from_millis(100);
/// Up to this the machine has time left.
const IN_TIME: Duration = Duration::from_millis(30);
/// Samples that are too late, less those that are not, until the speed falls.
const STRIKES: u32 = 2;
/// Samples in time, one after another, until the speed rises.
const CALM: u32 = 15;
/// The most of them, after speeds that were not kept again and again.
const LONGEST_CALM: u32 = 240;
/// The factors of the speed when it falls and when it rises.
const FALL: f64 = 0.75;
const RISE: f64 = 1.2;
/// The speed of a real cluster, below which the scenario does not fall.
const REAL: f64 = 1.0;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct LagSample {
    /// The longest that something which was due had to wait for a processor.
    pub(super) late: Duration,
    /// Calls to the service that went on without its answer, though no fault was planned.
    pub(super) unanswered: u32,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct Governor {
    asked: f64,
    kept: f64,
    strikes: u32,
    calm: u32,
    calm_needed: u32,
    has_risen: bool,
}

impl Governor {
    /// A run that begins at the speed that was asked for.
    pub(super) const fn new(asked: f64) -> Self {
        Self {
            asked,
            kept: asked,
            strikes: 0,
            calm: 0,
            calm_needed: CALM,
            has_risen: false,
        }
    }

    /// The speed from now on, where a sample changes it.
    pub(super) fn take(&mut self, sample: LagSample) -> Option<f64> {
        let is_late = sample.late >= TOO_LATE || sample.unanswered > 0;
        if is_late {
            self.strikes += 1;
        } else {
            self.strikes = self.strikes.saturating_sub(1);
        }
        self.calm = if sample.late < IN_TIME && !is_late {
            self.calm + 1
        } else {
            0
        };
        let least = REAL.min(self.asked);
        let next = if self.strikes >= STRIKES {
            self.strikes = 0;
            rounded(self.kept * FALL, f64::floor)
        } else if self.calm >= self.calm_needed {
            self.calm = 0;
            rounded(self.kept * RISE, f64::ceil)
        } else {
            return None;
        };
        let next = next.clamp(least, self.asked);
        if next < self.kept && std::mem::take(&mut self.has_risen) {
            // The machine has shown that it cannot keep more: it is tried again later each time.
            self.calm_needed = (self.calm_needed * 2).min(LONGEST_CALM);
        }
        self.has_risen |= next > self.kept;
        let changed = (next - self.kept).abs() > f64::EPSILON;
        self.kept = next;
        changed.then_some(next)
    }
}

/// A whole number, or below three a half: both are easy to read.
fn rounded(speed: f64, way: fn(f64) -> f64) -> f64 {
    if speed < 3.0 {
        way(speed * 2.0) / 2.0
    } else {
        way(speed)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const LATE: LagSample = LagSample {
        late: Duration::from_millis(180),
        unanswered: 0,
    };
    const FAILED: LagSample = LagSample {
        late: Duration::ZERO,
        unanswered: 1,
    };
    const BETWEEN: LagSample = LagSample {
        late: Duration::from_millis(60),
        unanswered: 0,
    };
    const CALM_SAMPLE: LagSample = LagSample {
        late: Duration::from_millis(2),
        unanswered: 0,
    };

    fn speeds(governor: &mut Governor, sample: LagSample, count: u32) -> Vec<f64> {
        (0..count).filter_map(|_| governor.take(sample)).collect()
    }

    #[test]
    fn the_speed_falls_while_work_is_late_and_no_lower_than_a_real_cluster() {
        for sample in [LATE, FAILED] {
            let mut governor = Governor::new(20.0);
            let found = speeds(&mut governor, sample, 100);
            assert_eq!(found, [15.0, 11.0, 8.0, 6.0, 4.0, 3.0, 2.0, 1.5, 1.0]);
        }
        assert!(speeds(&mut Governor::new(0.5), LATE, 100).is_empty());
    }

    #[test]
    fn one_late_second_changes_nothing() {
        let mut governor = Governor::new(20.0);
        for _ in 0..20 {
            assert_eq!(governor.take(LATE), None);
            assert_eq!(governor.take(BETWEEN), None);
        }
    }

    #[test]
    fn the_speed_rises_to_what_was_asked_and_more_slowly_after_each_failure() {
        let mut governor = Governor::new(20.0);
        assert_eq!(speeds(&mut governor, LATE, 4), [15.0, 11.0]);
        assert!(speeds(&mut governor, BETWEEN, 100).is_empty());
        assert_eq!(
            speeds(&mut governor, CALM_SAMPLE, 3 * CALM),
            [14.0, 17.0, 20.0]
        );
        assert!(speeds(&mut governor, CALM_SAMPLE, 1_000).is_empty());
        assert_eq!(speeds(&mut governor, LATE, 2), [15.0]);
        assert!(speeds(&mut governor, CALM_SAMPLE, 2 * CALM - 1).is_empty());
        assert_eq!(speeds(&mut governor, CALM_SAMPLE, 1), [18.0]);
    }

    proptest! {
        #[test]
        fn the_speed_stays_between_that_of_a_real_cluster_and_what_was_asked(
            asked in 0.1_f64..1000.0,
            samples in prop::collection::vec((0_u64..300, 0_u32..2), 0..200),
        ) {
            let mut governor = Governor::new(asked);
            for (millis, unanswered) in samples {
                let sample = LagSample { late: Duration::from_millis(millis), unanswered };
                if let Some(speed) = governor.take(sample) {
                    prop_assert!((REAL.min(asked)..=asked).contains(&speed), "{}", speed);
                }
            }
        }
    }
}
