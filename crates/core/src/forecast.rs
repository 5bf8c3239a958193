//! What a load will be: models that are fitted on a series, follow it one observation at a time,
//! and answer a horizon with means and intervals.
//!
//! Pure computation: no I/O, no clock, no randomness; the same observations give the same forecast
//! to the last bit. A model only gives point forecasts ([`PointModel`]); what all have in common
//! (gaps, bounds, intervals) is in [`Rolling`], so that every model obeys the same rules.

mod accuracy;
mod baseline;
mod interval;
mod lacking;
mod rolling;
mod season;
mod select;
mod series;
mod smoothing;

pub use accuracy::{Accuracy, Distrust, Scorecard, Trust};
pub use baseline::{Naive, SeasonalNaive};
pub use lacking::Lacking;
pub use rolling::Rolling;
pub use season::{DAY, Past, Yesterday};
pub use select::{Candidates, Models, Selected};
pub use series::{Series, SeriesError, Usable};
pub use smoothing::{
    AdaptiveAlpha, Alpha, AlphaError, Brown, Coefficients, SHpa, Tes, Variant, window_forecast,
};

use jiff::{SignedDuration, Timestamp};

/// A model that can say what comes next, with how sure it is.
pub trait Forecaster: Send {
    /// The name in annotations, conditions and tables.
    fn name(&self) -> &'static str;

    /// Forgets what it knew and learns `series`, gaps handled as [`Series`] says.
    ///
    /// # Errors
    /// [`NotEnoughHistory`] when a forecast is not possible yet. What there was is learnt all the
    /// same, and updates may bring the rest.
    fn fit(&mut self, series: &Series) -> Result<(), NotEnoughHistory>;

    /// Takes the observation of the next step of the grid; `None` for a missing one.
    fn update(&mut self, observation: Option<f64>);

    /// The next `horizon` steps.
    ///
    /// # Errors
    /// [`NotEnoughHistory`] when the model has not seen enough since its start or the last gap.
    fn forecast(&self, horizon: usize) -> Result<Forecast, NotEnoughHistory>;
}

/// The point forecasts of one family of models, on a series without gaps.
pub trait PointModel: Send {
    /// The name in annotations, conditions and tables.
    const NAME: &'static str;

    /// How many observations it needs before it can forecast.
    fn need(&self) -> usize;

    /// Takes the next observation.
    fn observe(&mut self, value: f64);

    /// Forgets all observations.
    fn restart(&mut self);

    /// Fills `means` with the forecasts of the next steps, neither bounded nor checked; called only
    /// once [`Self::need`] observations have been seen.
    fn predict(&self, means: &mut [f64]);
}

/// A model that lacks observations.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{have} samples without a gap of 3 or more steps, and {need} are needed")]
pub struct NotEnoughHistory {
    /// How many observations without a gap that is not filled are needed.
    pub need: usize,
    /// How many there are.
    pub have: usize,
}

impl NotEnoughHistory {
    /// The kind of error, for conditions, Events and metrics.
    #[must_use]
    pub const fn reason(&self) -> &'static str {
        "NotEnoughHistory"
    }
}

/// Where a value will lie, with the probability that the interval was asked for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Interval {
    /// The lower bound, at least 0.
    pub lower: f64,
    /// The upper bound, finite.
    pub upper: f64,
}

impl Interval {
    /// Whether `value` lies inside, the bounds included.
    #[must_use]
    pub fn contains(self, value: f64) -> bool {
        self.lower <= value && value <= self.upper
    }
}

/// The forecast of one step: finite and not negative.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Step {
    /// The expected value.
    pub mean: f64,
    /// The interval that holds 80 % of what comes.
    pub interval80: Interval,
    /// The interval that holds 95 % of what comes.
    pub interval95: Interval,
}

/// A forecast of consecutive steps.
#[derive(Debug, Clone, PartialEq)]
pub struct Forecast {
    /// The time of the last step of the grid that was known; the first forecast is one step later.
    pub origin: Timestamp,
    /// The distance of the steps.
    pub step: SignedDuration,
    /// The steps.
    pub steps: Vec<Step>,
    /// How many means the model had below zero or not finite; they were replaced.
    pub clamped: usize,
}

impl Forecast {
    /// The first step at or after `time`; `None` where the forecast does not reach, and where
    /// `time` is not after its origin.
    #[must_use]
    pub fn at(&self, time: Timestamp) -> Option<&Step> {
        self.steps.get(self.index(time)?)
    }

    /// The place of that step in [`Self::steps`], which may be beyond their end.
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
}
