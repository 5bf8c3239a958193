//! A forecast: means and intervals by step.

use jiff::{SignedDuration, Timestamp};

/// A range that a value lies in with a stated probability, in the unit of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound, at least 0.
    pub lower: f64,
    /// The upper bound, which is finite.
    pub upper: f64,
}

impl Interval {
    /// True where `value` lies inside, the bounds included.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// The forecast of one step: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastStep {
    /// The expected value, in the unit of the load.
    pub mean: f64,
    /// The interval that holds 80 % of the values that come.
    pub interval80: Interval,
    /// The interval that holds 95 % of the values that come.
    pub interval95: Interval,
}

/// A forecast of consecutive steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The time of the last step of the grid that was known; the first forecast is one step later.
    pub origin: Timestamp,
    /// The distance of the steps.
    pub step: SignedDuration,
    /// All steps asked for, the nearest first.
    pub steps: Vec<ForecastStep>,
    /// The number of means that were below zero or not finite and were replaced.
    pub clamped: usize,
    /// All means as they were before any was clamped at 0; empty where none was.
    pub unbounded: Box<[f64]>,
}

impl Forecast {
    /// The mean of the step `index` as the model gave it, below zero too; `None` where the forecast does not
    /// reach.
    #[must_use]
    pub fn unbounded(&self, index: usize) -> Option<f64> {
        let bounded = self.steps.get(index)?.mean;
        Some(self.unbounded.get(index).copied().unwrap_or(bounded))
    }

    /// The first step at or after `time`; `None` where the forecast does not reach, and where
    /// `time` is not after its origin.
    #[must_use]
    pub fn at(&self, time: Timestamp) -> Option<&ForecastStep> {
        self.steps.get(self.index(time)?)
    }

    /// The index of that step in [`Self::steps`], which may be beyond their end.
    #[must_use]
    pub fn index(&self, time: Timestamp) -> Option<usize> {
        let ahead = time.duration_since(self.origin).as_millis();
        let step = self.step.as_millis();
        if ahead <= 0 || step <= 0 {
            return None;
        }
        usize::try_from((ahead - 1) / step).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> Forecast {
        let steps = (1..=3).map(|mean| ForecastStep {
            mean: f64::from(mean),
            interval80: Interval {
                lower: 0.0,
                upper: 5.0,
            },
            interval95: Interval {
                lower: 0.0,
                upper: 9.0,
            },
        });
        Forecast {
            origin: Timestamp::UNIX_EPOCH,
            step: SignedDuration::from_secs(15),
            steps: steps.collect(),
            clamped: 0,
            unbounded: Box::default(),
        }
    }

    #[test]
    fn a_time_between_two_steps_takes_the_later() {
        for (second, mean) in [
            (-15, None),
            (0, None),
            (1, Some(1.0)),
            (15, Some(1.0)),
            (16, Some(2.0)),
            (45, Some(3.0)),
            (46, None),
        ] {
            let time = Timestamp::from_second(second).unwrap();
            let found = forecast().at(time).map(|step| step.mean);
            assert_eq!(found, mean, "{second}");
        }
    }
}
