//! Means over series of the figures of one model at one horizon.

use evenkeel_units::count_as_f64;
use serde::Serialize;

use super::score::{Score, mean};

/// The geometric mean of ratios to the errors of the last value is what counts: errors of series
/// differ in unit and size, and no series dominates it.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Averages {
    pub series: usize,
    pub mase_mean: Option<f64>,
    pub mase_median: Option<f64>,
    /// Geometric mean of MAE / that of the last value. Series on which the last value is always
    /// right are left out; `None` if all are.
    pub mae_vs_naive_geomean: Option<f64>,
    /// The same of forecasts held at 0.
    pub mae_clipped_vs_naive_geomean: Option<f64>,
    /// The same of the RMSE.
    pub rmse_vs_naive_geomean: Option<f64>,
    pub mape_mean: Option<f64>,
    pub mape_median: Option<f64>,
    pub smape_mean: f64,
    pub smape_median: f64,
    /// Share of all values of all series inside the 80 % interval.
    pub coverage80: f64,
    /// As `coverage80`, of the 95 % interval.
    pub coverage95: f64,
    /// Series on which the MAE is below that of the last value.
    pub better_than_naive: usize,
    /// The largest MAE / that of the last value.
    pub mae_vs_naive_worst: Option<f64>,
}

impl Averages {
    /// `None` of no scores.
    pub fn of(scores: &[Score]) -> Option<Self> {
        if scores.is_empty() {
            return None;
        }
        let known = |of: fn(&Score) -> Option<f64>| scores.iter().filter_map(of).collect();
        let scaled: Vec<f64> = known(|one| one.mase);
        let relative: Vec<f64> = known(|one| one.mape);
        let smape: Vec<f64> = scores.iter().map(|one| one.smape).collect();
        let ratios = |of: fn(&Score) -> [f64; 2]| {
            let ratios = scores.iter().map(of).filter(|[_, naive]| *naive > 0.0);
            ratios.map(|[own, naive]| own / naive).collect::<Vec<_>>()
        };
        let errors = ratios(|one| [one.mae, one.naive_mae]);
        let pooled = |of: fn(&Score) -> f64| {
            let weight = |one: &Score| count_as_f64(one.forecasts);
            let inside: f64 = scores.iter().map(|one| of(one) * weight(one)).sum();
            inside / scores.iter().map(weight).sum::<f64>()
        };
        Some(Self {
            series: scores.len(),
            mase_mean: (!scaled.is_empty()).then(|| mean(scaled.iter().copied())),
            mase_median: median(scaled),
            mae_vs_naive_geomean: geometric_mean(&errors),
            mae_clipped_vs_naive_geomean: geometric_mean(&ratios(|one| {
                [one.mae_clipped, one.naive_mae]
            })),
            rmse_vs_naive_geomean: geometric_mean(&ratios(|one| [one.rmse, one.naive_rmse])),
            mape_mean: (!relative.is_empty()).then(|| mean(relative.iter().copied())),
            mape_median: median(relative),
            smape_mean: mean(smape.iter().copied()),
            smape_median: median(smape).unwrap_or_default(),
            coverage80: pooled(|one| one.coverage80),
            coverage95: pooled(|one| one.coverage95),
            better_than_naive: scores.iter().filter(|one| one.mae < one.naive_mae).count(),
            mae_vs_naive_worst: errors.into_iter().reduce(f64::max),
        })
    }
}

fn geometric_mean(ratios: &[f64]) -> Option<f64> {
    let logarithms = ratios.iter().map(|ratio| ratio.ln());
    (!ratios.is_empty()).then(|| mean(logarithms).exp())
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_unstable_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}
