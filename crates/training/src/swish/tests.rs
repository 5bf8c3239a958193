//! A network learns two loads and distinguishes them.

use std::num::NonZeroUsize;
use std::sync::Arc;

use evenkeel_forecast::backtest::{BacktestLoad, BacktestRun};
use evenkeel_forecast::{ModelAssets, ModelSet, SwishLoad};

use super::*;

const STEP: SignedDuration = SignedDuration::from_mins(5);

/// Jumps, or falls, by 10 at each fourth value, with some noise.
fn jumping(count: u32, height: f64) -> Vec<f64> {
    let random = RandomSource::new(2);
    let value = |index: u32| {
        let jump = if index.is_multiple_of(4) { height } else { 0.0 };
        50.0 + jump + 0.3 * random.normal(u64::from(index))
    };
    (0..count).map(value).collect()
}

fn series(values: &[f64]) -> SwishSeries<'_> {
    SwishSeries {
        start: Timestamp::UNIX_EPOCH,
        step: STEP,
        values,
    }
}

fn quick() -> SwishSettings {
    let plain = SwishSettings::default();
    SwishSettings {
        descent: Descent {
            passes: 12,
            batch: 16,
            rate: 0.005,
            ..plain.descent
        },
        ..plain
    }
}

fn fit(all: &[SwishSeries<'_>], before: Option<&SwishNet>) -> Result<SwishNet, NetworkError> {
    fit_swish(all, &Calendar::default(), before, &quick(), &mut |_| {})
}

#[test]
fn one_network_forecasts_two_loads_and_one_that_it_has_not_learnt() {
    let (up, down) = (jumping(300, 10.0), jumping(300, -10.0));
    let net = fit(&[series(&up), series(&down)], None).unwrap();
    assert_eq!(Ok(net.clone()), fit(&[series(&up), series(&down)], None));
    let net = Arc::new(net);
    for (values, category) in [(&up, Some(0)), (&down, Some(1)), (&up, None)] {
        let shared = ModelAssets {
            swish: Some(SwishLoad {
                net: Arc::clone(&net),
                category,
            }),
            ..ModelAssets::default()
        };
        let times = (0..).map(|index| Timestamp::from_second(300 * index).unwrap());
        let samples: Vec<_> = times.zip(values.iter().copied()).collect();
        let horizons = [1, 12].map(|steps| NonZeroUsize::new(steps).unwrap());
        let load = BacktestLoad::new(&samples, horizons[1]).unwrap();
        let mut run = BacktestRun::new(&load, ModelSet::SwishNet, &horizons, &shared);
        while run.observe() {
            if run.is_origin() {
                run.forecast().unwrap();
            }
        }
        let scores = run.scores();
        assert!(
            scores[0].mae < 0.5 * scores[0].naive_mae,
            "{category:?}: {scores:?}"
        );
    }
    let further = fit(&[series(&up), series(&down)], Some(&net)).unwrap();
    assert_ne!(further, *net);
    let refused = fit(&[series(&up)], Some(&net));
    assert_eq!(refused, Err(NetworkError::OtherShape));
}

#[test]
fn loads_that_are_flat_or_too_short_are_refused() {
    for (values, have) in [(vec![0.0; 200], 0), (jumping(50, 1.0), 27)] {
        let refused = fit(&[series(&values)], None);
        assert_eq!(refused, Err(NetworkError::TooFew { have, need: LEAST }));
    }
}

#[test]
fn a_long_load_is_learnt_by_few_rows_at_every_minute_of_the_hour() {
    let values = jumping(7760, 10.0);
    let calendar = Calendar::default();
    let draw = |most: usize| RowDraw {
        category: 0,
        calendar: &calendar,
        most,
        held_out: 8,
        source: RandomSource::new(1),
    };
    let mut rows = Rows::default();
    let one = SwishSeries {
        step: SignedDuration::from_mins(1),
        ..series(&values)
    };
    rows.take(&one, &draw(960)).unwrap();
    assert_eq!((rows.learnt.len(), rows.judged.len()), (840, 120));
    let minute = |row: &SwishTrainingRow| row.input.second_of_week / 60 % 60;
    let minutes: std::collections::BTreeSet<i64> = rows.learnt.iter().map(minute).collect();
    assert_eq!(minutes.len(), 60);
    let mut all = Rows::default();
    all.take(&one, &draw(usize::MAX)).unwrap();
    assert_eq!(all.learnt.len() + all.judged.len(), 7760 - 23 - 11);
}
