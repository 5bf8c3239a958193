//! `seasonal-naive` over a day, without a memory of its own: the past is asked for what was.
//!
//! A day in steps of 15 s would be 5,760 values a series. Whoever keeps the past has it on a
//! coarser grid already, and tells what the load was at any time of it. Such a forecast does not
//! rest on the last observation, so a missing one takes nothing from it.

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};

use super::interval::Widths;
use super::{Forecast, Lacking};

/// The season.
pub const DAY: SignedDuration = SignedDuration::from_hours(24);

/// Whoever knows what the load was.
pub trait Past {
    /// The load at a time; `None` where it is not known.
    fn at(&self, time: Timestamp) -> Option<f64>;

    /// The first time from `time` on of which the load is known.
    fn known_from(&self, time: Timestamp) -> Option<Timestamp>;
}

/// `seasonal-naive`: every step will be as it was at the same time of the day before.
#[derive(Debug, Clone)]
pub struct Yesterday {
    widths: Widths,
    grid: Option<(Timestamp, SignedDuration)>,
}

impl Yesterday {
    /// The name in annotations, conditions and tables.
    pub const NAME: &'static str = "seasonal-naive";

    /// Learns its errors `horizon` steps ahead, and below that as [`super::Rolling::towards`] does.
    #[must_use]
    pub fn towards(horizon: NonZeroUsize) -> Self {
        Self {
            widths: Widths::towards(horizon),
            grid: None,
        }
    }

    /// Takes the observation of the step `at` of a grid, `None` for a missing one. Steps follow one
    /// another.
    pub fn update(
        &mut self,
        (at, step): (Timestamp, SignedDuration),
        observation: Option<f64>,
        past: &dyn Past,
    ) {
        self.grid = Some((at, step));
        if let Some(value) = observation {
            self.widths.score(value);
        }
        let mut known = true;
        self.widths.issue(|means| {
            for (mean, ahead) in means.iter_mut().zip(1..) {
                let value = before(at, step, ahead).and_then(|time| past.at(time));
                known &= value.is_some();
                *mean = value.unwrap_or(0.0);
            }
        });
        if !known {
            self.widths.restart();
        }
    }

    /// The next `horizon` steps.
    ///
    /// # Errors
    /// [`Lacking`] while the same steps of the day before, or their errors, are not known.
    pub fn forecast(&self, horizon: usize, past: &dyn Past) -> Result<Forecast, Lacking> {
        let lacking = || self.lacking(past);
        let (origin, step) = self.grid.ok_or_else(lacking)?;
        let steps = (1_u32..).take(horizon).map(|ahead| {
            let mean = past.at(before(origin, step, ahead)?)?;
            self.widths.step(mean, usize::try_from(ahead).ok()?)
        });
        Ok(Forecast {
            origin,
            step,
            steps: steps.collect::<Option<_>>().ok_or_else(lacking)?,
            clamped: 0,
        })
    }

    /// The memory of the intervals, in bytes.
    pub(super) fn heap_bytes(&self) -> usize {
        self.widths.heap_bytes()
    }

    fn lacking(&self, past: &dyn Past) -> Lacking {
        let first = self.grid.and_then(|(at, step)| before(at, step, 1));
        let known = first.and_then(|time| Some((time, past.known_from(time)?)));
        let (_, step) = self.grid.unwrap_or_default();
        // One step more, since an interval takes one error.
        let wait = known.map_or(DAY, |(first, known)| known.duration_since(first));
        Lacking {
            model: Self::NAME,
            ready_in: wait.saturating_add(step).min(DAY),
        }
    }
}

/// The time one season before the step `ahead` of `at`.
fn before(at: Timestamp, step: SignedDuration, ahead: u32) -> Option<Timestamp> {
    let ahead = step.checked_mul(i32::try_from(ahead).ok()?)?;
    at.checked_add(ahead).ok()?.checked_sub(DAY).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: SignedDuration = SignedDuration::from_secs(15);

    /// Knows seconds from a time on, and each load is the second.
    struct Since(i64);

    impl Past for Since {
        fn at(&self, time: Timestamp) -> Option<f64> {
            let second = u32::try_from(time.as_second()).ok()?;
            (i64::from(second) >= self.0).then(|| f64::from(second))
        }

        fn known_from(&self, time: Timestamp) -> Option<Timestamp> {
            Timestamp::from_second(self.0.max(time.as_second())).ok()
        }
    }

    fn after(seconds: i64) -> Timestamp {
        Timestamp::from_second(86_400 + seconds).unwrap()
    }

    #[test]
    fn a_day_repeats_and_its_errors_are_its_interval() {
        let mut model = Yesterday::towards(NonZeroUsize::new(4).unwrap());
        for slot in 0..50_u32 {
            let at = i64::from(slot) * 15;
            model.update((after(at), STEP), Some(f64::from(slot * 15 + 7)), &Since(0));
        }
        let forecast = model.forecast(6, &Since(0)).unwrap();
        assert_eq!(forecast.origin, after(49 * 15));
        for (step, second) in forecast.steps.iter().zip([750.0, 765.0, 780.0, 795.0]) {
            assert!((step.mean - second).abs() < 1e-9);
            assert!(step.interval80.contains(second + 7.0) && step.interval95.lower >= 0.0);
        }
    }

    #[test]
    fn without_a_day_it_says_when_there_will_be_one() {
        let mut model = Yesterday::towards(NonZeroUsize::new(4).unwrap());
        let lacking = model.forecast(4, &Since(600)).unwrap_err();
        assert_eq!(lacking.to_string(), "seasonal-naive ready in 24 h");
        model.update((after(0), STEP), Some(1.0), &Since(600));
        let lacking = model.forecast(4, &Since(600)).unwrap_err();
        assert_eq!(lacking.to_string(), "seasonal-naive ready in 10 min");
        for slot in 1..45 {
            model.update((after(slot * 15), STEP), Some(1.0), &Since(600));
        }
        assert!(model.forecast(4, &Since(600)).is_ok());
    }
}
