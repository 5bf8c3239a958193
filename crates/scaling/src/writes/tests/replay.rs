//! Trackers and plans together, tick by tick, on one cluster.

use evenkeel_forecast::ModelAssets;
use evenkeel_hpa::{Settings, legacy_scale_up_limit};
use evenkeel_metrics::signal::Signal;
use proptest::prelude::*;

use super::*;
use crate::load::observation::LoadSample;
use crate::tracker::LoadTracker;

/// One replica: what it has measured, and what it remembers of its plans.
#[derive(Default)]
struct Replica {
    tracker: LoadTracker,
    memory: PlanMemory,
}

impl Replica {
    fn measure(&mut self, second: i64, load: Option<f64>) {
        if let Some(load) = load {
            let now = at(second);
            let sample = LoadSample::of_moment(load, now);
            self.tracker.measure(&Signal::CPU, &sample, now).unwrap();
        }
    }

    /// The decision of a tick.
    fn decide(&mut self, world: &World, second: i64) -> TickReport {
        let now = at(second);
        let resolved = world.resolved_by(&self.memory, now);
        let target = resolved.target.as_ref().unwrap();
        let shared = ModelAssets::default();
        let input = target.input(now, &shared, None, &[]);
        self.tracker.tick(&target.policy, &input)
    }

    /// The decision, and what it would write.
    fn plan(&mut self, world: &World, second: i64) -> (Vec<Write>, TickReport) {
        let report = self.decide(world, second);
        (self.plan_for(world, &report, second), report)
    }

    /// The writes that it would make on a report.
    fn plan_for(&mut self, world: &World, report: &TickReport, second: i64) -> Vec<Write> {
        let now = at(second);
        let resolved = world.resolved_by(&self.memory, now);
        let context = context(now);
        let memory = &mut self.memory;
        plan(&world.observed(), &resolved, Some(report), memory, &context)
    }
}

impl World {
    pub(super) fn resolved_by(&self, memory: &PlanMemory, now: Timestamp) -> ResolvedTarget {
        resolve(
            &self.observed(),
            self.conflict,
            &settings(),
            memory.record(now),
            now,
        )
    }

    /// The HPA's own work: 80 % of 1.5 cores for each Pod, within the bounds.
    fn scale(&mut self, load: f64) {
        let wanted = evenkeel_units::replicas_ceil(load / 1200.0);
        let (min, max) = self.bounds();
        let replicas = i64::from(wanted).max(min.unwrap_or(1)).min(max);
        self.workload.as_mut().unwrap()["spec"]["replicas"] = json!(replicas);
        self.hpa()["status"] = json!({"currentReplicas": replicas, "desiredReplicas": replicas});
    }

    fn least(&mut self) -> i64 {
        self.bounds().0.unwrap()
    }
}

#[test]
fn a_ramp_is_met_by_a_floor_that_is_told_in_words_and_put_back() {
    let (mut world, mut replica) = (World::new(), Replica::default());
    let mut ahead = 0;
    for second in (0..2400).step_by(15) {
        let needed = i64::from(evenkeel_units::replicas_ceil(wave(second) / 1200.0));
        replica.measure(second, Some(wave(second)));
        let (writes, _) = replica.plan(&world, second);
        world.apply(&writes);
        ahead += i64::from(world.least() > needed);
        world.scale(wave(second));
    }
    assert!(ahead > 10, "{ahead}");
    let (_, note) = world
        .told
        .iter()
        .find(|(reason, _)| reason == "FloorRaised")
        .unwrap();
    assert!(note.starts_with("floor "), "{note}");
    let words = [
        ": forecast ",
        " cores in 60 s against ",
        " now, each Pod carries ",
        " trusted (error ",
        " of a factor on the last load)",
    ];
    assert!(words.iter().all(|word| note.contains(word)), "{note}");
    for second in (2400..3300).step_by(15) {
        let (writes, _) = replica.plan(&world, second);
        world.apply(&writes);
    }
    assert_eq!(
        (world.least(), world.has_record()),
        (2, false),
        "nothing is measured any more"
    );
    assert_eq!(
        world.holds("MetricsAvailable"),
        Some(ConditionStatus::False)
    );
}

/// The floors of the wave over an hour, with this word of `scale-down`.
fn floors(rule: &str) -> Vec<i64> {
    let (mut world, mut replica) = (World::new(), Replica::default());
    world.annotate("evenkeel.dev/scale-down", json!(rule));
    let seconds = (0..3600).step_by(15);
    let floors = seconds.map(|second| {
        replica.measure(second, Some(wave(second)));
        let (writes, _) = replica.plan(&world, second);
        world.apply(&writes);
        world.scale(wave(second));
        world.least()
    });
    floors.collect()
}

/// The harm: in mode floor the annotation changed nothing.
#[test]
fn an_early_scale_in_lowers_a_floor_ahead_of_the_load_and_carries_it() {
    let (reactive, early) = (floors("reactive"), floors("early"));
    let sum = |floors: &[i64]| floors.iter().sum::<i64>();
    assert!(sum(&early) < sum(&reactive), "{early:?} {reactive:?}");
    for tick in 1..early.len() {
        let (before, after) = (early[tick - 1], early[tick]);
        let load = wave(15 * i64::try_from(tick).unwrap());
        // Within the tolerance of a tenth each Pod carries 1.2 cores.
        let carried = 1320.0 * f64::from(i32::try_from(after).unwrap());
        let is_early = after < before && after < reactive[tick];
        assert!(
            !is_early || carried >= load,
            "{tick}: {after} Pods for {load}"
        );
    }
}

#[test]
fn a_replica_that_was_fed_the_same_goes_on_where_the_leader_stopped() {
    let mut world = World::new();
    let (mut a, mut b) = (Replica::default(), Replica::default());
    for second in (0..1950).step_by(15) {
        for replica in [&mut a, &mut b] {
            replica.measure(second, Some(wave(second)));
        }
        let (writes, decided) = a.plan(&world, second);
        // A follower decides and does not plan.
        assert_eq!(decided, b.decide(&world, second), "{second}");
        world.apply(&writes);
        world.scale(wave(second));
    }
    let least = world.least();
    assert!(least > 2, "the floor is up: {least}");
    let bounds = |writes: &[Write]| {
        writes
            .iter()
            .any(|write| write.purpose == Purpose::ScalingBounds)
    };
    for replica in [&mut a, &mut b] {
        replica.measure(1950, Some(wave(1950)));
    }
    let ((by_a, _), (by_b, _)) = (a.plan(&world, 1950), b.plan(&world, 1950));
    assert_eq!(bounds(&by_a), bounds(&by_b));
    assert!(
        by_b.iter()
            .all(|write| write.purpose != Purpose::ScalingEvent || bounds(&by_b))
    );
}

#[test]
fn a_new_replica_keeps_the_floor_that_it_finds_until_it_lapses_or_it_knows_better() {
    let mut world = World::new();
    world.tick(Some(7), 0);
    world.scale(2000.0);
    let mut fresh = Replica::default();
    for second in (15..600).step_by(15) {
        fresh.measure(second, Some(2000.0).filter(|_| second < 200));
        let (writes, _) = fresh.plan(&world, second);
        world.apply(&writes);
        assert_eq!(world.least(), 7, "{second}");
    }
    let (writes, _) = fresh.plan(&world, 600);
    world.apply(&writes);
    assert_eq!((world.least(), world.has_record()), (2, false));
}

/// For each tick: the measurement, if there is one, and true if another writer reverts the floor.
fn ticks() -> impl Strategy<Value = Vec<(Option<f64>, bool)>> {
    let load = prop_oneof![5 => (0.0..14_000.0_f64).prop_map(Some), 1 => Just(None)];
    prop::collection::vec((load, prop::bool::weighted(0.03)), 30..90)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn the_same_history_gives_the_same_writes_and_no_floor_outruns_the_hpa(ticks in ticks()) {
        let run = || {
            let (mut world, mut replica) = (World::new(), Replica::default());
            let mut all = Vec::new();
            for ((load, undone), second) in ticks.iter().zip((0..).step_by(15)) {
                replica.measure(second, *load);
                let before = world.least();
                let current = i32::try_from(world.hpa()["status"]["currentReplicas"].as_i64().unwrap());
                let (writes, report) = replica.plan(&world, second);
                world.apply(&writes);
                let raised = world.least() > before;
                let limit = i64::from(legacy_scale_up_limit(current.unwrap(), &Settings::default()));
                assert!(!raised || world.least() <= limit, "{report:?}");
                assert!(!raised || report.loads[0].fresh, "blindness raises nothing: {report:?}");
                assert!((2..=10).contains(&world.least()));
                let memory = replica.memory.clone();
                let again = replica.plan_for(&world, &report, second);
                replica.memory = memory;
                assert_eq!(again, [], "the plan of what is there is empty");
                all.extend(writes);
                if *undone {
                    world.hpa()["spec"]["minReplicas"] = json!(2);
                }
                world.scale(load.unwrap_or(3000.0));
            }
            all
        };
        prop_assert_eq!(run(), run());
    }
}
