//! A forecast: means and intervals by step.

use jiff::{SignedDuration, Timestamp};

/// A range of stated probability, in the unit of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// At least 0.
    pub lower: f64,
    /// Finite.
    pub upper: f64,
}

impl Interval {
    /// Bounds are inside.
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// Finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ForecastStep {
    /// In the unit of the load.
    pub mean: f64,
    /// Holds 80 % of the values that come.
    pub interval80: Interval,
    /// Holds 95 % of the values that come.
    pub interval95: Interval,
}

/// A forecast of consecutive steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The last known step of the grid; the first forecast is one step later.
    pub origin: Timestamp,
    pub step: SignedDuration,
    /// The nearest first.
    pub steps: Vec<ForecastStep>,
    /// Means that were below zero or not finite and were replaced.
    pub clamped: usize,
    /// Means before they were clamped at 0; empty if none was.
    pub unbounded: Box<[f64]>,
}

impl Forecast {
    /// The model's own mean of the step `index`, below zero too; `None` beyond the forecast.
    pub fn unbounded(&self, index: usize) -> Option<f64> {
        let bounded = self.steps.get(index)?.mean;
        Some(self.unbounded.get(index).copied().unwrap_or(bounded))
    }

    /// The first step at or after `time`; `None` beyond the forecast, and if `time` is not after
    /// its origin.
    pub fn at(&self, time: Timestamp) -> Option<&ForecastStep> {
        self.steps.get(self.index(time)?)
    }

    /// Index in [`Self::steps`] of that step; may be beyond their end.
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
