//! A backtest: a model goes through a past load origin by origin and is judged by what came after.
//! The first 70 % of the values (rounded down) are for training. Origins are the last value of
//! training and every later one but the last. At each, the model forecasts up to the longest
//! horizon; a horizon counts the origins whose forecasts end within the load. Parameters are
//! estimated at the first origin and every 250 after it, on the values known there; hours ahead
//! every 24, on the newest eight days. Nothing is scaled, smoothed or left out.

mod averages;
mod score;

pub use averages::Averages;
pub use score::Score;

use std::num::NonZeroUsize;

use jiff::{SignedDuration, Timestamp};
use score::Tally;

use super::context::{ForecastContext, ModelAssets};
use super::historical_load::Recording;
use super::hours_ahead::fitted_anew;
use super::load_ring_buffer::LoadHighs;
use super::models::ModelSet;
use super::not_ready::NotReady;
use super::prediction::Forecast;
use super::scored_model::ScoredModel;
use super::series::RegularSeries;

/// Origins from one estimation of parameters to the next.
pub const REFIT: usize = 250;
/// The same hours ahead, where a model is fitted anew each time: four hours.
const REFIT_HOURS_AHEAD: usize = 24;

/// A load that no backtest can be made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BacktestError {
    /// There is nothing to judge at the horizon.
    #[error("{have} values are not accepted: horizon {horizon} needs at least {need}")]
    TooShort {
        have: usize,
        need: usize,
        horizon: NonZeroUsize,
    },
    /// The time is not the one that the distance of the first two implies.
    #[error(
        "a value at {at:#} is not accepted: the first two values are {step:#} apart, so the next \
         must be at {expected:#}"
    )]
    Irregular {
        at: Timestamp,
        expected: Timestamp,
        step: SignedDuration,
    },
    /// The first two values do not follow one another.
    #[error("two values at {0:#} are not accepted: times must increase")]
    NoStep(Timestamp),
    #[error("the value at {0:#} is not accepted: it is not finite")]
    NotFinite(Timestamp),
}

/// A load on a regular grid without gaps, with a part for training and one for judging.
#[derive(Debug, Clone, PartialEq)]
pub struct BacktestLoad {
    start: Timestamp,
    step: SignedDuration,
    values: Vec<f64>,
}

impl BacktestLoad {
    /// Judged up to `horizon`. The first two samples give the step.
    ///
    /// # Errors
    /// [`BacktestError`]: the samples are irregular, not finite, or too few for the horizon.
    pub fn new(samples: &[(Timestamp, f64)], horizon: NonZeroUsize) -> Result<Self, BacktestError> {
        let have = samples.len();
        let judged = have - training(have);
        let (&[(start, _), (second, _), ..], true) = (samples, judged >= horizon.get()) else {
            let need = (2..=4 * horizon.get()).find(|&all| all - training(all) >= horizon.get());
            return Err(BacktestError::TooShort {
                have,
                need: need.unwrap_or(usize::MAX),
                horizon,
            });
        };
        let step = second.duration_since(start);
        if !step.is_positive() {
            return Err(BacktestError::NoStep(start));
        }
        let mut expected = start;
        for &(at, value) in samples {
            if at != expected {
                return Err(BacktestError::Irregular { at, expected, step });
            }
            if !value.is_finite() {
                return Err(BacktestError::NotFinite(at));
            }
            expected = at.saturating_add(step).unwrap_or(Timestamp::MAX);
        }
        Ok(Self {
            start,
            step,
            values: samples.iter().map(|&(_, value)| value).collect(),
        })
    }

    pub const fn step(&self) -> SignedDuration {
        self.step
    }

    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub fn training(&self) -> usize {
        training(self.values.len())
    }

    pub fn origins(&self) -> usize {
        self.values.len() - self.training()
    }

    pub fn time(&self, index: usize) -> Timestamp {
        let steps = i32::try_from(index).unwrap_or(i32::MAX);
        let since = self.step.checked_mul(steps).unwrap_or(SignedDuration::MAX);
        self.start.saturating_add(since).unwrap_or(Timestamp::MAX)
    }

    /// The scale of MASE: the mean absolute change between consecutive values in training.
    fn scale(&self) -> f64 {
        let training = &self.values[..self.training()];
        let changes = training.windows(2).map(|pair| (pair[1] - pair[0]).abs());
        score::mean(changes)
    }
}

const fn training(all: usize) -> usize {
    7 * all / 10
}

/// One model going through a load.
#[derive(Debug)]
pub struct BacktestRun<'a> {
    load: &'a BacktestLoad,
    shared: &'a ModelAssets,
    model: ScoredModel,
    longest: NonZeroUsize,
    /// Fitted anew each time on the newest values, as [`hours_ahead`](crate::hours_ahead) is.
    is_hours_ahead: bool,
    /// Values that the model has observed.
    told: usize,
    tallies: Vec<Tally>,
}

impl<'a> BacktestRun<'a> {
    /// A model that has seen nothing, judged at these horizons. Interval widths and weights of a
    /// blend are learnt up to the longest.
    pub fn new(
        load: &'a BacktestLoad,
        models: ModelSet,
        horizons: &[NonZeroUsize],
        shared: &'a ModelAssets,
    ) -> Self {
        let longest = horizons.iter().max().copied().unwrap_or(NonZeroUsize::MIN);
        Self {
            load,
            shared,
            model: ScoredModel::new(models, longest),
            longest,
            is_hours_ahead: false,
            told: 0,
            tallies: horizons.iter().copied().map(Tally::new).collect(),
        }
    }

    /// Judges the model as it is hours ahead: fitted anew every four hours on the newest eight days.
    pub const fn hours_ahead(mut self) -> Self {
        self.is_hours_ahead = true;
        self
    }

    /// Observes the next value; false, and nothing done, where no origin is left.
    pub fn observe(&mut self) -> bool {
        if self.told + 1 >= self.load.values.len() {
            return false;
        }
        self.told += 1;
        let past = past(self.load, self.told);
        let context = context(self.load, self.told, &past, self.shared);
        let value = past.values().last().copied();
        self.model.observe(value, &context);
        true
    }

    /// The newest value is one to forecast from.
    pub fn is_origin(&self) -> bool {
        self.told >= self.load.training().max(1)
    }

    /// Parameters are to be estimated before the forecast.
    pub fn is_fit_due(&self) -> bool {
        let every = if self.is_hours_ahead {
            REFIT_HOURS_AHEAD
        } else {
            REFIT
        };
        self.is_origin() && (self.told - self.load.training().max(1)).is_multiple_of(every)
    }

    /// Estimates the parameters on all known values, or hours ahead on the newest.
    pub fn fit(&mut self) {
        let past = past(self.load, self.told);
        let context = context(self.load, self.told, &past, self.shared);
        let older = if self.is_hours_ahead {
            self.told.saturating_sub(LoadHighs::STEPS)
        } else {
            0
        };
        let values = past.values()[older..].iter().copied().map(Some).collect();
        let series = RegularSeries::new(self.load.time(older), self.load.step, values);
        let series = series.expect("the whole load is on such a grid");
        // If the model lacks history, its forecast reports that.
        if !self.is_hours_ahead {
            let _ = self.model.fit(&series, &context);
        } else if let Ok(model) = fitted_anew(self.model.set(), self.longest, &series, &context) {
            self.model = model;
        }
    }

    /// Forecasts from the newest value, and judges the forecast.
    ///
    /// # Errors
    /// [`NotReady`]: the history is too short for the model, and nothing is judged.
    pub fn forecast(&mut self) -> Result<Forecast, NotReady> {
        let past = past(self.load, self.told);
        let context = context(self.load, self.told, &past, self.shared);
        let steps = self.tallies.iter().map(Tally::horizon).max().unwrap_or(1);
        let request = self.model.request(steps, context);
        let answer = request.model.forecast(request.horizon, &request.context);
        let forecast = self.model.select(answer, self.load.step).forecast?;
        for tally in &mut self.tallies {
            let coming = self.load.values.get(self.told + tally.horizon() - 1);
            if let (Some(&actual), Some(&naive)) = (coming, past.values().last()) {
                tally.add(actual, naive, &forecast);
            }
        }
        Ok(forecast)
    }

    /// `None` for a model without an estimation.
    pub fn summary(&self) -> Option<String> {
        self.model.summary()
    }

    /// The share of all values that the model has observed.
    pub fn progress(&self) -> f64 {
        evenkeel_units::count_as_f64(self.told)
            / evenkeel_units::count_as_f64(self.load.values.len())
    }

    pub const fn origin(&self) -> usize {
        self.told.saturating_sub(1)
    }

    /// One for each horizon with a judged forecast.
    pub fn scores(&self) -> Vec<Score> {
        let scale = self.load.scale();
        let scores = self.tallies.iter().map(|tally| tally.score(scale));
        scores.flatten().collect()
    }
}

/// The first `told` values of a load.
fn past(load: &BacktestLoad, told: usize) -> Recording<'_> {
    Recording::new(load.start, load.step, &load.values[..told])
}

fn context<'a>(
    load: &BacktestLoad,
    told: usize,
    past: &'a Recording<'_>,
    shared: &'a ModelAssets,
) -> ForecastContext<'a> {
    ForecastContext {
        history: past,
        origin: load.time(told.saturating_sub(1)),
        step: load.step,
        shared,
    }
}

#[cfg(test)]
mod tests;
