//! Properties of every run, and the worth of a floor ahead of a ramp.

mod disturbances;

use evenkeel_forecast::Minutes;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::counterfactual::{Counterfactual, TrialPods};
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Ratio, Resource, narrowed};
use jiff::SignedDuration;
use proptest::prelude::*;

use super::*;
use crate::scrape_timing::Timing;

fn target(start_up: i64) -> ReplayTarget {
    ReplayTarget {
        resource: Resource::Cpu,
        capacity: PodCapacity::new(500.0, Ratio::new(0.6).unwrap()).unwrap(),
        bounds: ReplicaBounds::new(2, 20).unwrap(),
        start_up: SignedDuration::from_secs(start_up),
        metrics: Timing::default(),
        edges: Edges::default(),
        initial: None,
    }
}

fn series(values: Vec<Option<f64>>) -> RegularSeries {
    RegularSeries::new(Timestamp::UNIX_EPOCH, GRID, values).unwrap()
}

/// Millicores with a period of two hours.
fn hills(ticks: u32) -> RegularSeries {
    let value = |tick: u32| {
        2800.0 - 2200.0 * (f64::from(tick) * 15.0 / 7200.0 * std::f64::consts::TAU).cos()
    };
    series((0..ticks).map(|tick| Some(value(tick))).collect())
}

fn quietly(target: &ReplayTarget, models: ModelSet, load: &RegularSeries) -> TargetRunOutcome {
    run(target, models, load, &mut |_| ())
}

#[test]
fn a_trusted_forecast_spares_time_without_enough_pods() {
    let outcome = quietly(&target(90), ModelSet::SHpa, &hills(2880));
    assert!(
        outcome.forecasts.trust.is_trusted(),
        "{:?}",
        outcome.forecasts
    );
    let (with, without) = (outcome.evenkeel, outcome.plain);
    assert!(
        with.under_provisioned_seconds < 0.8 * without.under_provisioned_seconds,
        "{with:?} {without:?}"
    );
    assert!(
        with.replica_hours < 1.3 * without.replica_hours,
        "{with:?} {without:?}"
    );
}

#[test]
fn without_trust_the_floor_stays_and_both_sides_are_alike() {
    let outcome = quietly(&target(90), ModelSet::Naive, &hills(1440));
    assert!(!outcome.forecasts.trust.is_trusted());
    let (mae, naive) = (outcome.forecasts.mae, outcome.forecasts.naive_mae);
    assert!(
        (mae / naive - 1.0).abs() < 1e-3,
        "it is the last value: {mae} {naive}"
    );
    assert_eq!(outcome.evenkeel, outcome.plain);
    assert!(outcome.points.iter().all(|point| point.floor == 2));
}

#[test]
fn the_other_side_is_what_a_plain_run_gives() {
    let load = hills(720);
    let outcome = quietly(&target(40), ModelSet::Tes, &load);
    let (replicas, cost) = plain(&target(40), &load);
    let beside: Vec<i32> = outcome.points.iter().map(|point| point.plain).collect();
    assert_eq!((beside, outcome.plain), (replicas, cost));
}

#[test]
fn what_was_observed_costs_what_the_run_did() {
    let load = hills(720);
    let (replicas, cost) = plain(&target(40), &load);
    let seen: Vec<_> = replicas.into_iter().map(Some).collect();
    assert_eq!(observed(&target(40), &load, &seen), cost);
}

#[test]
fn a_gap_moves_nothing_and_is_not_counted() {
    let mut values: Vec<_> = hills(480).values().to_vec();
    values[200..260].fill(None);
    let outcome = quietly(&target(40), ModelSet::SHpa, &series(values));
    let in_gap = &outcome.points[201..260];
    assert!(in_gap.iter().all(|point| point.load.is_none()));
    assert!(
        in_gap.iter().all(|point| point.plain == in_gap[0].plain),
        "{in_gap:#?}"
    );
    // Data expires after a minute and a half; until then a forecast may still act.
    let later = &outcome.points[208..260];
    assert!(
        later
            .iter()
            .all(|point| point.replicas <= outcome.points[207].replicas)
    );
}

#[test]
fn a_gap_takes_nothing_from_what_a_day_ago_tells() {
    let mut values: Vec<_> = hills(6200).values().to_vec();
    values[6000..6020].fill(None);
    let outcome = quietly(&target(40), ModelSet::SeasonalNaive, &series(values));
    let after = &outcome.points[6040..];
    assert!(after.iter().all(|point| point.forecast.is_some()));
}

#[test]
fn forecasts_stand_at_the_time_that_they_were_made_for() {
    let line = series(
        (0..400_u32)
            .map(|tick| Some(1000.0 + 5.0 * f64::from(tick)))
            .collect(),
    );
    let mut target = target(40);
    target.bounds = ReplicaBounds::new(10, 10).unwrap();
    let outcome = quietly(&target, ModelSet::Tes, &line);
    // The measured load lags by half a window, two ticks, and the forecast knows it. The use of
    // each Pod is rounded up.
    for point in &outcome.points[100..] {
        let expected = point.forecast.unwrap().mean;
        let error = expected - point.load.unwrap();
        assert!((0.0..10.0).contains(&error), "{point:?}");
    }
}

#[test]
fn pods_take_their_time_to_be_ready() {
    let jump = |tick: u32| if tick < 40 { 600.0 } else { 3000.0 };
    let load = series((0..120).map(|tick| Some(jump(tick))).collect());
    // The HPA itself waits for a window of measurements of each new Pod, which hides some of it.
    let quick = quietly(&target(0), ModelSet::Naive, &load).plain;
    let slow = quietly(&target(60), ModelSet::Naive, &load).plain;
    assert!(
        slow.under_provisioned_seconds >= quick.under_provisioned_seconds + 30.0,
        "{quick:?} {slow:?}"
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn replicas_stay_inside_the_bounds_and_runs_repeat(
        values in prop::collection::vec(prop::option::weighted(0.9, 0.0..20_000.0_f64), 1..200),
        start_up in 0_i64..200,
    ) {
        let load = series(values);
        for model in ModelSet::ALL {
            let outcome = quietly(&target(start_up), model, &load);
            for point in &outcome.points {
                prop_assert!((2..=20).contains(&point.replicas) && (2..=20).contains(&point.plain));
                prop_assert!((2..=20).contains(&point.floor) && point.floor <= point.replicas.max(20));
            }
            prop_assert_eq!(quietly(&target(start_up), model, &load), outcome);
        }
    }
}

/// The gate of floors uses a trial by the minute, a sketch of the HPA that saves time. It must
/// agree with the HPA's own algorithm.
#[test]
fn the_hpa_of_a_trial_comes_to_what_the_hpa_itself_does() {
    let noisy = |load: RegularSeries| with_noise(load, 0.03, RandomSource::new(7));
    let steps = series(
        (0..5760)
            .map(|tick| Some(if tick % 480 < 60 { 4000.0 } else { 1500.0 }))
            .collect(),
    );
    for (name, load) in [("hills", noisy(hills(5760))), ("steps", noisy(steps))] {
        for start_up in [30, 90, 300] {
            let target = target(start_up);
            let (_, cost) = plain(&target, &load);
            let horizon = quietly(&target, ModelSet::Naive, &load).horizon;
            let pods = TrialPods::new(target.capacity, target.bounds, &horizon);
            let means = load.values().chunks(4).map(|minute| {
                let known: Vec<f64> = minute.iter().copied().flatten().collect();
                narrowed(known.iter().sum::<f64>() / 4.0).unwrap()
            });
            let minutes = Minutes::new(load.start().as_second(), means.collect());
            let tried = Counterfactual::over(&minutes, 0, &pods, |_| None)
                .tried(1.0)
                .unwrap()
                .plain;
            let under = tried.under * 86_400.0 / cost.under_provisioned_seconds;
            let replicas = tried.replicas * 24.0 / cost.replica_hours;
            assert!((0.6..1.6).contains(&under), "{name} {start_up}: {under}");
            assert!(
                (0.94..1.06).contains(&replicas),
                "{name} {start_up}: {replicas}"
            );
        }
    }
}
