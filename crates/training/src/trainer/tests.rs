//! Trees for steps: medians, the same on any number of threads, and their effect in `gbdt` and
//! `auto`.

use std::sync::Arc;

use evenkeel_forecast::backtest::{BacktestLoad, BacktestRun, Score};
use evenkeel_forecast::{MISSING, ModelAssets, ModelSet};
use evenkeel_units::random::RandomSource;

use super::*;

fn threads(count: usize) -> ModelTrainer {
    ModelTrainer::with(NonZeroUsize::new(count).unwrap())
}

/// Labels are uniform noise cubed, plus 1 if the first input is above 0.
fn rows(count: u16) -> Vec<TreeRow> {
    let random = RandomSource::new(5);
    let row = |step: u16| {
        let mut inputs = [MISSING; 2];
        let is_high = step.is_multiple_of(3);
        inputs[0] = if is_high { 1000 } else { -1000 };
        inputs[1] = i16::try_from(step).unwrap();
        let noise = random.unit(u64::from(step)).powi(3);
        #[expect(clippy::cast_possible_truncation, reason = "a number below two")]
        let label = (noise + if is_high { 1.0 } else { 0.0 }) as f32;
        TreeRow {
            inputs: inputs.into(),
            label,
        }
    };
    (0..count).map(row).collect()
}

#[test]
fn answers_are_medians_and_not_means() {
    let trees = threads(1).medians(&rows(4000)).unwrap();
    // The median of u³ is 0.125, its mean 0.25.
    for (first, expected) in [(-1000, 0.125), (1000, 1.125)] {
        let mut inputs = [MISSING; 2];
        (inputs[0], inputs[1]) = (first, 2000);
        let found = trees.score(&inputs);
        assert!((found - expected).abs() < 0.06, "{found}, not {expected}");
    }
}

#[test]
fn any_number_of_threads_grows_the_same_trees() {
    let rows = rows(3000);
    assert_eq!(threads(1).medians(&rows), threads(2).medians(&rows));
}

#[test]
fn without_rows_it_says_so() {
    let refused = threads(1).medians(&[]).unwrap_err().to_string();
    assert_eq!(refused, "there are no rows to learn from");
}

/// Scores at 1 and 12 steps of 5-minute values, with the bits of the last forecast.
fn scores(model: ModelSet, values: &[f64], threads_of: usize) -> (Vec<Score>, Vec<u64>) {
    let time = |index: i64| jiff::Timestamp::from_second(300 * index).unwrap();
    let samples: Vec<_> = (0..).map(time).zip(values.iter().copied()).collect();
    let horizons = [1, 12].map(|steps| NonZeroUsize::new(steps).unwrap());
    let load = BacktestLoad::new(&samples, horizons[1]).unwrap();
    let shared = ModelAssets {
        trainer: Some(Arc::new(threads(threads_of))),
        ..ModelAssets::default()
    };
    let mut run = BacktestRun::new(&load, model, &horizons, &shared);
    let mut last = Vec::new();
    while run.observe() {
        if run.is_fit_due() {
            run.fit();
        }
        if run.is_origin() {
            let forecast = run.forecast().unwrap();
            last = forecast
                .steps
                .iter()
                .map(|step| step.mean.to_bits())
                .collect();
            assert!(forecast.steps.iter().all(|step| step.mean.is_finite()));
        }
    }
    (run.scores(), last)
}

/// Jumps each hour and swings over the day, with noise of 1 %.
fn jumping(count: u32) -> Vec<f64> {
    let random = RandomSource::new(3);
    let value = |index: u32| {
        let day = f64::from(index % 288) / 288.0 * std::f64::consts::TAU;
        let jump = if index.is_multiple_of(12) { 80.0 } else { 0.0 };
        let noise = 1.0 + 0.01 * random.normal(u64::from(index));
        (100.0 + 40.0 * day.sin() + jump) * noise
    };
    (0..count).map(value).collect()
}

#[test]
fn what_comes_every_hour_is_seen_coming() {
    let values = jumping(600);
    let (of_trees, bits) = scores(ModelSet::Gbdt, &values, 1);
    let again = scores(ModelSet::Gbdt, &values, 2);
    assert_eq!(
        again,
        (of_trees.clone(), bits),
        "the same bits on two threads"
    );
    let (of_blend, _) = scores(ModelSet::Auto, &values, 1);
    for scores in [of_trees, of_blend] {
        assert!(scores[0].mae < 0.5 * scores[0].naive_mae, "{scores:?}");
        for score in &scores {
            assert!((0.7..0.9).contains(&score.coverage80), "{score:?}");
            assert!((0.88..1.0).contains(&score.coverage95), "{score:?}");
        }
    }
}

#[test]
fn loads_that_are_flat_huge_tiny_or_short_are_forecast() {
    let shape = jumping(220);
    for factor in [0.0, 1e-300, 1e300] {
        let values: Vec<f64> = shape.iter().map(|value| value * factor).collect();
        for model in [ModelSet::Gbdt, ModelSet::Auto] {
            let (scores, _) = scores(model, &values, 1);
            assert_eq!(scores.len(), 2, "{model} at {factor}");
            let ahead = &scores[0];
            assert!(
                ahead.mae <= 1.02 * ahead.naive_mae,
                "{model} at {factor}: {scores:?}"
            );
        }
    }
    let (scores, _) = scores(ModelSet::Auto, &shape[..40], 1);
    assert!(scores[0].mae <= 1.1 * scores[0].naive_mae, "{scores:?}");
}

/// Each value is the negative of the one before the last, plus noise.
fn turning(count: usize) -> Vec<f64> {
    let random = RandomSource::new(9);
    let mut values = vec![1.0, 1.0];
    for step in 2..count {
        let noise = random.normal(u64::try_from(step).unwrap());
        values.push(0.3 * noise - 0.95 * values[step - 2]);
    }
    values.iter().map(|value| 20.0 + value).collect()
}

#[test]
fn networks_see_what_turns_coming_on_any_number_of_threads() {
    let values = turning(450);
    // On 300 values networks alone learn only a part.
    for (model, share) in [(ModelSet::Gru, 0.85), (ModelSet::ArimaGru, 0.5)] {
        let (found, bits) = scores(model, &values, 1);
        assert!(
            found[0].mae < share * found[0].naive_mae,
            "{model}: {found:?}"
        );
        let again = scores(model, &values, 2);
        assert_eq!(
            again,
            (found, bits),
            "{model}: the same bits on two threads"
        );
    }
}

#[test]
fn networks_hold_loads_that_are_flat_huge_or_tiny() {
    let shape = jumping(220);
    for factor in [0.0, 1e-300, 1e300] {
        let values: Vec<f64> = shape.iter().map(|value| value * factor).collect();
        for model in [ModelSet::Gru, ModelSet::ArimaGru] {
            let (scores, _) = scores(model, &values, 1);
            assert_eq!(scores.len(), 2, "{model} at {factor}");
        }
    }
}
