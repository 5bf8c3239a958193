//! A target that is forecast by a model of its own choice, which has to be fitted on its past.

use evenkeel_forecast::Minutes;
use evenkeel_units::random::RandomSource;

use super::*;
use crate::tracker::{FitEnd, FitTask, LoadModel};

/// The ticks of a minute.
const MINUTE: i64 = 4;
const WINDOW: usize = 4;

/// A wave of 80 minutes, with noise.
fn wave(tick: i64) -> f64 {
    let noise = 40.0 * RandomSource::new(1).normal(u64::try_from(tick + 100_000).unwrap());
    let tick = f64::from(i32::try_from(tick).unwrap());
    5000.0 - 2500.0 * (tick / 51.0).cos() + noise
}

/// The wave as it was in so many minutes before the first tick.
fn before(minutes: i64) -> Minutes {
    let mean = |minute: i64| {
        let ticks = (0..MINUTE).map(|tick| wave((minute - minutes) * MINUTE + tick));
        let mean = ticks.sum::<f64>() / 4.0;
        evenkeel_units::narrowed(mean).unwrap()
    };
    Minutes::new(START - minutes * 60, (0..minutes).map(mean).collect())
}

fn arima(minutes: i64) -> FitEnd {
    let past = before(minutes);
    let model = LoadModel::fitted(ModelSet::Arima, &past, WINDOW, &ModelAssets::default());
    FitEnd::Model(Box::new(model.unwrap()))
}

fn model(report: &TickReport) -> &'static str {
    report.loads[0].model.unwrap().name
}

fn lacking(report: &TickReport) -> Vec<String> {
    let lacking = report.loads[0].lacking.iter();
    lacking.map(ToString::to_string).collect()
}

/// The mean error of forecasts by the model over some ticks, and that of the load as it is.
fn errors(run: &mut Run, ticks: std::ops::Range<i64>) -> [f64; 2] {
    let (mut errors, mut count) = ([0.0; 2], 0.0);
    for tick in ticks {
        let report = run.measured(tick, wave(tick));
        let ahead = report.horizon.ahead().as_secs() / 15;
        let came = wave(tick + ahead);
        let expected = report.loads[0].model.unwrap().at_horizon.unwrap().mean;
        errors[0] += (expected - came).abs();
        errors[1] += (wave(tick) - came).abs();
        count += 1.0;
    }
    errors.map(|error| error / count)
}

#[test]
fn a_model_serves_once_it_is_fitted_and_auto_until_then() {
    let mut run = Run::new(Some(ModelSet::Arima));
    let report = run.measured(0, wave(0));
    assert_eq!(
        model(&report),
        "global",
        "what auto is as long as nothing else is known"
    );
    assert!(lacking(&report).contains(&"arima ready in 12 h".to_owned()));
    run.tracker.fitted(&Signal::CPU, arima(720), time(1));
    let report = run.measured(1, wave(1));
    assert_eq!(model(&report), "arima");
    assert_eq!(lacking(&report), [""; 0]);
    let trust = report.loads[0].model.unwrap().trust;
    assert!(
        trust.is_trusted(),
        "it was judged on the newest of its past: {trust:?}"
    );
    let [forecast, last] = errors(&mut run, 2..600);
    assert!(forecast < 0.9 * last, "{forecast} {last}");
    run.models = Some(ModelSet::Auto);
    assert_eq!(model(&run.measured(600, wave(600))), "global");
    run.models = Some(ModelSet::Gbdt);
    run.tracker.fitted(&Signal::CPU, arima(720), time(1));
    let report = run.measured(601, wave(601));
    assert_eq!(model(&report), "global", "not the model that is asked for");
}

/// The harm: values before an outage and after it as if they had followed one another; and no forecast until the model
/// had enough of them again.
#[test]
fn a_fitted_model_begins_anew_after_an_outage_and_auto_serves_until_then() {
    for outage in [10, 200, 2000] {
        let mut run = Run::new(Some(ModelSet::Arima));
        run.measured(0, wave(0));
        run.tracker.fitted(&Signal::CPU, arima(720), time(1));
        errors(&mut run, 1..100);
        let back = 100 + outage * MINUTE;
        run.measured(back, wave(back));
        let report = run.measured(back + 8, wave(back + 8));
        let waits = lacking(&report);
        assert!(
            waits.iter().any(|one| one.starts_with("arima ready in")),
            "{outage} {waits:?}"
        );
        let mut served = Vec::new();
        for tick in back + 9..back + 200 {
            served.push(model(&run.measured(tick, wave(tick))));
        }
        served.dedup();
        assert_eq!(served, ["global", "arima"], "{outage}");
        let [forecast, last] = errors(&mut run, back + 200..back + 600);
        assert!(forecast < 0.9 * last, "{outage}: {forecast} {last}");
    }
}

/// The harm: a model that had waited behind others for hours took the place of `auto` with nothing to go on from.
#[test]
fn a_model_that_waited_for_longer_than_minutes_are_remembered_is_not_taken() {
    let mut run = Run::new(Some(ModelSet::Arima));
    let late = 4 * 60 * MINUTE;
    run.measured(late, wave(late));
    run.tracker.fitted(&Signal::CPU, arima(720), time(late));
    assert_eq!(model(&run.measured(late + 1, wave(late + 1))), "global");
}

#[test]
fn a_past_that_is_too_short_or_has_a_hole_at_its_end_makes_no_model() {
    let fitted = |past: &Minutes| {
        LoadModel::fitted(ModelSet::Arima, past, WINDOW, &ModelAssets::default()).map(|_| ())
    };
    assert!(fitted(&before(0)).is_err());
    assert!(fitted(&before(245)).is_err());
    assert_eq!(fitted(&before(720)), Ok(()));
    let mut values = before(720).values().to_vec();
    values[715..].fill(f32::NAN);
    assert!(fitted(&Minutes::new(START, values)).is_err());
}

#[test]
fn a_fit_is_asked_for_up_to_the_newest_hour_and_again_for_another_window() {
    let mut run = Run::new(Some(ModelSet::Gru));
    let day = (0..288).map(|step| (time(step * 20 - 5760), 1.0));
    run.tracker
        .refill(&Signal::CPU, Resolution::FiveMinutes, day, time(0));
    run.measured(0, 1.0);
    // An hour of the day that was long ago.
    let hour = (START / 3600 + 1) % 24;
    let due = |run: &Run, tick| {
        let fits: Vec<_> = run.tracker.fits_due(hour, time(tick)).collect();
        fits.into_iter()
            .map(|fit| (fit.lesson, fit.end, fit.window))
            .next()
    };
    let (lesson, end, window) = due(&run, 0).unwrap();
    assert_eq!(lesson, FitTask::Model(ModelSet::Gru));
    assert_eq!(end.as_second(), START - START % 3600);
    run.tracker.fitting(&Signal::CPU, hour, time(0));
    run.measured(1, 1.0);
    assert_eq!(due(&run, 1), None);
    run.policy.lead.start_up = SignedDuration::from_mins(8);
    for tick in 2..30 {
        run.measured(tick, 1.0);
    }
    let (_, _, wider) = due(&run, 30).unwrap();
    assert!(wider > window, "{wider} {window}");
    // Another model is another fit.
    run.policy.lead = Lead::default();
    run.models = Some(ModelSet::Gbdt);
    run.measured(30, 1.0);
    let (lesson, ..) = due(&run, 30).unwrap();
    assert_eq!(lesson, FitTask::Model(ModelSet::Gbdt));
}
