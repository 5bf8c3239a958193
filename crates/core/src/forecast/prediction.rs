//! A forecast: means and intervals by step, and quantiles of the largest value.

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
pub struct Step {
    /// The expected value, in the unit of the load.
    pub mean: f64,
    /// The interval that holds 80 % of the values that come.
    pub interval80: Interval,
    /// The interval that holds 95 % of the values that come.
    pub interval95: Interval,
}

/// A value that is not exceeded with a stated probability, in the unit of the load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Quantile {
    /// Above 0 and below 1.
    pub probability: f64,
    /// Finite and not negative.
    pub value: f64,
}

/// A forecast of consecutive steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The time of the last step of the grid that was known; the first forecast is one step later.
    pub origin: Timestamp,
    /// The distance of the steps.
    pub step: SignedDuration,
    /// All steps asked for, the nearest first.
    pub steps: Vec<Step>,
    /// Quantiles of the largest value of all steps together, which lie above the quantiles of each
    /// step; by rising probability. Empty where the model knows its steps only one by one.
    pub largest: Vec<Quantile>,
    /// The number of means that were below zero or not finite and were replaced.
    pub clamped: usize,
}

impl Forecast {
    /// The first step at or after `time`; `None` where the forecast does not reach, and where
    /// `time` is not after its origin.
    #[must_use]
    pub fn at(&self, time: Timestamp) -> Option<&Step> {
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

    /// The value that the largest of all steps does not exceed with `probability`, from the nearest
    /// quantile at or above it; `None` beyond the highest quantile that is known.
    ///
    /// Without [`Self::largest`] it is the largest of the steps' own quantiles (of their means and
    /// upper bounds), which the true one is not below.
    #[must_use]
    pub fn largest_at(&self, probability: f64) -> Option<f64> {
        let known = |quantile: &&Quantile| quantile.probability >= probability;
        if !self.largest.is_empty() {
            return Some(self.largest.iter().find(known)?.value);
        }
        let of_step: fn(&Step) -> f64 = match probability {
            ..=0.5 => |step| step.mean,
            ..=0.9 => |step| step.interval80.upper,
            ..=0.975 => |step| step.interval95.upper,
            _ => return None,
        };
        self.steps.iter().map(of_step).max_by(f64::total_cmp)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast() -> Forecast {
        let steps = (1..=3).map(|mean| Step {
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
            largest: Vec::new(),
            clamped: 0,
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

    #[test]
    fn the_largest_value_is_known_as_far_as_the_model_knows_it() {
        let mut forecast = forecast();
        let quantiles = [0.2, 0.5, 0.9, 0.95, 0.975, 0.99];
        let steps_alone = [3.0, 3.0, 5.0, 9.0, 9.0].map(Some);
        let found = quantiles.map(|probability| forecast.largest_at(probability));
        assert_eq!(found[..5], steps_alone);
        assert_eq!(found[5], None);
        let quantile = |probability, value| Quantile { probability, value };
        forecast.largest = vec![quantile(0.5, 4.0), quantile(0.9, 6.5)];
        let found = quantiles.map(|probability| forecast.largest_at(probability));
        let together = [Some(4.0), Some(4.0), Some(6.5), None, None, None];
        assert_eq!(found, together);
    }
}
