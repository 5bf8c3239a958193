//! A replay counts from its moment on, learns from the time before, and has the plain HPA's costs.

use std::collections::BTreeSet;
use std::sync::Mutex;

use evenkeel_forecast::{Minutes, ModelSet, NotEnoughHistory, Quantiles};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::scaling_mode::ScaleDown;
use evenkeel_scaling::counterfactual::{Counterfactual, TrialPods};
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::tracker::LoadPastFit;
use evenkeel_units::Resource;

use evenkeel_objects::risk::Risk;
use evenkeel_units::Ratio;

use super::*;
use crate::scrape_timing::Timing;
use crate::target_replay;
use crate::target_replay::seasonal_rule::Season;
use crate::target_replay::settings::Floors;
use crate::target_replay::{DailyFit, Edges, FitFunctions, Knowledge, LearnOwn};

const HOUR: i64 = 3_600;

fn target() -> ReplayTarget {
    ReplayTarget {
        resource: Resource::Cpu,
        capacity: PodCapacity::new(500.0, Ratio::new(0.6).unwrap()).unwrap(),
        bounds: ReplicaBounds::new(2, 30).unwrap(),
        start_up: SignedDuration::from_secs(90),
        metrics: Timing::default(),
        edges: Edges::default(),
        initial: None,
    }
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Hills of two hours, from `from` on; equal at equal times.
fn hills(from: i64, hours: i64) -> RegularSeries {
    let value = |tick: i64| {
        let tick = u32::try_from(tick).unwrap();
        let phase = f64::from(tick) * 15.0 / 7200.0 * std::f64::consts::TAU;
        Some(2800.0 - 2200.0 * phase.cos())
    };
    let ticks = from / 15..(from + hours * HOUR) / 15;
    RegularSeries::new(second(from), GRID, ticks.map(value).collect()).unwrap()
}

fn load(from: i64, hours: i64, count_from: i64) -> ReplayLoad {
    ReplayLoad::new(hills(from, hours), second(count_from)).unwrap()
}

fn plain(share: f64) -> ReplayPolicy {
    ReplayPolicy::Hpa {
        target: Ratio::new(share).unwrap(),
    }
}

fn floored(models: ModelSet) -> ReplayPolicy {
    ReplayPolicy::Evenkeel(Floors::by(models))
}

#[test]
fn floors_that_go_down_early_cost_fewer_replica_hours_on_a_load_that_repeats() {
    let judged = load(0, 40, 24 * HOUR);
    let cost = |scale_down| {
        let policy = ReplayPolicy::Evenkeel(Floors {
            scale_down,
            ..Floors::by(ModelSet::SHpa)
        });
        replay(&target(), policy, &judged, &Knowledge::default(), false).cost
    };
    let (reactive, early) = (cost(ScaleDown::Reactive), cost(ScaleDown::Early));
    assert!(
        early.replica_hours < reactive.replica_hours,
        "{early:?} {reactive:?}"
    );
}

#[test]
fn counted_from_the_begin_the_own_target_costs_what_a_plain_run_does() {
    let (_, cost) = target_replay::plain(&target(), &hills(0, 4));
    for count_from in [-10, 0] {
        let replayed = replay(
            &target(),
            plain(0.6),
            &load(0, 4, count_from),
            &Knowledge::default(),
            false,
        );
        assert_eq!(replayed.cost, cost, "{count_from}");
    }
    let run = target_replay::run(&target(), ModelSet::SHpa, &hills(0, 4), &mut |_| ());
    let replayed = replay(
        &target(),
        floored(ModelSet::SHpa),
        &load(0, 4, 0),
        &Knowledge::default(),
        false,
    );
    assert_eq!(replayed.cost, run.evenkeel);
}

#[test]
fn costs_and_points_are_those_of_the_judged_time() {
    let judged = load(0, 6, 4 * HOUR + 7);
    let replayed = replay(&target(), plain(0.6), &judged, &Knowledge::default(), true);
    assert_eq!(replayed.points.len(), 2 * 240 - 1);
    assert_eq!(replayed.points[0].at, second(4 * HOUR + 15));
    let hours: f64 = replayed
        .points
        .iter()
        .map(|point| f64::from(point.replicas) / 240.0)
        .sum();
    let counted = replayed.cost.replica_hours;
    assert!((counted - hours).abs() < 1e-6, "{counted} {hours}");
    let whole = replay(
        &target(),
        plain(0.6),
        &load(0, 6, 0),
        &Knowledge::default(),
        false,
    )
    .cost;
    let seconds = replayed.cost.under_provisioned_seconds;
    assert!(0.0 < seconds && seconds < whole.under_provisioned_seconds);
    assert!(
        replayed
            .points
            .iter()
            .all(|point| point.floor == 2 && point.ready <= point.replicas)
    );
    let without = replay(&target(), plain(0.6), &judged, &Knowledge::default(), false);
    assert_eq!((without.cost, without.points), (replayed.cost, Vec::new()));
}

#[test]
fn a_lower_target_buys_safety_with_replicas() {
    let judged = load(0, 8, 2 * HOUR);
    let costs = [0.6, 0.5, 0.4].map(|share| {
        replay(
            &target(),
            plain(share),
            &judged,
            &Knowledge::default(),
            false,
        )
        .cost
    });
    let hours = costs.map(|cost| cost.replica_hours);
    assert!(hours[0] < hours[1] && hours[1] < hours[2], "{costs:?}");
    let seconds = costs.map(|cost| cost.under_provisioned_seconds);
    assert!(seconds[0] > 10.0 * (seconds[1] + 15.0), "{costs:?}");
    assert!(seconds[1] >= seconds[2], "{costs:?}");
}

/// With the value of a day ago as forecast, a target with a day of past has a floor from the first
/// hour on, and one without has none.
#[test]
fn what_lies_before_teaches() {
    let floors = |from: i64| {
        let judged = load(from, 30 - from / HOUR, 26 * HOUR);
        let replayed = replay(
            &target(),
            floored(ModelSet::SeasonalNaive),
            &judged,
            &Knowledge::default(),
            true,
        );
        let raised = replayed.points.iter().filter(|point| point.floor > 2);
        raised.count()
    };
    assert_eq!(floors(24 * HOUR), 0);
    assert!(floors(0) > 0);
}

#[test]
fn the_long_past_is_not_run() {
    let judged = load(0, 30, 26 * HOUR);
    let running = judged.running(&target());
    assert_eq!(running.start(), second(25 * HOUR - 90));
    let past = judged.past(running.start()).unwrap();
    assert_eq!((past.start(), past.step().as_secs()), (second(0), 60));
    assert_eq!(past.end(), second(25 * HOUR - 180), "whole minutes only");
    let short = load(26 * HOUR, 4, 26 * HOUR);
    assert_eq!(short.running(&target()), hills(26 * HOUR, 4));
    assert_eq!(short.past(second(26 * HOUR)), None);
}

#[test]
fn a_frontier_has_whole_percentages_down_to_two_thirds_and_all_risks() {
    let shares = |own: f64| {
        let capacity = PodCapacity::new(500.0, Ratio::new(own).unwrap()).unwrap();
        let target = ReplayTarget {
            capacity,
            ..target()
        };
        let policies = ReplayPolicy::frontier(&target, Floors::by(ModelSet::Auto));
        let (plain, floored) = policies.split_at(policies.len() - 5);
        let risks = floored.iter().map(|policy| match policy {
            ReplayPolicy::Evenkeel(floors) if floors.models == ModelSet::Auto => floors.risk,
            other => panic!("{other:?}"),
        });
        assert_eq!(risks.collect::<Vec<_>>(), Risk::FRONTIER);
        plain
            .iter()
            .map(|policy| policy.share(&target) * 100.0)
            .collect::<Vec<_>>()
    };
    let rounded = |shares: Vec<f64>| {
        let tenths = shares.iter().map(|share| (share * 10.0).round() / 10.0);
        tenths.collect::<Vec<_>>()
    };
    assert_eq!(
        rounded(shares(0.6)),
        [60.0, 58.0, 55.0, 53.0, 50.0, 48.0, 45.0, 43.0, 40.0]
    );
    assert_eq!(rounded(shares(0.625))[..2], [62.5, 60.0]);
    assert_eq!(rounded(shares(0.06)), [6.0, 5.0, 4.0]);
    assert_eq!(rounded(shares(0.004)), [0.4]);
}

#[test]
fn what_cannot_be_replayed_is_refused() {
    let minutes = SignedDuration::from_mins(1);
    let coarse = RegularSeries::new(second(0), minutes, vec![Some(1.0)]).unwrap();
    assert_eq!(
        ReplayLoad::new(coarse, second(0)),
        Err(ReplayError::Step(minutes))
    );
    let error = ReplayLoad::new(hills(0, 1), second(HOUR)).unwrap_err();
    assert_eq!(
        error.to_string(),
        "nothing is left to count from 1970-01-01T01:00:00Z: the load ends at 1970-01-01T00:59:45Z"
    );
}

#[test]
fn the_parts_of_the_judged_time_add_up_to_the_whole() {
    let replayed = replay(
        &target(),
        plain(0.6),
        &load(0, 30, HOUR),
        &Knowledge::default(),
        false,
    );
    let hours: Vec<f64> = replayed
        .parts
        .iter()
        .map(|part| part.replica_hours)
        .collect();
    // 29 judged hours are two parts of twelve, and one of five.
    assert_eq!(hours.len(), 3, "{hours:?}");
    assert!(hours[2] < 0.6 * hours[0], "{hours:?}");
    let sum = |of: fn(&evenkeel_scaling::counterfactual::pareto_frontier::Cost) -> f64| {
        replayed.parts.iter().map(of).sum::<f64>()
    };
    let under = sum(|part| part.under_provisioned_seconds);
    assert!(under > 0.0);
    assert!((under - replayed.cost.under_provisioned_seconds).abs() < 1e-6);
    assert!((sum(|part| part.replica_hours) - replayed.cost.replica_hours).abs() < 1e-6);
}

fn with_fits(trees: LearnOwn<'_>) -> Knowledge<'_> {
    let hour = 5;
    let fits = FitFunctions {
        trees,
        ..FitFunctions::NONE
    };
    Knowledge {
        own: Some(DailyFit { hour, fits }),
        ..Knowledge::default()
    }
}

#[test]
fn fits_are_made_when_the_service_makes_them() {
    let ends = Mutex::new(BTreeSet::new());
    let learn = |past: &Minutes, _: usize, _: &TrialPods| {
        let minutes = i64::try_from(past.values().len()).unwrap();
        ends.lock().unwrap().insert(past.start() + 60 * minutes);
        Some(LoadPastFit::default())
    };
    let judged = load(0, 60, 40 * HOUR);
    let floors = floored(ModelSet::Auto);
    let _ = replay(&target(), floors, &judged, &with_fits(&learn), false);
    let ends: Vec<i64> = ends.into_inner().unwrap().into_iter().collect();
    assert_eq!(ends, [29 * HOUR, 53 * HOUR]);
}

/// A target's model was never fitted, and `auto` was replayed under its name.
#[test]
fn the_model_that_is_named_is_fitted_as_in_the_service() {
    let fitted = Mutex::new(Vec::new());
    let model = |past: &Minutes, _: usize, models| {
        let have = past.values().len();
        fitted.lock().unwrap().push((models, have));
        Err(NotEnoughHistory {
            need: have + 1,
            have,
        })
    };
    let knowledge = Knowledge {
        own: Some(DailyFit {
            hour: 5,
            fits: FitFunctions {
                model: &model,
                ..FitFunctions::NONE
            },
        }),
        ..Knowledge::default()
    };
    let (judged, floors) = (load(0, 42, 40 * HOUR), floored(ModelSet::Arima));
    let _ = replay(&target(), floors, &judged, &knowledge, false);
    // The fit failed, so it is tried again once an hour more is known.
    let hours = [40, 41].map(|hours| (ModelSet::Arima, hours * 60));
    assert_eq!(fitted.into_inner().unwrap(), hours);
}

/// Floors were replayed that the service, which judges them by the target's own past, would not
/// have made.
#[test]
fn floors_that_the_own_trial_does_not_trust_are_not_acted_on() {
    let raised = |learn: LearnOwn<'_>| {
        let judged = load(0, 50, 40 * HOUR);
        let floors = floored(ModelSet::Auto);
        let replayed = replay(&target(), floors, &judged, &with_fits(learn), true);
        // The first fit comes with the first measurement.
        let fitted = replayed.points.iter().skip(20);
        fitted.filter(|point| point.floor > 2).count()
    };
    let tried = |past: &Minutes, pods: &TrialPods, rise: fn(&[f32]) -> f64| {
        let trial = Counterfactual::over(past, 0, pods, |index| {
            let next = past.values().get(index + 1..index + 6)?;
            Some(Quantiles::new([rise(next); 4]))
        });
        let learnt = LoadPastFit::default();
        Some(LoadPastFit { trial, ..learnt })
    };
    let exact = |past: &Minutes, _: usize, pods: &TrialPods| {
        tried(past, pods, |next| {
            f64::from(next.iter().copied().fold(0.0, f32::max))
        })
    };
    let dear = |past: &Minutes, _: usize, pods: &TrialPods| tried(past, pods, |_| 1e6);
    assert!(raised(&exact) > 0);
    assert_eq!(raised(&dear), 0);
}

#[test]
fn a_created_target_has_no_requests_before_its_first_pod_is_ready() {
    let created = load(0, 4, 2 * HOUR).created();
    let target = ReplayTarget {
        initial: Some(3),
        ..target()
    };
    let replayed = replay(&target, plain(0.6), &created, &Knowledge::default(), true);
    let first = replayed.points[0];
    assert_eq!(
        (first.at, first.replicas, first.ready),
        (second(2 * HOUR), 3, 0)
    );
    let starting = &replayed.points[..6];
    assert!(
        starting
            .iter()
            .all(|point| point.ready == 0 && point.load.is_some_and(|load| load <= 0.0)),
        "{starting:?}"
    );
    let open = replayed.points[6];
    assert_eq!((open.ready, open.load), (3, hills(2 * HOUR, 1).values()[6]));
}

#[test]
fn a_rule_of_yesterday_makes_pods_before_the_load_rises() {
    // Equal each day, since a day has twelve hills.
    let judged = load(0, 29, 25 * HOUR);
    let rules = ReplayPolicy::rules(judged.past_length());
    let by_factor = |season| move |factor| ReplayPolicy::Rule(SeasonalRule { season, factor });
    assert_eq!(
        rules,
        [0.9, 1.0, 1.1].map(by_factor(Season::Yesterday)),
        "there is no week of past"
    );
    let cost = |policy| replay(&target(), policy, &judged, &Knowledge::default(), true);
    let alone = cost(plain(0.6));
    let with = rules.into_iter().map(cost).collect::<Vec<_>>();
    let under = |outcome: &ReplayOutcome| outcome.cost.under_provisioned_seconds;
    let hours = |outcome: &ReplayOutcome| outcome.cost.replica_hours;
    assert!(under(&with[1]) < under(&alone) / 4.0, "{:?}", with[1].cost);
    assert!(hours(&alone) < hours(&with[1]) && hours(&with[0]) < hours(&with[2]));
    assert!(with[1].points.iter().all(|point| point.floor == 2));
    // A metric that asks for nothing changes nothing.
    let silent = by_factor(Season::LastWeek)(1.0);
    assert_eq!(cost(silent), alone);
}

#[test]
fn a_rule_needs_a_whole_season_before_the_judged_time() {
    let seasons = |count_from: i64| {
        let rules = ReplayPolicy::rules(load(0, 24 * 7 + 1, count_from).past_length());
        rules.len()
    };
    let day = 24 * HOUR;
    assert_eq!(
        [day - 15, day, 7 * day - 15, 7 * day].map(seasons),
        [0, 3, 3, 6]
    );
}
