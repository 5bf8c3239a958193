//! Disturbances of a target's measured load while the true load is constant. The floor must not
//! rise.

use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::load::sum::Certainty;
use evenkeel_scaling::tracker::Reaction;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Ratio, Resource};
use jiff::SignedDuration;

use crate::scrape_timing::Timing;
use crate::target_replay::settings::Edges;
use crate::target_replay::tick::TickObservation;
use crate::target_replay::*;

const SECONDS: fn(i64) -> SignedDuration = SignedDuration::from_secs;

/// Ticks before a disturbance, in which models earn their scores.
const QUIET: u32 = 160;

/// Pods of half a core with a target of 60 % and a start of two minutes.
fn target() -> ReplayTarget {
    ReplayTarget {
        resource: Resource::Cpu,
        capacity: PodCapacity::new(500.0, Ratio::new(0.6).unwrap()).unwrap(),
        bounds: ReplicaBounds::new(2, 60).unwrap(),
        start_up: SECONDS(120),
        metrics: Timing::default(),
        edges: Edges {
            warm_up: 5.0,
            settling: SECONDS(30),
            ending: SECONDS(20),
        },
        initial: Some(10),
    }
}

/// At a tick, counted from the first disturbance.
type Happens = fn(&mut ScaledPods, i64, SignedDuration);

/// Constant but for a little noise, in millicores: ten Pods carry it at 55 %.
fn flat(ticks: u32) -> RegularSeries {
    let value = |tick: u32| 2750.0 + 40.0 * f64::from(tick * 7 % 5) - 80.0;
    let values = (0..ticks).map(|tick| Some(value(tick))).collect();
    RegularSeries::new(Timestamp::UNIX_EPOCH, GRID, values).unwrap()
}

/// Slow enough for `s-hpa` to be trusted.
fn hills(ticks: u32) -> RegularSeries {
    let wave = |tick: u32| (f64::from(tick) / 200.0).cos();
    let values = (0..ticks).map(|tick| Some(2750.0 - 600.0 * wave(tick)));
    RegularSeries::new(Timestamp::UNIX_EPOCH, GRID, values.collect()).unwrap()
}

/// Floors by tick, and the ticks at which the load was only estimated.
fn floors(
    target: &ReplayTarget,
    models: ModelSet,
    load: &RegularSeries,
    happens: Happens,
) -> (Vec<i32>, usize) {
    let share = target.capacity.target();
    let mut pods = ScaledPods::new(target, load, share, Start::Settled);
    let mut forecaster = Forecaster::floors(target, Floors::by(models));
    let (mut floor, mut floors, mut estimated) = (target.bounds.min(), Vec::new(), 0);
    for (tick, passing) in (0..).zip(ticks(load, &mut |_| ())) {
        let ReplayTick {
            now,
            at,
            load: value,
        } = passing;
        if let Some(since) = tick_since(tick) {
            happens(&mut pods, since, at);
        }
        let reactive = pods.sync(at, value, floor);
        let measured = pods.measured();
        let is_certain = measured.is_some_and(|one| one.load.certainty == Certainty::Certain);
        estimated += usize::from(!is_certain && tick > 20);
        let decided = forecaster.decide(&TickObservation {
            now,
            measured,
            current: pods.replicas(),
            ready: pods.ready(at),
            starts: pods.starts(),
            reaction: Reaction::Autoscaler(reactive),
            portraits: None,
        });
        floor = decided.replicas;
        floors.push(floor);
        pods.pass(at, value);
    }
    (floors, estimated)
}

fn tick_since(tick: u32) -> Option<i64> {
    tick.checked_sub(QUIET).map(i64::from)
}

/// Positions of Pods that stay, the oldest first.
fn staying(pods: &ScaledPods) -> Vec<usize> {
    let all = 0..pods.pods.len();
    all.filter(|&index| pods.pods[index].stays()).collect()
}

/// Pods made before `made`, the oldest first.
fn end_older(pods: &mut ScaledPods, mut count: i32, made: SignedDuration, at: SignedDuration) {
    for index in staying(pods) {
        if pods.pods[index].made() < made {
            count -= pods.end(index, count, at);
        }
    }
}

/// With a surge of three Pods: new ones are made, and old ones end once these are ready.
fn rollout(pods: &mut ScaledPods, since: i64, at: SignedDuration) {
    // Three Pods every three minutes, of ten.
    if since % 12 == 0 && since < 48 {
        let count = (10 - since / 4).clamp(0, 3);
        pods.make(i32::try_from(count).unwrap(), at, at + SECONDS(120));
    }
    if since % 12 == 9 && since < 60 {
        let count = i32::try_from((10 - since / 12 * 3).clamp(0, 3)).unwrap();
        end_older(pods, count, SECONDS(i64::from(QUIET) * 15), at);
    }
}

/// By `Recreate`: all Pods end, and then as many are made.
fn recreate(pods: &mut ScaledPods, since: i64, at: SignedDuration) {
    if since == 0 {
        end_older(pods, i32::MAX, at, at);
        pods.make(10, at, at + SECONDS(120));
    }
}

/// A user doubles the Pods for ten minutes.
fn doubling(pods: &mut ScaledPods, since: i64, at: SignedDuration) {
    match since {
        0 => pods.make(10, at, at + SECONDS(120)),
        40 => pods.scale_to(10, at),
        _ => {}
    }
}

/// Two Pods crash repeatedly, ever longer after each other, and recover in between.
fn crash_loop(pods: &mut ScaledPods, since: i64, at: SignedDuration) {
    if [0, 6, 14, 26, 46, 70, 94].contains(&since) {
        let crashed = staying(pods)[0];
        pods.restart(crashed, at, at + SECONDS(45));
    }
}

/// A Pod is evicted and made again each minute.
fn churn(pods: &mut ScaledPods, since: i64, at: SignedDuration) {
    if since % 4 == 0 && since < 120 {
        end_older(pods, 1, at, at);
        pods.make(1, at, at + SECONDS(30));
    }
}

const CASES: [(&str, Happens); 5] = [
    ("a rollout with surge", rollout),
    ("a rollout by Recreate", recreate),
    ("a scale-out of double size", doubling),
    ("a crash loop", crash_loop),
    ("Pods that come and go", churn),
];

#[test]
fn the_floor_rises_in_none_of_what_happens_to_the_pods_while_the_load_stands_still() {
    let load = flat(QUIET + 140);
    let mut rises = Vec::new();
    for models in [ModelSet::SHpa, ModelSet::Auto] {
        for (case, happens) in CASES {
            let (floors, estimated) = floors(&target(), models, &load, happens);
            let highest = floors.iter().copied().max();
            if highest != Some(target().bounds.min()) {
                rises.push((case, models, highest));
            }
            assert!(estimated > 0, "{case}: it disturbs the sum");
        }
    }
    assert_eq!(rises, []);
}

#[test]
fn a_forecast_that_is_trusted_asks_for_no_more_than_the_load_needs() {
    // On a load without noise nothing is better than the last value.
    let noisy = with_noise(hills(QUIET * 10), 0.03, RandomSource::new(1));
    let mut rises = Vec::new();
    for (models, load) in [(ModelSet::SHpa, hills(QUIET * 5)), (ModelSet::Auto, noisy)] {
        let highest = load.values().iter().copied().flatten();
        let needed = highest.map(|load| target().capacity.desired_for_sum(load));
        let needed = needed.max().unwrap();
        for (case, happens) in CASES {
            let (floors, _) = floors(&target(), models, &load, happens);
            let most = *floors.iter().max().unwrap();
            assert!(
                most > target().bounds.min(),
                "{case}, {models}: a forecast is trusted"
            );
            if most > needed + 1 {
                rises.push((case, models, most, needed));
            }
        }
    }
    assert_eq!(rises, []);
}
