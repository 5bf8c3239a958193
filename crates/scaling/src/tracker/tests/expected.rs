//! The load that replicas have to be ready for is what a floor is made of, and never less than what is
//! measured.

use super::*;
use crate::recommend::expected_load::{ExpectedLoad, LoadBasis};

/// The expected load of the one signal.
fn expected(report: &TickReport) -> Option<ExpectedLoad> {
    report.loads[0].expected
}

#[test]
fn what_is_expected_is_the_number_that_the_floor_is_made_of() {
    let cases: [(ModelSet, Load, i64); 2] = [
        (ModelSet::Auto, hill, 160),
        (ModelSet::SHpa, slow_hill, 600),
    ];
    for (models, load, ticks) in cases {
        let mut run = Run::new(Some(models));
        let (mut forecast, mut measured) = (0, 0);
        for tick in 0..ticks {
            let report = run.measured(tick, load(tick));
            let now = report.loads[0].now.unwrap();
            let expected = expected(&report).unwrap();
            let active = run.tracker.decision.active_forecast.as_ref();
            let mean = active.map_or(now, |active| active.load);
            let same = expected.load.to_bits() == now.max(mean).to_bits();
            assert!(same, "{mean}: {report:?}");
            match expected.basis {
                LoadBasis::Forecast => {
                    forecast += 1;
                    assert!(expected.load > now, "{report:?}");
                }
                LoadBasis::Measured => measured += 1,
            }
            run.current = signals()[0].capacity.desired_for_sum(now);
        }
        assert!(
            forecast > 40 && measured > 20,
            "{models:?}: {forecast}, {measured}"
        );
    }
}

#[test]
fn without_a_forecast_it_is_what_is_measured() {
    let mut run = Run::new(None);
    for tick in 0..60 {
        let report = run.measured(tick, hill(tick));
        let now = report.loads[0].now;
        assert_eq!(
            expected(&report),
            now.map(|now| ExpectedLoad::of(now, None))
        );
    }
}

#[test]
fn a_load_that_is_not_known_now_is_not_expected_to_be_anything() {
    let mut run = Run::new(Some(ModelSet::Auto));
    for tick in 0..100 {
        run.measured(tick, hill(tick));
    }
    assert!(expected(&run.tick(100)).is_some());
    // Three minutes are twelve ticks: what was measured is too old, though the forecast stands.
    assert_eq!(expected(&run.tick(112)), None);
    // The usage of Pods that start is no load.
    for tick in 112..118 {
        let at = time(tick);
        let sample = estimated(9e6, at);
        run.tracker.measure(&Signal::CPU, &sample, at).unwrap();
        assert_eq!(expected(&run.tick(tick)), None);
    }
}

#[test]
fn what_grows_with_the_pods_is_not_expected() {
    let mut run = Run::new(None);
    let at = time(0);
    let sample = LoadSample::of_moment(4e9, at);
    run.tracker.measure(&Signal::MEMORY, &sample, at).unwrap();
    let held = [ScaledSignal {
        signal: Signal::MEMORY,
        is_forecast: false,
        ..signals()[0].clone()
    }];
    let input = TickInput {
        traffic: None,
        now: at,
        current: 5,
        ready: 5,
        reaction: Reaction::Autoscaler(Some(5)),
        models: None,
        signals: &held,
        recorded: None,
        portraits: None,
        shared: &ModelAssets::default(),
    };
    let report = run.tracker.tick(&run.policy, &input);
    assert!(report.loads[0].fresh && expected(&report).is_none());
}
