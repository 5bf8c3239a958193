//! A target over many ticks: what two replicas agree on, what a new one takes over, and what it
//! costs.

mod direct;
mod expected;
mod models;
mod portraits;
mod traffic;

use evenkeel_forecast::{ModelAssets, PointModel as _, Resolution, SHpa};
use evenkeel_hpa::{ScaleEvents, Settings, Tolerances, legacy_scale_up_limit};
use evenkeel_metrics::signal::ValueScope;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScaleDown;
use evenkeel_units::Ratio;
use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::*;
use crate::limits::scale_up_limit;
use crate::load::horizon::{Horizon, Lead};
use crate::load::hpa_aware::PodCapacity;
use crate::load::sum::Certainty;
use crate::recommend::decision_basis::DecisionBasis;

const START: i64 = 1_800_000_000;

fn time(tick: i64) -> Timestamp {
    Timestamp::from_second(START + 15 * tick).unwrap()
}

fn policy() -> TargetPolicy {
    TargetPolicy {
        mode: ScalingMode::Floor,
        bounds: ReplicaBounds::new(2, 40).unwrap(),
        behavior: None,
        tolerances: Tolerances::default(),
        scale_down: ScaleDown::Reactive,
        lead: Lead::default(),
        max_age: SignedDuration::from_mins(3),
        risk: Risk::default(),
    }
}

fn signals() -> [ScaledSignal; 1] {
    let target = Ratio::new(0.8).unwrap();
    [ScaledSignal {
        signal: Signal::CPU,
        capacity: PodCapacity::new(500.0, target).unwrap(),
        scope: ValueScope::Whole,
        is_forecast: true,
        only_here: false,
    }]
}

/// A hill of 20 minutes, from 2 cores up to 10.
fn hill(tick: i64) -> f64 {
    let tick = f64::from(i32::try_from(tick).unwrap());
    6000.0 - 4000.0 * (tick / 40.0 * std::f64::consts::PI).cos()
}

struct Run {
    tracker: LoadTracker,
    policy: TargetPolicy,
    models: Option<ModelSet>,
    current: i32,
    record: Option<Recommendation>,
}

impl Run {
    fn new(models: Option<ModelSet>) -> Self {
        let (tracker, policy) = (LoadTracker::default(), policy());
        Self {
            tracker,
            policy,
            models,
            current: 5,
            record: None,
        }
    }

    fn measured(&mut self, tick: i64, load: f64) -> TickReport {
        let at = time(tick);
        self.tracker
            .measure(&Signal::CPU, &LoadSample::of_moment(load, at), at)
            .unwrap();
        self.tick(tick)
    }

    fn tick(&mut self, tick: i64) -> TickReport {
        let recorded = self.record.as_ref().and_then(|record| {
            Some(Floor {
                replicas: record.min()?,
                until: record.until?,
            })
        });
        let input = TickInput {
            traffic: None,
            now: time(tick),
            current: self.current,
            ready: self.current,
            reaction: Reaction::Autoscaler(Some(self.current)),
            models: self.models,
            signals: &signals(),
            recorded,
            portraits: None,
            shared: &ModelAssets::default(),
        };
        self.tracker.tick(&self.policy, &input)
    }
}

/// A load at each tick.
type Load = fn(i64) -> f64;

/// A hill of five hours, slow enough for `s-hpa`.
fn slow_hill(tick: i64) -> f64 {
    let tick = f64::from(i32::try_from(tick).unwrap());
    6000.0 - 4000.0 * (tick / 200.0).cos()
}

#[test]
fn a_hill_is_climbed_ahead_of_its_load() {
    let cases: [(ModelSet, Load, i64); 2] = [
        (ModelSet::Auto, hill, 160),
        (ModelSet::SHpa, slow_hill, 600),
    ];
    for (models, load, ticks) in cases {
        let mut run = Run::new(Some(models));
        let (mut forecast, mut ahead) = (0, 0);
        for tick in 0..ticks {
            let report = run.measured(tick, load(tick));
            let needed = signals()[0].capacity.desired_for_sum(load(tick));
            let floor = report.decision.replicas;
            forecast += i32::from(report.decision.grounds == DecisionBasis::Forecast);
            ahead += i32::from(floor > needed);
            let contributed = report.contribution.as_ref().and_then(Recommendation::min);
            assert_eq!(contributed, (floor > 2).then_some(floor), "{report:?}");
            run.current = needed.max(floor);
        }
        assert!(
            forecast > 40 && ahead > 20,
            "{models:?}: {forecast}, {ahead}"
        );
    }
}

#[test]
fn targets_that_tick_together_decide_as_each_alone() {
    let runs = || {
        let runs = [
            Some(ModelSet::Auto),
            None,
            Some(ModelSet::SHpa),
            Some(ModelSet::Auto),
        ];
        runs.map(Run::new)
    };
    let (mut together, mut alone) = (runs(), runs());
    let mut forecasts = 0;
    for tick in 0..120 {
        let loads = [hill(tick), 2000.0, slow_hill(tick), 12_000.0 - hill(tick)];
        let alone = alone.iter_mut().zip(loads);
        let alone: Vec<_> = alone.map(|(run, load)| run.measured(tick, load)).collect();
        let at = time(tick);
        for (run, load) in together.iter_mut().zip(loads) {
            run.tracker
                .measure(&Signal::CPU, &LoadSample::of_moment(load, at), at)
                .unwrap();
        }
        let (signals, shared) = (signals(), ModelAssets::default());
        let targets = together.iter_mut().map(|run| TargetTick {
            tracker: &mut run.tracker,
            policy: &run.policy,
            input: TickInput {
                traffic: None,
                now: at,
                current: run.current,
                ready: run.current,
                reaction: Reaction::Autoscaler(Some(run.current)),
                models: run.models,
                signals: &signals,
                recorded: None,
                portraits: None,
                shared: &shared,
            },
        });
        let reports = tick_together(&mut targets.collect::<Vec<_>>());
        let reports: Vec<_> = reports.into_iter().map(Result::unwrap).collect();
        assert_eq!(reports, alone, "{tick}");
        let of_forecast = |one: &&TickReport| one.decision.grounds == DecisionBasis::Forecast;
        forecasts += reports.iter().filter(of_forecast).count();
    }
    assert!(forecasts > 60, "{forecasts}");
}

/// The step of its work at which a model breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Breaks {
    Observing,
    Forecasting,
}

#[derive(Debug)]
struct Broken(Breaks);

impl evenkeel_forecast::Model for Broken {
    fn name(&self) -> &'static str {
        SHpa::NAME
    }

    fn observe(&mut self, _: Option<f64>, _: &evenkeel_forecast::ForecastContext<'_>) {
        assert_ne!(self.0, Breaks::Observing, "an observation breaks it");
    }

    fn forecast(
        &self,
        _: usize,
        _: &evenkeel_forecast::ForecastContext<'_>,
    ) -> Result<Forecast, NotEnoughHistory> {
        assert_ne!(self.0, Breaks::Forecasting, "a forecast breaks it");
        Err(NotEnoughHistory { need: 1, have: 0 })
    }

    fn bytes(&self) -> usize {
        0
    }
}

#[test]
fn a_panic_in_one_target_is_that_targets_alone() {
    for breaks in [Breaks::Observing, Breaks::Forecasting] {
        let mut runs = [(); 5].map(|()| Run::new(Some(ModelSet::SHpa)));
        for tick in 0..30 {
            for run in &mut runs {
                run.measured(tick, hill(tick));
            }
        }
        let model = runs[2].tracker.loads[0].model().unwrap();
        model.replace(Box::new(Broken(breaks)));
        let (at, signals, shared) = (time(31), signals(), ModelAssets::default());
        for run in &mut runs {
            run.tracker
                .measure(&Signal::CPU, &LoadSample::of_moment(hill(31), at), at)
                .unwrap();
        }
        let targets = runs.iter_mut().map(|run| TargetTick {
            tracker: &mut run.tracker,
            policy: &run.policy,
            input: TickInput {
                traffic: None,
                now: at,
                current: run.current,
                ready: run.current,
                reaction: Reaction::Autoscaler(Some(run.current)),
                models: run.models,
                signals: &signals,
                recorded: None,
                portraits: None,
                shared: &shared,
            },
        });
        let reports = tick_together(&mut targets.collect::<Vec<_>>());
        let decided: Vec<_> = reports.iter().map(Result::is_ok).collect();
        assert_eq!(decided, [true, true, false, true, true], "{breaks:?}");
        let message = &reports[2].as_ref().unwrap_err().message;
        assert!(message.contains("breaks it"), "{message}");
        let whole = reports[0].as_ref().unwrap();
        assert!(whole.loads[0].model.is_some(), "{whole:?}");
        assert_eq!(
            reports[4].as_ref().unwrap(),
            whole,
            "as if nothing had been"
        );
    }
}

#[test]
fn a_model_that_lacks_history_says_when_it_will_not() {
    let mut run = Run::new(Some(ModelSet::SHpa));
    for tick in 0..9 {
        run.measured(tick, 2000.0);
    }
    let report = run.tick(9);
    assert_eq!(
        report.decision.reason,
        "floor stays 2: too little history, s-hpa ready in 3 min"
    );
    let lacking: Vec<_> = report.loads[0]
        .lacking
        .iter()
        .map(ToString::to_string)
        .collect();
    assert_eq!(lacking, ["s-hpa ready in 3 min"]);
    assert_eq!(report.decision.grounds, DecisionBasis::Reaction);
}

#[test]
fn a_step_counts_once_it_is_over_however_often_it_was_measured_and_ticked() {
    let (mut seldom, mut often) = (
        Run::new(Some(ModelSet::Auto)),
        Run::new(Some(ModelSet::Auto)),
    );
    let mut last = None;
    for tick in 0..100 {
        let one = seldom.measured(tick, hill(tick));
        let early = time(tick);
        often
            .tracker
            .measure(&Signal::CPU, &LoadSample::of_moment(9e9, early), early)
            .unwrap();
        often.tick(tick);
        let two = often.measured(tick, hill(tick));
        last = Some((one, two));
    }
    let (mut one, mut two) = last.unwrap();
    // The load that Pods carried is judged by each sample, when it comes.
    for load in one.loads.iter_mut().chain(&mut two.loads) {
        load.cover = None;
    }
    assert_eq!(one.loads, two.loads);
}

fn estimated(sum: f64, at: Timestamp) -> LoadSample {
    let mut sample = LoadSample::of_moment(sum, at);
    sample.load.certainty = Certainty::Estimated;
    sample
}

#[test]
fn estimates_train_nothing_and_the_models_go_on_across_them() {
    let (mut run, mut beside) = (
        Run::new(Some(ModelSet::Auto)),
        Run::new(Some(ModelSet::Auto)),
    );
    for tick in 0..100 {
        assert_eq!(
            run.measured(tick, hill(tick)),
            beside.measured(tick, hill(tick))
        );
    }
    let certain = run.tick(100).loads[0].clone();
    for tick in 100..110 {
        let at = time(tick);
        run.tracker
            .measure(&Signal::CPU, &estimated(9e6, at), at)
            .unwrap();
        let (report, silent) = (run.tick(tick), beside.tick(tick));
        let load = &report.loads[0];
        assert_eq!(report.decision, silent.decision, "as if there were none");
        assert_eq!((load.now, load.measured), (certain.now, certain.measured));
        let estimate = load.estimate.unwrap();
        assert_eq!((estimate.sum, estimate.measured), (9e6, at));
        assert!(load.fresh && !load.is_estimated, "the last sum still holds");
    }
    let scored = |report: &TickReport| report.loads[0].model.unwrap().accuracy.scored;
    let (report, silent) = (
        run.measured(110, hill(110)),
        beside.measured(110, hill(110)),
    );
    assert_eq!(report.loads[0].estimate, None);
    assert!(
        report.loads[0].model.unwrap().at_horizon.is_some(),
        "they went on"
    );
    assert_eq!(
        silent.loads[0].model.unwrap().at_horizon,
        None,
        "after a silence they begin anew"
    );
    let before = scored(&run.tick(110));
    for tick in 111..115 {
        run.measured(tick, hill(tick));
    }
    // Forecasts due in the stretch are not scored, and none of them is scored when it is over.
    assert_eq!(scored(&run.tick(115)), before);
    for tick in 115..125 {
        run.measured(tick, hill(tick));
    }
    assert!(scored(&run.tick(125)) > before);
}

#[test]
fn an_estimate_is_at_least_what_the_load_was() {
    let mut run = Run::new(None);
    let at = time(0);
    run.tracker
        .measure(&Signal::CPU, &estimated(700.0, at), at)
        .unwrap();
    assert_eq!(run.tick(0).loads[0].estimate, None, "nothing is known yet");
    run.measured(1, 1000.0);
    for (tick, sum, expected) in [(2, 300.0, 1000.0), (3, 1200.0, 1200.0), (4, 0.0, 1000.0)] {
        let at = time(tick);
        run.tracker
            .measure(&Signal::CPU, &estimated(sum, at), at)
            .unwrap();
        let load = run.tick(tick).loads[0].clone();
        assert_eq!(load.estimate.map(|one| one.sum), Some(expected));
        assert_eq!(load.now, Some(1000.0));
    }
    let later = run.tick(14).loads[0].clone();
    assert!(!later.fresh && later.is_estimated, "{later:?}");
}

#[test]
fn a_load_counts_for_the_centre_of_its_window_and_the_horizon_reaches_back_to_it() {
    let mut run = Run::new(Some(ModelSet::Auto));
    run.policy.lead = Lead::of(&[], SignedDuration::from_secs(15));
    let window = SignedDuration::from_secs(120);
    for tick in 0..200_i64 {
        // Scraped every minute, and 20 seconds old.
        let measured = time(tick - tick.rem_euclid(4)) - SignedDuration::from_secs(20);
        let at = measured - window / 2;
        let sample = LoadSample {
            at,
            measured,
            window,
            ..LoadSample::of_moment(hill(tick - tick.rem_euclid(4)), at)
        };
        run.tracker
            .measure(&Signal::CPU, &sample, time(tick))
            .unwrap();
        run.tick(tick);
    }
    let report = run.tick(200);
    let Horizon { lag, lead } = report.horizon;
    // A tick takes what is up to 65 seconds old.
    assert_eq!((lag.age.as_secs(), lag.half_window.as_secs()), (75, 60));
    assert_eq!(lead.sync + lead.tick, SignedDuration::from_secs(30));
    assert_eq!(report.horizon.total().as_secs(), 165);
    let load = &report.loads[0];
    let at = |time: Timestamp| (time.as_second() - START) / 15;
    assert_eq!(load.measured.map(at), Some(194));
    assert_eq!(load.at.map(at), Some(190));
    let model = load.model.unwrap();
    assert!(
        model.accuracy.scored > 30,
        "sparse scrapes are no gap: {model:?}"
    );
}

#[test]
fn a_load_that_is_not_forecast_has_no_model_and_proposes_nothing() {
    let (mut run, signals) = (Run::new(Some(ModelSet::Auto)), signals());
    let memory = ScaledSignal {
        signal: Signal::MEMORY,
        is_forecast: false,
        ..signals[0].clone()
    };
    for tick in 0..120 {
        let at = time(tick);
        run.tracker
            .measure(&Signal::MEMORY, &LoadSample::of_moment(hill(tick), at), at)
            .unwrap();
        let input = TickInput {
            traffic: None,
            now: at,
            current: 5,
            ready: 5,
            reaction: Reaction::Autoscaler(Some(5)),
            models: Some(ModelSet::Auto),
            signals: std::slice::from_ref(&memory),
            recorded: None,
            portraits: None,
            shared: &ModelAssets::default(),
        };
        let report = run.tracker.tick(&run.policy, &input);
        assert_eq!(report.decision.replicas, 2, "{report:?}");
        let load = &report.loads[0];
        assert!(load.model.is_none() && load.fresh && load.now.is_some());
    }
}

#[test]
fn a_refill_lets_the_forecasts_prove_themselves_within_minutes() {
    let mut run = Run::new(Some(ModelSet::Auto));
    let now = time(100);
    let fine = (0..100).map(|tick| (time(tick), hill(tick)));
    assert_eq!(
        run.tracker
            .refill(&Signal::CPU, Resolution::Fine, fine, now),
        100
    );
    let minutes = (0..150).map(|minute| (time(96 - 4 * minute), hill(98 - 4 * minute)));
    run.tracker
        .refill(&Signal::CPU, Resolution::Minute, minutes, now);
    let report = run.measured(100, hill(100));
    let model = report.loads[0].model.unwrap();
    assert!(model.at_horizon.is_some(), "{report:?}");
    // A few minutes of the past at a tick: three minutes later an hour of it has been gone through.
    for tick in 101..113 {
        run.measured(tick, hill(tick));
    }
    let model = run.tick(113).loads[0].model.unwrap();
    assert!(model.trust.is_trusted(), "{model:?}");
    let now = time(113);
    let day = (0..292).map(|step| (time(100 - step * 20), 5000.0));
    run.tracker
        .refill(&Signal::CPU, Resolution::FiveMinutes, day, now);
    let report = run.measured(114, hill(114));
    assert_eq!(report.loads[0].lacking, []);
}

#[test]
fn with_slower_pods_forecasts_look_further_ahead() {
    let mut run = Run::new(Some(ModelSet::Auto));
    for tick in 0..100 {
        run.measured(tick, hill(tick));
    }
    run.policy.lead.start_up = SignedDuration::from_secs(150);
    let report = run.measured(100, hill(100));
    let model = report.loads[0].model.unwrap();
    assert!(model.accuracy.scored > 10, "{model:?}");
    assert!(model.at_horizon.is_some() && report.horizon.lead == run.policy.lead);
    run.models = Some(ModelSet::SHpa);
    assert_eq!(
        run.measured(101, hill(101)).loads[0].model.unwrap().name,
        "s-hpa"
    );
    run.models = None;
    let report = run.measured(102, hill(102));
    assert_eq!(report.loads[0].model, None);
    assert!(report.loads[0].fresh && report.loads[0].now.is_some());
}

#[test]
fn who_was_fed_the_same_decides_the_same_when_it_takes_over() {
    let (mut a, mut b) = (
        Run::new(Some(ModelSet::Auto)),
        Run::new(Some(ModelSet::Auto)),
    );
    for tick in 0..140 {
        let (one, two) = (a.measured(tick, hill(tick)), b.measured(tick, hill(tick)));
        assert_eq!(one, two, "{tick}");
        for run in [&mut a, &mut b] {
            run.current = one.decision.replicas.max(5);
            run.record.clone_from(&one.contribution);
        }
    }
}

#[test]
fn a_new_process_keeps_the_floor_until_it_knows_better() {
    let record = Recommendation::of_prediction(9, time(20));
    let mut run = Run::new(Some(ModelSet::SHpa));
    (run.current, run.record) = (9, Some(record.clone()));
    for tick in 0..20 {
        let report = run.measured(tick, 1000.0);
        assert_eq!(
            report.contribution.as_ref(),
            Some(&record),
            "{tick}: the expiry stays"
        );
        let reason = &report.decision.reason;
        assert!(
            reason.ends_with(", floor 9 taken over until 2027-01-15T08:05:00Z"),
            "{reason}"
        );
    }
    let report = run.measured(20, 1000.0);
    assert_eq!(
        (report.contribution, report.decision.replicas),
        (None, 2),
        "it lapses"
    );
}

#[test]
fn a_floor_that_was_taken_over_goes_when_a_model_has_been_judged() {
    let mut run = Run::new(Some(ModelSet::SHpa));
    (run.current, run.record) = (9, Some(Recommendation::of_prediction(9, time(1000))));
    let kept = (0..120).take_while(|&tick| {
        let report = run.measured(
            tick,
            1000.0 + 10.0 * f64::from(u32::try_from(tick % 2).unwrap()),
        );
        report.decision.replicas == 9
    });
    let kept = kept.count();
    assert!(
        (40..80).contains(&kept),
        "judged, and then the window: {kept}"
    );

    let mut follower = Run::new(Some(ModelSet::SHpa));
    (follower.current, follower.record) = (9, Some(Recommendation::of_prediction(9, time(1000))));
    assert_eq!(follower.measured(0, 1000.0).decision.replicas, 9);
    follower.record = follower.record.map(|record| Recommendation {
        ask: crate::merge::recommendation::Ask::AtLeast {
            min: Some(6),
            max: None,
        },
        ..record
    });
    assert_eq!(
        follower.measured(1, 1000.0).decision.replicas,
        6,
        "the leader lowered it"
    );
    follower.record = None;
    assert_eq!(
        follower.measured(2, 1000.0).decision.replicas,
        2,
        "the leader took it back"
    );
    follower.record = run.record.clone();
    assert_eq!(
        follower.measured(3, 1000.0).decision.replicas,
        2,
        "it is not taken over twice"
    );
}

#[test]
fn ten_thousand_targets_of_two_series_stay_near_their_budget() {
    let mut tracker = LoadTracker::default();
    for tick in 0..200 {
        for signal in [&Signal::CPU, &Signal::MEMORY] {
            tracker
                .measure(
                    signal,
                    &LoadSample::of_moment(hill(tick), time(tick)),
                    time(tick),
                )
                .unwrap();
        }
        let reacted_to = signals().map(|cpu| ScaledSignal {
            signal: Signal::MEMORY,
            is_forecast: false,
            ..cpu
        });
        tracker.keep_pasts(&[signals(), reacted_to].concat());
        let input = TickInput {
            traffic: None,
            now: time(tick),
            current: 5,
            ready: 5,
            reaction: Reaction::Autoscaler(Some(5)),
            models: Some(ModelSet::Auto),
            signals: &signals(),
            recorded: None,
            portraits: None,
            shared: &ModelAssets::default(),
        };
        tracker.tick(&policy(), &input);
    }
    let megabytes = 10_000 * tracker.bytes() / 1_000_000;
    assert!((85..=100).contains(&megabytes), "{megabytes} MB");
}

#[test]
fn a_load_that_is_not_forecast_has_no_past_until_it_is() {
    let forecast = |is_forecast| {
        signals().map(|scaled| ScaledSignal {
            is_forecast,
            ..scaled
        })
    };
    let mut tracker = LoadTracker::default();
    let now = time(0);
    let load = LoadSample::of_moment(1000.0, now);
    tracker.measure(&Signal::CPU, &load, now).unwrap();
    let whole = tracker.bytes();
    assert!(
        !tracker.keep_pasts(&forecast(false)),
        "there is nothing to ask for"
    );
    assert!(tracker.bytes() + 3000 < whole);
    assert!(!tracker.keep_pasts(&forecast(false)));
    assert!(tracker.keep_pasts(&forecast(true)), "its past is not known");
    assert_eq!(tracker.bytes(), whole);
    assert!(!tracker.keep_pasts(&forecast(true)));
}

/// A measurement so many ticks old, or none, the count, and the ticks that pass.
type Happening = (Option<(i64, f64)>, i32, i64);

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let load = prop_oneof![
        6 => (0..4_i64, 0.0..20_000.0_f64).prop_map(Some),
        2 => Just(None),
    ];
    prop::collection::vec(
        (
            load,
            1..30_i32,
            prop_oneof![9 => Just(1_i64), 1 => 2..200_i64],
        ),
        1..90,
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn every_floor_keeps_the_bounds_and_the_scale_up_limit(
        happenings in happenings(), auto in any::<bool>(), adopted in prop::option::of(1..60_i32)
    ) {
        let models = if auto { ModelSet::Auto } else { ModelSet::SHpa };
        let runs: Vec<Vec<TickReport>> = (0..2).map(|_| {
            let mut run = Run::new(Some(models));
            run.record = adopted.map(|min| Recommendation::of_prediction(min, time(40)));
            let mut tick = 0;
            happenings.iter().map(|&(load, current, after)| {
                tick += after;
                run.current = current;
                if let Some((old, load)) = load {
                    let sample = LoadSample::of_moment(load, time(tick - old));
                    let _ = run.tracker.measure(&Signal::CPU, &sample, time(tick));
                }
                run.tick(tick)
            }).collect()
        }).collect();
        prop_assert_eq!(&runs[0], &runs[1], "the same history, the same decisions");
        let mut floor = adopted.unwrap_or(2).max(2);
        for (report, &(_, current, _)) in runs[0].iter().zip(&happenings) {
            let replicas = report.decision.replicas;
            prop_assert!((2..=40).contains(&replicas));
            prop_assert!(replicas <= legacy_scale_up_limit(current, &Settings::default()).max(2), "{report:?}");
            let (limit, _) = scale_up_limit(None, current, &ScaleEvents::default(), time(0));
            prop_assert_eq!(limit, legacy_scale_up_limit(current, &Settings::default()));
            if report.loads.iter().all(|load| !load.fresh) {
                prop_assert!(replicas <= floor, "blindness raises nothing: {report:?}");
            }
            floor = replicas;
        }
    }
}

#[test]
fn a_clock_that_was_far_ahead_does_not_stop_the_loop_until_that_time_has_come() {
    const AHEAD: i64 = 4 * 60 * 24 * 365;
    let mut run = Run::new(Some(ModelSet::Auto));
    for tick in 0..200 {
        run.measured(AHEAD + tick, hill(tick));
    }
    let mut fresh = Run::new(Some(ModelSet::Auto));
    for tick in 0..200 {
        let report = run.measured(tick, hill(tick));
        assert!(report.loads[0].fresh, "tick {tick}");
        assert_eq!(report.loads[0].measured, Some(time(tick)));
        let expected = fresh.measured(tick, hill(tick));
        let known = |report: &TickReport| report.loads[0].clone();
        assert_eq!(known(&report), known(&expected), "tick {tick}");
    }
}

#[test]
fn a_clock_that_was_set_back_a_little_forgets_nothing() {
    let mut run = Run::new(Some(ModelSet::Auto));
    for tick in 0..100 {
        run.measured(tick, hill(tick));
    }
    run.measured(95, hill(95));
    let report = run.measured(100, hill(100));
    assert!(report.loads[0].model.unwrap().at_horizon.is_some());
}

#[test]
fn what_a_target_scales_by_no_more_is_forgotten_once_it_is_much() {
    let signal = |index: usize| Signal::Resource(format!("r{index}").as_str().into());
    let scaled = |index| ScaledSignal {
        signal: signal(index),
        ..signals()[0].clone()
    };
    let mut tracker = LoadTracker::default();
    for index in 0..6 {
        let at = time(0);
        let sample = LoadSample::of_moment(1.0, at);
        tracker.measure(&signal(index), &sample, at).unwrap();
    }
    let known = |tracker: &LoadTracker| tracker.loads.len();
    tracker.forget_but(&[scaled(0), scaled(1)]);
    assert_eq!(known(&tracker), 6, "metrics are taken away and given back");
    tracker.forget_but(&[scaled(5)]);
    assert_eq!(known(&tracker), 1);
    assert_eq!(tracker.loads[0].signal, signal(5));
    tracker.forget(&signal(5));
    assert_eq!(known(&tracker), 0);
}
