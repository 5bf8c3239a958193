//! The figures of one horizon.

use std::num::NonZeroUsize;

use evenkeel_units::count_as_f64;
use serde::Serialize;

use crate::prediction::Forecast;

/// Errors and coverage over all origins of one horizon, e = actual − forecast. Forecasts are the
/// model's own, below zero too, where the name does not say otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Score {
    /// Steps ahead.
    pub horizon: NonZeroUsize,
    pub forecasts: usize,
    /// Mean of |e|, `[CLBP] (3.13)`.
    pub mae: f64,
    /// MAE of forecasts that are held at 0 where they are below it, as everything that acts on them
    /// does.
    pub mae_clipped: f64,
    /// Root of the mean of e², `[CLBP] (3.15)`.
    pub rmse: f64,
    /// Mean of forecast − actual.
    pub bias: f64,
    /// 100 × the mean of |e| / |actual|, `[CLBP] (3.14)`, over actual values other than 0; `None`
    /// where there are none.
    pub mape: Option<f64>,
    /// 100 × the mean of 2 |e| / (|actual| + |forecast|); where both are 0 the term is 0.
    pub smape: f64,
    /// 100 × the sum of |e| over that of |actual|; `None` where that is 0.
    pub wape: Option<f64>,
    /// MAE over the mean change from one value to the next in training (`[MASE]`); `None` where
    /// nothing changes there.
    pub mase: Option<f64>,
    /// Share of actual values inside the 80 % interval.
    pub coverage80: f64,
    /// As `coverage80`, of the 95 % interval.
    pub coverage95: f64,
    /// MAE of the last value as the forecast, over the same origins.
    #[serde(skip)]
    pub naive_mae: f64,
    #[serde(skip)]
    pub naive_rmse: f64,
}

#[derive(Debug, Clone)]
pub(super) struct Tally {
    horizon: NonZeroUsize,
    forecasts: usize,
    /// Actual values other than 0.
    relative: usize,
    sums: HorizonErrorSums,
}

#[derive(Debug, Clone, Default)]
struct HorizonErrorSums {
    absolute: f64,
    clipped: f64,
    squared: f64,
    over: f64,
    relative: f64,
    symmetric: f64,
    actual: f64,
    inside80: f64,
    inside95: f64,
    naive: f64,
    naive_squared: f64,
}

impl Tally {
    pub(super) fn new(horizon: NonZeroUsize) -> Self {
        Self {
            horizon,
            forecasts: 0,
            relative: 0,
            sums: HorizonErrorSums::default(),
        }
    }

    pub(super) const fn horizon(&self) -> usize {
        self.horizon.get()
    }

    /// Judges the step of this horizon against `actual`, beside the last value `naive`.
    pub(super) fn add(&mut self, actual: f64, naive: f64, forecast: &Forecast) {
        let index = self.horizon() - 1;
        let told = forecast.steps.get(index).zip(forecast.unbounded(index));
        let Some((step, mean)) = told else { return };
        let sums = &mut self.sums;
        let error = (actual - mean).abs();
        self.forecasts += 1;
        sums.absolute += error;
        sums.clipped += (actual - step.mean).abs();
        sums.squared += error * error;
        sums.over += mean - actual;
        if actual != 0.0 {
            self.relative += 1;
            sums.relative += error / actual.abs();
        }
        let size = actual.abs() + mean.abs();
        if size > 0.0 {
            sums.symmetric += 2.0 * error / size;
        }
        sums.actual += actual.abs();
        sums.inside80 += share(step.interval80.contains(actual));
        sums.inside95 += share(step.interval95.contains(actual));
        sums.naive += (actual - naive).abs();
        sums.naive_squared += (actual - naive) * (actual - naive);
    }

    /// `scale` is that of MASE; `None` before the first forecast.
    pub(super) fn score(&self, scale: f64) -> Option<Score> {
        let Self {
            horizon,
            forecasts,
            relative,
            ref sums,
        } = *self;
        let all = (forecasts > 0).then(|| count_as_f64(forecasts))?;
        let mae = sums.absolute / all;
        Some(Score {
            horizon,
            forecasts,
            mae,
            mae_clipped: sums.clipped / all,
            rmse: (sums.squared / all).sqrt(),
            bias: sums.over / all,
            mape: (relative > 0).then(|| 100.0 * sums.relative / count_as_f64(relative)),
            smape: 100.0 * sums.symmetric / all,
            wape: (sums.actual > 0.0).then(|| 100.0 * sums.absolute / sums.actual),
            mase: (scale > 0.0).then(|| mae / scale),
            coverage80: sums.inside80 / all,
            coverage95: sums.inside95 / all,
            naive_mae: sums.naive / all,
            naive_rmse: (sums.naive_squared / all).sqrt(),
        })
    }
}

const fn share(inside: bool) -> f64 {
    if inside { 1.0 } else { 0.0 }
}

/// 0 of no values.
pub(super) fn mean(values: impl Iterator<Item = f64>) -> f64 {
    let (mut sum, mut count) = (0.0, 0_usize);
    for value in values {
        sum += value;
        count += 1;
    }
    sum / count_as_f64(count.max(1))
}
