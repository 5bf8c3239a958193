//! A target by portraits: the reaction alone is the plain HPA, and all of several providers count.

use evenkeel_api::ihpa::spec::IhpaSpec;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::specs::ihpa::check;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Ratio, Resource};
use jiff::SignedDuration;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::scrape_timing::Timing;
use crate::target_replay::{
    Edges, GRID, Knowledge, ReplayLoad, ReplayOutcome, ReplayPolicy, replay, replay_portraits,
    with_noise,
};

const HOUR: i64 = 3_600;

fn target(start_up: i64) -> ReplayTarget {
    ReplayTarget {
        resource: Resource::Cpu,
        capacity: PodCapacity::new(500.0, Ratio::new(0.6).unwrap()).unwrap(),
        bounds: ReplicaBounds::new(2, 30).unwrap(),
        start_up: SignedDuration::from_secs(start_up),
        metrics: Timing::default(),
        edges: Edges::default(),
        initial: Some(4),
    }
}

fn second(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Hills of two hours from midnight on, judged from `from` on.
fn hills(hours: i64, from: i64, noise: f64, seed: u64) -> ReplayLoad {
    let value = |tick: i64| {
        let tick = u32::try_from(tick).unwrap();
        let phase = f64::from(tick) * 15.0 / 7200.0 * std::f64::consts::TAU;
        Some(2800.0 - 2200.0 * phase.cos())
    };
    let values = (0..hours * HOUR / 15).map(value).collect();
    let load = RegularSeries::new(second(0), GRID, values).unwrap();
    let load = with_noise(load, noise, RandomSource::new(seed));
    ReplayLoad::new(load, second(from)).unwrap()
}

fn portraits(providers: &Value, behavior: &Value) -> Portraits {
    let spec: IhpaSpec = serde_json::from_value(json!({
        "scaleTargetRef": {"kind": "Deployment", "name": "web"},
        "minReplicas": 2, "maxReplicas": 30, "portraitProviders": providers, "behavior": behavior,
    }))
    .unwrap();
    let rules = check(&spec).unwrap();
    Portraits {
        providers: rules.providers,
        behavior: rules.behavior,
    }
}

fn reactive(priority: i32) -> Value {
    json!({"type": "Dynamic", "priority": priority, "dynamic": {
        "portraitType": "Reactive", "algorithm": {"type": "KubeHPA"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 60}}}]}})
}

fn predictive(priority: i32) -> Value {
    json!({"type": "Dynamic", "priority": priority, "dynamic": {
        "portraitType": "Predictive", "algorithm": {"type": "Forecast"},
        "metrics": [{"type": "Resource", "resource": {"name": "cpu",
            "target": {"type": "Utilization", "averageUtilization": 60}}}]}})
}

/// Windows as hour, hour and replicas.
fn cron(priority: i32, windows: &[(u8, u8, i32)]) -> Value {
    let crons = windows.iter().map(|(start, end, replicas)| {
        json!({"name": format!("from-{start}"), "start": format!("0 {start} * * *"),
            "end": format!("0 {end} * * *"), "replicas": replicas})
    });
    let crons: Vec<Value> = crons.collect();
    json!({"type": "Cron", "priority": priority, "cron": {"crons": crons}})
}

fn run(portraits: &Portraits, load: &ReplayLoad, start_up: i64) -> ReplayOutcome {
    replay_portraits(&target(start_up), portraits, load, &Knowledge::default())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn the_reaction_alone_is_the_plain_hpa_to_the_bit(
        start_up in 0..240_i64, noise in 0.0..0.2, seed in any::<u64>(), from in 0..2 * HOUR
    ) {
        let load = hills(4, from, noise, seed);
        let plain = ReplayPolicy::Hpa { target: Ratio::new(0.6).unwrap() };
        let plain = replay(&target(start_up), plain, &load, &Knowledge::default(), true);
        let alone = portraits(&json!([reactive(0)]), &Value::Null);
        let alone = run(&alone, &load, start_up);
        prop_assert_eq!(alone, plain);
    }

    #[test]
    fn of_equal_priority_none_is_passed_over(
        fixed in 1..12_i32, window in 1..25_i32, seed in any::<u64>(), forecasts in any::<bool>()
    ) {
        let load = hills(5, HOUR, 0.05, seed);
        let mut providers = vec![
            json!({"type": "Static", "priority": 0, "static": {"replicas": fixed}}),
            cron(0, &[(2, 4, window)]),
            reactive(0),
        ];
        if forecasts {
            providers.push(predictive(0));
        }
        let merged = run(&portraits(&json!(providers), &Value::Null), &load, 60);
        let mut beyond = 0;
        for point in &merged.points {
            let hour = point.at.as_second() / HOUR;
            let asked = if (2..4).contains(&hour) { fixed.max(window) } else { fixed };
            prop_assert!(point.replicas >= asked.max(2), "{:?} {}", point, asked);
            beyond += usize::from(point.replicas > asked.max(2));
        }
        prop_assert!(beyond > 0 || window > 16, "the load needs sixteen at times");
    }
}

#[test]
fn a_higher_priority_holds_while_it_has_something_to_say() {
    let both = json!([reactive(0), cron(1, &[(2, 4, 3)])]);
    let replayed = run(&portraits(&both, &Value::Null), &hills(5, HOUR, 0.0, 1), 60);
    let within = |from: i64, to: i64| {
        let meant = move |at: i64| from * HOUR <= at && at < to * HOUR;
        let points = replayed.points.iter();
        let points = points.filter(move |point| meant(point.at.as_second()));
        points.map(|point| point.replicas).collect::<Vec<_>>()
    };
    assert!(within(2, 4).iter().all(|replicas| *replicas == 3));
    assert!(within(1, 2).iter().any(|replicas| *replicas > 10));
    assert!(within(4, 5).iter().any(|replicas| *replicas > 10));
}

#[test]
fn a_scale_in_parks_pods_which_are_back_without_their_start() {
    // Ten, then four for an hour, and ten again while the waiting Pods are still observed; then
    // four for good.
    let windows = cron(0, &[(1, 2, 10), (2, 3, 4), (3, 4, 10), (4, 5, 4)]);
    let gray = |observation: i64| {
        json!({"scaleDown": {"grayStrategy": {"grayState": "Cutoff", "changePercent": 50,
            "changeIntervalSeconds": 60, "observationSeconds": observation}}})
    };
    let load = hills(5, HOUR + 600, 0.0, 1);
    let seen = |observation: i64, at: i64| {
        let portraits = portraits(&json!([windows]), &gray(observation));
        let replayed = run(&portraits, &load, 180);
        let point = replayed
            .points
            .iter()
            .find(|point| point.at.as_second() == at);
        let point = *point.unwrap();
        (point.replicas, point.ready)
    };
    let long = 2 * HOUR;
    // The first step at once, the second after a minute, and all of them stay.
    assert_eq!(seen(long, 2 * HOUR), (10, 7));
    assert_eq!(seen(long, 2 * HOUR + 60), (10, 4));
    assert_eq!(seen(long, 3 * HOUR - 15), (10, 4));
    assert_eq!(seen(long, 3 * HOUR + 15), (10, 10));
    // Parked Pods are deleted after their observation, and later Pods start anew.
    assert_eq!(seen(600, 2 * HOUR + 660), (4, 4));
    assert_eq!(seen(600, 3 * HOUR + 15), (10, 4));
    assert_eq!(seen(600, 3 * HOUR + 180), (10, 10));
}

#[test]
fn a_forecast_is_taught_by_the_past_and_raises_the_count_ahead_of_the_load() {
    let load = hills(54, 50 * HOUR, 0.03, 1);
    let under = |providers: Value| {
        let replayed = run(&portraits(&providers, &Value::Null), &load, 180);
        replayed.cost.under_provisioned_seconds
    };
    let plain = under(json!([reactive(0)]));
    let both = under(json!([reactive(0), predictive(0)]));
    assert!(plain > 0.0 && both < 0.8 * plain, "{both} {plain}");
}
