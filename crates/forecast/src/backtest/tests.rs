//! The protocol on loads with figures that can be computed by hand.

use super::*;

const STEP: SignedDuration = SignedDuration::from_secs(300);

fn horizon(steps: usize) -> NonZeroUsize {
    NonZeroUsize::new(steps).unwrap()
}

fn samples(values: impl IntoIterator<Item = f64>) -> Vec<(Timestamp, f64)> {
    let times = (0..).map(|index| Timestamp::from_second(300 * index).unwrap());
    times.zip(values).collect()
}

fn run(load: &BacktestLoad, models: ModelSet, horizons: &[usize]) -> (Vec<Score>, usize, usize) {
    let shared = ModelAssets::default();
    let horizons: Vec<_> = horizons.iter().copied().map(horizon).collect();
    let mut run = BacktestRun::new(load, models, &horizons, &shared);
    let (mut origins, mut fits) = (0, 0);
    while run.observe() {
        if run.is_origin() {
            origins += 1;
            if run.is_fit_due() {
                fits += 1;
                run.fit();
            }
            run.forecast().unwrap();
        }
    }
    (run.scores(), origins, fits)
}

#[test]
fn each_horizon_counts_the_origins_that_it_does_not_lead_beyond_the_end_from() {
    let values = (0..1000_i32).map(|index| f64::from(index % 7));
    let load = BacktestLoad::new(&samples(values), horizon(12)).unwrap();
    let (scores, origins, fits) = run(&load, ModelSet::Naive, &[1, 12]);
    assert_eq!((load.training(), origins, fits), (700, 300, 2));
    let counts: Vec<_> = scores.iter().map(|score| score.forecasts).collect();
    assert_eq!(counts, [300, 289]);
}

#[test]
fn figures_are_those_of_their_definitions() {
    // Training 1, 3, 2, 5, 4, 6, 8: changes of 2, 1, 3, 1, 2, 2, mean 11/6. Then 0, 4, 2 from 8.
    let values = [1.0, 3.0, 2.0, 5.0, 4.0, 6.0, 8.0, 0.0, 4.0, 2.0];
    let load = BacktestLoad::new(&samples(values), horizon(2)).unwrap();
    let (scores, origins, _) = run(&load, ModelSet::Naive, &[1, 2]);
    assert_eq!(origins, 3);
    let close = |found: f64, expected: f64| {
        assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
    };
    let [one, two] = scores[..] else {
        panic!("{scores:?}")
    };
    close(one.mae, (8.0 + 4.0 + 2.0) / 3.0);
    close(one.rmse, (84.0_f64 / 3.0).sqrt());
    close(one.bias, (8.0 - 4.0 + 2.0) / 3.0);
    close(one.mape.unwrap(), 100.0 * (1.0 + 1.0) / 2.0);
    close(one.smape, 100.0 * (2.0 + 2.0 + 4.0 / 6.0) / 3.0);
    close(one.wape.unwrap(), 100.0 * 14.0 / 6.0);
    close(one.mase.unwrap(), (14.0 / 3.0) / (11.0 / 6.0));
    close(one.naive_mae, one.mae);
    close(one.naive_rmse, one.rmse);
    assert_eq!((two.forecasts, two.mae), (2, 3.0));
}

#[test]
fn a_forecast_below_zero_counts_as_it_is_and_clipped_beside_it() {
    let falling = (0..60_i32).map(|index| f64::from((40 - index).max(0)));
    let load = BacktestLoad::new(&samples(falling), horizon(4)).unwrap();
    let (scores, ..) = run(&load, ModelSet::Tes, &[4]);
    let [score] = scores[..] else {
        panic!("{scores:?}")
    };
    assert!(score.mae_clipped < score.mae - 0.1, "{score:?}");
    assert!(score.bias < -0.1, "{score:?}");
}

#[test]
fn a_model_whose_history_is_too_short_is_not_judged() {
    let values = (0..400_i32).map(f64::from);
    let load = BacktestLoad::new(&samples(values), horizon(1)).unwrap();
    let shared = ModelAssets::default();
    let mut run = BacktestRun::new(&load, ModelSet::SeasonalNaive, &[horizon(1)], &shared);
    while !run.is_origin() {
        assert!(run.observe());
    }
    // 280 of the 288 steps of a day are there.
    let lacking = run.forecast().unwrap_err();
    assert_eq!(lacking.model, "seasonal-naive");
    assert_eq!(run.scores(), []);
}

#[test]
fn hours_ahead_what_is_older_than_eight_days_has_no_effect() {
    let shared = ModelAssets::default();
    let told = |oldest: f64, is_hours_ahead: bool| {
        let value = |step: u32| {
            if step < 1500 {
                oldest
            } else {
                f64::from(step % 144)
            }
        };
        let load = BacktestLoad::new(&samples((0..3200).map(value)), horizon(6)).unwrap();
        let run = BacktestRun::new(&load, ModelSet::Ets, &[horizon(6)], &shared);
        let mut run = if is_hours_ahead {
            run.hours_ahead()
        } else {
            run
        };
        while run.origin() < 3100 {
            assert!(run.observe());
        }
        run.fit();
        run.forecast().unwrap().steps
    };
    assert_eq!(told(1e6, true), told(50.0, true));
    assert_ne!(told(1e6, false), told(50.0, false));
}

#[test]
fn a_load_without_a_regular_grid_is_refused() {
    let at = |second| Timestamp::from_second(second).unwrap();
    let few = BacktestLoad::new(&samples([1.0; 36]), horizon(12)).unwrap_err();
    assert_eq!(
        few.to_string(),
        "36 values are not accepted: horizon 12 needs at least 37"
    );
    assert!(BacktestLoad::new(&samples([1.0; 37]), horizon(12)).is_ok());
    let mut hole = samples([1.0; 100]);
    hole.remove(50);
    let irregular = BacktestError::Irregular {
        at: at(51 * 300),
        expected: at(50 * 300),
        step: STEP,
    };
    assert_eq!(BacktestLoad::new(&hole, horizon(1)), Err(irregular));
    let twice = [(at(5), 1.0); 20];
    assert_eq!(
        BacktestLoad::new(&twice, horizon(1)),
        Err(BacktestError::NoStep(at(5)))
    );
    let nothing = samples((0..20_i32).map(|index| f64::from(index).sqrt() / f64::from(index - 9)));
    assert_eq!(
        BacktestLoad::new(&nothing, horizon(1)),
        Err(BacktestError::NotFinite(at(9 * 300)))
    );
}

#[test]
fn means_over_series_are_geometric_where_units_differ() {
    let (small, large) = ([1.0, 2.0, 1.0, 3.0], [1000.0, 1500.0, 1000.0, 1200.0]);
    let scores = [small, large].map(|values| {
        let values = (0..80_usize).map(|index| values[index % 4]);
        let load = BacktestLoad::new(&samples(values), horizon(1)).unwrap();
        run(&load, ModelSet::Tes, &[1]).0[0]
    });
    let averages = Averages::of(&scores).unwrap();
    let ratio = |score: &Score| score.mae / score.naive_mae;
    let expected = (ratio(&scores[0]) * ratio(&scores[1])).sqrt();
    assert!((averages.mae_vs_naive_geomean.unwrap() - expected).abs() < 1e-12);
    let mase = scores.map(|score| score.mase.unwrap());
    let middle = f64::midpoint(mase[0], mase[1]);
    assert!((averages.mase_median.unwrap() - middle).abs() < 1e-12);
    assert_eq!(
        averages.mae_vs_naive_worst,
        scores.iter().map(ratio).reduce(f64::max)
    );
    assert_eq!(averages.series, 2);
    assert_eq!(Averages::of(&[]), None);
}
