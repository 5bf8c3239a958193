//! The protocol of backtests against an independent program.

use std::num::NonZeroUsize;

use evenkeel_forecast::backtest::{BacktestLoad, BacktestRun, Score};
use evenkeel_forecast::{ModelAssets, ModelSet};
use serde::Deserialize;

use super::traces;

#[derive(Deserialize)]
struct Expected {
    series: String,
    model: String,
    horizon: NonZeroUsize,
    forecasts: usize,
    mae: f64,
    rmse: f64,
    mape: f64,
    smape: f64,
    mase: f64,
}

fn scores(series: &str, model: ModelSet, horizons: &[NonZeroUsize]) -> Vec<Score> {
    let samples = traces::samples(series).unwrap_or_else(|| panic!("{series} is there"));
    let load = BacktestLoad::new(&samples, *horizons.last().expect("a horizon")).expect(series);
    let shared = ModelAssets::default();
    let mut run = BacktestRun::new(&load, model, horizons, &shared);
    while run.observe() {
        if run.is_origin() {
            run.forecast().expect(series);
        }
    }
    run.scores()
}

#[test]
fn the_baselines_have_the_figures_of_an_independent_program() {
    let expected = include_str!("../../../../tests/fixtures/traces/expected.json");
    let expected: Vec<Expected> = serde_json::from_str(expected).expect("the file is JSON");
    assert_eq!(expected.len(), 15 * 2 * 2);
    for of_model in expected.chunk_by(|a, b| (&a.series, &a.model) == (&b.series, &b.model)) {
        let horizons: Vec<_> = of_model.iter().map(|one| one.horizon).collect();
        let model = of_model[0].model.parse().expect("a model");
        let found = scores(&of_model[0].series, model, &horizons);
        for (found, expected) in found.iter().zip(of_model) {
            let what = format!("{model} on {} at {}", expected.series, expected.horizon);
            assert_eq!(found.forecasts, expected.forecasts, "{what}");
            for (name, found, expected) in [
                ("MAE", Some(found.mae), expected.mae),
                ("RMSE", Some(found.rmse), expected.rmse),
                ("MAPE", found.mape, expected.mape),
                ("sMAPE", Some(found.smape), expected.smape),
                ("MASE", found.mase, expected.mase),
            ] {
                let found = found.unwrap_or(f64::NAN);
                // The printed figures were rounded.
                assert!(
                    (found - expected).abs() <= 0.6e-6 + 1e-9 * expected,
                    "{what}: {name} {found}, expected {expected}"
                );
            }
        }
        assert_eq!(found.len(), of_model.len());
    }
}
