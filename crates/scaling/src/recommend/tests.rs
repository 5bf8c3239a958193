//! Decisions of single ticks in words and numbers, and what holds of all of them.

mod early;

use evenkeel_forecast::{Distrust, Forecast, ForecastStep, Interval, ModelTrust, Rival};
use evenkeel_hpa::{
    BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, SelectPolicy, Settings, Tolerances,
    legacy_scale_up_limit,
};
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScaleDown;
use evenkeel_units::Ratio;
use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::input::{LoadEstimate, Prediction, SignalLoad};
use super::policy::Strategy as Method;
use super::*;
use crate::bounds_record::contest::Contest;
use crate::load::horizon::Lead;
use crate::load::hpa_aware::PodCapacity;

const TRUSTED: ModelTrust = ModelTrust::Trusted {
    ratio: 0.83,
    rival: Rival::LastValue,
};
const DISTRUSTED: ModelTrust =
    ModelTrust::Untrusted(Distrust::NotBetterThanNaive { ratio: Some(1.62) });

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Pods of 1.5 cores at 80 %, so 1.2 cores each; bounds 4 to 10; a floor.
fn policy() -> TargetPolicy {
    TargetPolicy {
        mode: ScalingMode::Floor,
        bounds: ReplicaBounds::new(4, 10).unwrap(),
        behavior: None,
        tolerances: Tolerances::default(),
        scale_down: ScaleDown::Reactive,
        lead: Lead::default(),
        max_age: SignedDuration::from_mins(3),
        risk: Risk::default(),
    }
}

fn scale_up(policies: &[(PolicyType, i32, i32)], select: SelectPolicy) -> Behavior {
    let policies = policies
        .iter()
        .map(|&(policy_type, value, period_seconds)| ScalingPolicy {
            policy_type,
            value,
            period_seconds,
        });
    let rules = RulesSpec {
        policies: Some(policies.collect()),
        select_policy: Some(select),
        ..RulesSpec::default()
    };
    let spec = BehaviorSpec {
        scale_up: Some(rules),
        scale_down: None,
    };
    spec.defaulted()
}

fn capacity() -> PodCapacity {
    PodCapacity::new(1500.0, Ratio::new(0.8).unwrap()).unwrap()
}

fn forecast(now: Timestamp, mean: f64) -> Forecast {
    let step = ForecastStep {
        mean,
        interval80: Interval {
            lower: mean * 0.9,
            upper: mean * 1.1,
        },
        interval95: Interval {
            lower: mean * 0.8,
            upper: mean * 1.2,
        },
    };
    Forecast {
        origin: now,
        step: SignedDuration::from_secs(15),
        steps: vec![step; 12],
        clamped: 0,
        unbounded: Box::default(),
    }
}

/// The input of one tick: a load in millicores, and perhaps a forecast of it.
#[derive(Debug, Clone)]
struct Told {
    second: i64,
    current: i32,
    reactive: Option<i32>,
    recent: Vec<f64>,
    age: i64,
    /// The age of an estimate that has come since.
    estimated: Option<i64>,
    mean: Option<f64>,
    trust: ModelTrust,
    strategy: Method,
    model: &'static str,
    only_here: bool,
    /// Another load that was measured just now, and asks for nothing.
    beside: bool,
}

impl Told {
    fn new(second: i64, current: i32, used: f64, mean: f64) -> Self {
        Self {
            second,
            current,
            reactive: None,
            recent: vec![used; 30],
            age: 5,
            estimated: None,
            mean: Some(mean),
            trust: TRUSTED,
            strategy: Method::DsHpa,
            model: "s-hpa",
            only_here: false,
            beside: false,
        }
    }

    fn decide(
        &self,
        policy: &TargetPolicy,
        mut state: DecisionState,
    ) -> (ScalingDecision, DecisionState) {
        let decision = self.with_input(|input| decide(policy, &mut state, input));
        (decision, state)
    }

    fn with_input<T>(&self, decide: impl FnOnce(&DecisionInput<'_>) -> T) -> T {
        let now = at(self.second);
        let forecast = self.mean.map(|mean| forecast(now, mean));
        let load = SignalLoad {
            signal: &Signal::CPU,
            capacity: capacity(),
            recent: &self.recent,
            measured: Some(at(self.second - self.age)),
            estimate: self.estimated.map(|age| LoadEstimate {
                sum: 9e9,
                measured: at(self.second - age),
            }),
            is_forecast: true,
            only_here: self.only_here,
            prediction: forecast.as_ref().map(|forecast| Prediction {
                model: self.model,
                forecast,
                cover: None,
                trust: self.trust,
            }),
            lacking: None,
        };
        let beside = SignalLoad {
            signal: &Signal::MEMORY,
            measured: Some(now),
            only_here: false,
            prediction: None,
            recent: &[1000.0; 30],
            ..load
        };
        let loads = [load, beside];
        let input = DecisionInput {
            now,
            current: self.current,
            ready: self.current,
            strategy: self.strategy,
            ahead: SignedDuration::from_secs(75),
            reactive: self.reactive,
            reaction: "",
            missing: "",
            is_switched_off: false,
            is_asleep: false,
            loads: if self.beside { &loads } else { &loads[..1] },
            traffic: None,
            portrayed: None,
        };
        decide(&input)
    }
}

#[test]
fn a_floor_rises_ahead_of_the_load_and_says_why() {
    let behavior = Some(scale_up(&[(PolicyType::Pods, 2, 15)], SelectPolicy::Max));
    let policy = TargetPolicy {
        behavior,
        ..policy()
    };
    let told = Told::new(0, 4, 4100.0, 9800.0);
    let (decision, state) = told.decide(&policy, DecisionState::default());
    assert_eq!(
        decision.reason,
        "floor 4 -> 6, limited by scaleUp policy Pods=2/15s: forecast 9.8 cores in 75 s against 4.1 now, \
         each Pod carries 1.2, s-hpa trusted (error 0.83 of naive)"
    );
    assert_eq!(decision.replicas, 6);
    let by = decision.limited_by.unwrap();
    assert_eq!(by.reason(), "ScaleUpPolicy");
    let followed = Told::new(15, 6, 4100.0, 9800.0).decide(&policy, state).0;
    assert_eq!(
        followed.reason,
        "floor stays 6, limited by scaleUp policy Pods=2/15s: forecast 9.8 cores in 60 s against 4.1 now, \
         each Pod carries 1.2, s-hpa trusted (error 0.83 of naive)"
    );
}

#[test]
fn the_floor_waits_for_its_hpa_and_for_the_cool_down() {
    let mut state = DecisionState::default();
    let policy = policy();
    for (second, current, replicas, by) in [
        (0, 4, 8, Some("DefaultScaleUp")),
        (15, 4, 8, Some("DefaultScaleUp")),
        (30, 8, 8, Some("CoolDown")),
        (165, 8, 8, Some("CoolDown")),
        (180, 8, 10, Some("MaxReplicas")),
    ] {
        let told = Told::new(second, current, 4100.0, 30_000.0);
        let (decision, next) = told.decide(&policy, state);
        let found = decision.limited_by.map(LimitedBy::reason);
        assert_eq!(
            (decision.replicas, found),
            (replicas, by),
            "{second}: {decision:?}"
        );
        state = next;
    }
}

#[test]
fn forecasts_of_a_single_model_wait_for_the_cool_down_and_those_of_auto_do_not() {
    for (strategy, model, expected) in [
        (Method::DsHpa, "s-hpa", 8),
        (Method::Forecast, "arima", 8),
        (Method::Forecast, "auto", 10),
    ] {
        let mut state = DecisionState::default();
        let mut replicas = Vec::new();
        for (second, current) in [(0, 4), (30, 8)] {
            let told = Told {
                strategy,
                model,
                ..Told::new(second, current, 4100.0, 30_000.0)
            };
            let (decision, next) = told.decide(&policy(), state);
            replicas.push(decision.replicas);
            state = next;
        }
        assert_eq!(replicas, [8, expected], "{model}");
    }
}

#[test]
fn a_forecast_stands_for_one_horizon_and_d_hpa_watches_meanwhile() {
    let policy = TargetPolicy {
        mode: ScalingMode::Direct,
        behavior: Some(scale_up(
            &[(PolicyType::Percent, 900, 15)],
            SelectPolicy::Max,
        )),
        ..policy()
    };
    let (first, state) = Told::new(0, 4, 4100.0, 7000.0).decide(&policy, DecisionState::default());
    assert_eq!(first.replicas, 6);
    let mut later = Told::new(60, 6, 4100.0, 2000.0);
    let (stands, state) = later.decide(&policy, state);
    assert_eq!(stands.replicas, 6, "the forecast of the first tick stands");
    later.recent = vec![4100.0, 8000.0];
    let (watched, state) = later.decide(&policy, state);
    assert_eq!(
        (watched.replicas, watched.reason.as_str()),
        (
            10,
            "replicas 6 -> 10, limited by maxReplicas 10: cpu rose 95 % to 89 % of its request, \
             d-hpa target 40 %"
        )
    );
    later.second = 75;
    later.recent = vec![8000.0; 30];
    let (fell, _) = later.decide(&policy, state);
    assert_eq!(
        fell.replicas, 6,
        "the new forecast asks for less than there is: {fell:?}"
    );
}

#[test]
fn what_is_not_trusted_or_too_short_is_not_heard() {
    for (trust, samples, reason) in [
        (
            DISTRUSTED,
            30,
            "floor stays 4: s-hpa not trusted (error 1.62 of naive)",
        ),
        (
            TRUSTED,
            19,
            "floor stays 4: nothing to add to the HPA's own rule",
        ),
    ] {
        let mut told = Told::new(0, 4, 4100.0, 30_000.0);
        told.trust = trust;
        told.recent.truncate(samples);
        let (decision, state) = told.decide(&policy(), DecisionState::default());
        assert_eq!((decision.replicas, decision.reason.as_str()), (4, reason));
        assert_eq!((state.active_forecast, state.floor), (None, None));
    }
}

#[test]
fn a_forecast_that_loses_its_trust_stops_to_stand_and_its_floor_waits_for_the_window() {
    let (_, mut state) =
        Told::new(0, 4, 4100.0, 30_000.0).decide(&policy(), DecisionState::default());
    let mut told = Told::new(15, 8, 4100.0, 30_000.0);
    told.trust = DISTRUSTED;
    for (second, reason) in [
        (
            15,
            "floor stays 8, limited by the scaleDown window of 300 s",
        ),
        (
            300,
            "floor stays 8, limited by the scaleDown window of 300 s",
        ),
        (301, "floor 8 -> 4"),
    ] {
        told.second = second;
        let (decision, next) = told.decide(&policy(), state);
        let expected = format!("{reason}: s-hpa not trusted (error 1.62 of naive)");
        assert_eq!(decision.reason, expected, "{second}");
        assert_eq!(next.active_forecast, None);
        state = next;
    }
}

fn scale_down(window: Option<i32>, pods: i32, period_seconds: i32) -> Behavior {
    let policy = ScalingPolicy {
        policy_type: PolicyType::Pods,
        value: pods,
        period_seconds,
    };
    let rules = RulesSpec {
        stabilization_window_seconds: window,
        policies: Some(vec![policy]),
        ..RulesSpec::default()
    };
    let spec = BehaviorSpec {
        scale_up: None,
        scale_down: Some(rules),
    };
    spec.defaulted()
}

#[test]
fn a_floor_comes_down_by_the_scale_down_rules_of_its_hpa() {
    let (default, none) = (None, Some(0));
    for (behavior, falls) in [
        (None, vec![(390, 4)]),
        (Some(scale_down(default, 100, 15)), vec![(375, 4)]),
        (Some(scale_down(Some(600), 100, 15)), vec![(675, 4)]),
        // The horizon of the last proposal is over before the first step.
        (Some(scale_down(none, 100, 15)), vec![(150, 4)]),
        (
            Some(scale_down(none, 1, 60)),
            vec![(150, 7), (210, 6), (270, 5), (330, 4)],
        ),
        (Some(scale_down(default, 2, 120)), vec![(375, 6), (495, 4)]),
    ] {
        let policy = TargetPolicy {
            behavior,
            ..policy()
        };
        let (mut state, mut found, mut before) = (DecisionState::default(), Vec::new(), 8);
        for second in (0..900).step_by(15) {
            let mean = if second <= 75 { 9600.0 } else { 4100.0 };
            let mut told = Told::new(second, 8, 4100.0, mean);
            told.strategy = Method::Forecast;
            let (decision, next) = told.decide(&policy, state);
            if decision.replicas != before {
                found.push((second, decision.replicas));
            } else if decision.replicas > 4 && second > 150 {
                let by = decision.limited_by.map(LimitedBy::reason);
                assert!(
                    by.is_some_and(|by| by.starts_with("ScaleDown")),
                    "{second}: {by:?}"
                );
            }
            (state, before) = (next, decision.replicas);
        }
        assert_eq!(found, falls, "{:?}", policy.behavior);
    }
}

/// The harm of a floor that follows each tick: the HPA goes along with every fall at once.
#[test]
fn a_flapping_forecast_moves_the_floor_up_once_and_down_once() {
    for (mean, trust) in [(4100.0, TRUSTED), (9600.0, DISTRUSTED)] {
        for period in [30, 90, 240] {
            let (mut state, mut floors) = (DecisionState::default(), vec![4]);
            for second in (0..3600).step_by(15) {
                let mut told = Told::new(second, 8, 4100.0, 9600.0);
                told.strategy = Method::Forecast;
                if second >= 1800 || (second / period) % 2 == 1 {
                    (told.mean, told.trust) = (Some(mean), trust);
                }
                let (decision, next) = told.decide(&policy(), state);
                floors.push(decision.replicas);
                state = next;
            }
            floors.dedup();
            assert_eq!(floors, [4, 8, 4], "{mean} {period}");
        }
    }
}

#[test]
fn what_the_user_changes_does_not_wait_for_the_window() {
    let (_, state) = Told::new(0, 8, 4100.0, 9600.0).decide(&policy(), DecisionState::default());
    assert_eq!(state.floor.unwrap().replicas, 8);
    let mut told = Told::new(15, 8, 4100.0, 9600.0);
    let fewer = TargetPolicy {
        bounds: ReplicaBounds::new(4, 6).unwrap(),
        ..policy()
    };
    assert_eq!(told.decide(&fewer, state.clone()).0.replicas, 6);
    let recommend = TargetPolicy {
        mode: ScalingMode::Recommend,
        ..policy()
    };
    assert_eq!(told.decide(&recommend, state.clone()).1.floor, None);
    told.strategy = Method::Off;
    let (decision, state) = told.decide(&policy(), state);
    assert_eq!((decision.replicas, state.floor), (4, None));
}

#[test]
fn stale_data_keeps_the_floor_until_its_horizon_and_its_window_are_over() {
    for (behavior, lapses) in [(None, 315), (Some(scale_down(Some(0), 100, 15)), 75)] {
        let policy = TargetPolicy {
            behavior,
            ..policy()
        };
        let (_, mut state) =
            Told::new(0, 4, 4100.0, 7200.0).decide(&policy, DecisionState::default());
        for second in (15..=lapses).step_by(15) {
            let mut told = Told::new(second, 6, 9000.0, 30_000.0);
            told.age = 500;
            let (decision, next) = told.decide(&policy, state);
            let replicas = if second < lapses { 6 } else { 4 };
            assert_eq!(decision.replicas, replicas, "{second}: {decision:?}");
            assert_eq!(decision.limited_by, Some(LimitedBy::MissingData));
            state = next;
        }
        let mut told = Told::new(2000, 6, 9000.0, 30_000.0);
        told.age = 500;
        let (decision, _) = told.decide(&policy, state);
        assert_eq!(
            decision.reason,
            "floor stays 4: no fresh measurement of the load (the newest is 500 s old)"
        );
    }
}

#[test]
fn a_floor_on_what_nobody_else_knows_stands_while_that_is_not_known() {
    for (only_here, beside, replicas) in [
        (true, true, 6),
        (true, false, 6),
        (false, true, 4),
        (false, false, 4),
    ] {
        let told = |second, age| Told {
            age,
            only_here,
            beside,
            ..Told::new(second, 6, 4100.0, 7200.0)
        };
        let (_, mut state) = told(0, 5).decide(&policy(), DecisionState::default());
        assert_eq!(state.floor.unwrap().replicas, 6);
        for second in (15..=7200).step_by(15) {
            let (decision, next) = told(second, second + 5).decide(&policy(), state);
            state = next;
            let seen = (decision.replicas, second);
            assert!(second < 1200 || seen == (replicas, second), "{decision:?}");
        }
        // It comes back, and says less: the floor goes its way down.
        for second in (7215..=8400).step_by(15) {
            let mut told = told(second, 5);
            (told.recent, told.mean) = (vec![1000.0; 30], Some(1000.0));
            state = told.decide(&policy(), state).1;
        }
        assert_eq!(
            state
                .floor_in_force()
                .map_or(4, |floor| floor.replicas.max(4)),
            4
        );
    }
}

#[test]
fn an_estimate_holds_the_floor_for_a_while_and_never_raises_it() {
    let (_, mut state) =
        Told::new(0, 4, 4100.0, 7200.0).decide(&policy(), DecisionState::default());
    // The last certain sum is that of the first tick; the forecasts and estimates are wild.
    for second in (200..=1800).step_by(15) {
        let mut told = Told::new(second, 6, 9000.0, 30_000.0);
        (told.age, told.estimated) = (second + 5, Some(5));
        let (decision, next) = told.decide(&policy(), state);
        let (replicas, limit) = match second + 5 {
            ..=900 => (6, LimitedBy::EstimatedLoad),
            // From then on it goes as if nothing were known.
            901..=1195 => (6, LimitedBy::MissingData),
            _ => (4, LimitedBy::MissingData),
        };
        assert_eq!(decision.limited_by, Some(limit), "{second}: {decision:?}");
        assert_eq!(decision.replicas, replicas, "{second}: {decision:?}");
        assert_eq!(
            decision.grounds == DecisionBasis::LastKnown,
            next.floor.is_some()
        );
        state = next;
    }
    let mut told = Told::new(3000, 6, 9000.0, 30_000.0);
    (told.age, told.estimated) = (200, Some(5));
    let (decision, next) = told.decide(&policy(), DecisionState::default());
    assert_eq!((decision.replicas, next.floor), (4, None), "it raises none");
    assert_eq!(
        decision.reason,
        "floor stays 4: the load is estimated at 9000000 cores until its Pods settle"
    );
}

#[test]
fn scaling_in_ahead_needs_leave_and_the_upper_bound_below() {
    let mut told = Told::new(0, 8, 4900.0, 3000.0);
    told.reactive = Some(8);
    let direct = TargetPolicy {
        mode: ScalingMode::Direct,
        ..policy()
    };
    assert_eq!(told.decide(&direct, DecisionState::default()).0.replicas, 8);
    let early = TargetPolicy {
        scale_down: ScaleDown::Early,
        ..direct
    };
    let (decision, state) = told.decide(&early, DecisionState::default());
    assert_eq!(decision.replicas, 5, "4.9 cores now need 5: {decision:?}");
    told.mean = Some(8000.0);
    assert_eq!(told.decide(&early, DecisionState::default()).0.replicas, 8);

    (told.second, told.current, told.recent) = (90, 5, vec![3700.0; 30]);
    told.mean = Some(2000.0);
    let (decision, state) = told.decide(&early, state);
    let pause = Some(LimitedBy::CoolDown { until: at(300) });
    assert_eq!((decision.replicas, decision.limited_by), (5, pause));
    told.second = 300;
    assert_eq!(told.decide(&early, state).0.replicas, 4);
}

#[test]
fn a_recommendation_stands_though_nobody_follows_it() {
    let recommend = TargetPolicy {
        mode: ScalingMode::Recommend,
        ..policy()
    };
    let mut state = DecisionState::default();
    for second in [0, 15, 90, 300] {
        let told = Told::new(second, 4, 4100.0, 30_000.0);
        let (decision, next) = told.decide(&recommend, state);
        assert_eq!(decision.replicas, 8, "{second}: {decision:?}");
        state = next;
    }
}

#[test]
fn off_and_zero_leave_things_as_they_are() {
    let off = TargetPolicy {
        mode: ScalingMode::Off,
        ..policy()
    };
    for (policy, current, reason) in [
        (off, 7, "scaling is off"),
        (policy(), 0, "scaled to zero, which switches scaling off"),
    ] {
        let told = Told::new(0, current, 4100.0, 30_000.0);
        let (decision, state) = told.decide(&policy, DecisionState::default());
        assert_eq!(
            (decision.replicas, decision.reason.as_str()),
            (current, reason)
        );
        assert_eq!(state.floor, None);
    }
}

/// True for a decision that leaves the count to another writer.
fn is_left(decision: &ScalingDecision, told: &Told) -> bool {
    let contested = matches!(decision.limited_by, Some(LimitedBy::Contested { .. }));
    assert!(
        !contested || decision.replicas == told.current,
        "{decision:?}"
    );
    contested
}

fn modes() -> impl Strategy<Value = ScalingMode> {
    prop_oneof![
        Just(ScalingMode::Recommend),
        Just(ScalingMode::Floor),
        Just(ScalingMode::Direct)
    ]
}

fn behaviors() -> impl Strategy<Value = Option<Behavior>> {
    let kind = prop_oneof![Just(PolicyType::Pods), Just(PolicyType::Percent)];
    let select = prop_oneof![
        Just(SelectPolicy::Max),
        Just(SelectPolicy::Min),
        Just(SelectPolicy::Disabled)
    ];
    let policies = prop::collection::vec((kind, 1..120_i32, 1..90_i32), 1..3);
    prop_oneof![
        Just(None),
        (policies, select).prop_map(|(policies, select)| Some(scale_up(&policies, select))),
    ]
}

fn policies() -> impl Strategy<Value = TargetPolicy> {
    let bounds = (0..8_i32, 1..30_i32).prop_map(|(min, more)| ReplicaBounds::new(min, min + more));
    let early = prop_oneof![Just(ScaleDown::Reactive), Just(ScaleDown::Early)];
    (modes(), bounds, behaviors(), early).prop_map(|(mode, bounds, behavior, scale_down)| {
        TargetPolicy {
            mode,
            bounds: bounds.unwrap(),
            behavior,
            scale_down,
            ..policy()
        }
    })
}

prop_compose! {
    fn ticks()(
        told in prop::collection::vec((
            1..40_i64,
            1..40_i32,
            prop::option::of(0..40_i32),
            prop::collection::vec(0.0..60_000.0_f64, 0..40),
            prop_oneof![4 => 0..180_i64, 1 => 181..900_i64],
            prop::option::of(0.0..60_000.0_f64),
            prop_oneof![3 => Just(TRUSTED), 1 => Just(DISTRUSTED)],
            prop::option::weighted(0.3, 0..200_i64),
        ), 1..25),
        strategy in prop_oneof![
            Just(Method::DsHpa), Just(Method::Forecast), Just(Method::Off)
        ],
        model in prop_oneof![Just("s-hpa"), Just("arima")],
    ) -> Vec<Told> {
        let mut second = 0;
        let ticks = told.into_iter().map(|(after, current, reactive, recent, age, mean, trust, estimated)| {
            second += after;
            Told {
                second, current, reactive, recent, age, estimated, mean, trust, strategy, model,
                only_here: false,
                beside: false,
            }
        });
        ticks.collect()
    }
}

proptest! {
    #[test]
    fn every_result_lies_in_the_bounds_and_in_what_scale_up_allows(
        policy in policies(), ticks in ticks()
    ) {
        let mut state = DecisionState::default();
        for told in ticks {
            let (decision, next) = told.decide(&policy, state);
            if is_left(&decision, &told) {
                state = next;
                continue;
            }
            let bounds = policy.bounds;
            prop_assert!((bounds.min()..=bounds.max()).contains(&decision.replicas));
            let now = at(told.second);
            let rules = policy.behavior.as_ref();
            let (limit, _) = scale_up_limit(rules, told.current, &next.events, now);
            if rules.is_none() {
                prop_assert_eq!(limit, legacy_scale_up_limit(told.current, &Settings::default()));
            }
            let others = if policy.mode == ScalingMode::Floor {
                prop_assert!(decision.replicas >= 1);
                bounds.min()
            } else {
                bounds.clamp(told.reactive.unwrap_or(0))
            };
            prop_assert!(decision.replicas <= limit.max(others).max(1), "{:?}", decision);
            state = next;
        }
    }

    #[test]
    fn a_prediction_only_adds_unless_scaling_in_early_is_allowed(
        policy in policies(), ticks in ticks()
    ) {
        let policy = TargetPolicy { scale_down: ScaleDown::Reactive, ..policy };
        let mut state = DecisionState::default();
        for told in ticks {
            let (decision, next) = told.decide(&policy, state);
            let least = match policy.mode {
                ScalingMode::Floor => policy.bounds.min(),
                _ => policy.bounds.clamp(told.reactive.unwrap_or(told.current)),
            };
            let kept = decision.replicas >= least || is_left(&decision, &told);
            prop_assert!(kept, "{:?}", decision);
            state = next;
        }
    }

    #[test]
    fn stale_or_missing_data_moves_nothing(
        policy in policies(), ticks in ticks(), missing in any::<bool>(), reactive in 0..40_i32
    ) {
        let mut state = DecisionState::default();
        let mut floor = policy.bounds.min().max(1);
        for told in &ticks {
            let (decision, next) = told.decide(&policy, state);
            (state, floor) = (next, decision.replicas);
        }
        state.contest = Contest::default();
        let mut last = ticks.last().cloned().unwrap();
        last.age = 181;
        if missing {
            last.recent.clear();
        }
        last.second += 1;
        last.reactive = None;
        let blind = last.decide(&policy, state.clone()).0;
        let kept = policy.bounds.clamp(last.current);
        if policy.mode == ScalingMode::Floor {
            prop_assert!(blind.replicas <= floor, "{blind:?}");
        } else {
            prop_assert_eq!(blind.replicas, kept);
        }
        prop_assert!(blind.limited_by.is_some());
        last.reactive = Some(reactive);
        if policy.mode != ScalingMode::Floor {
            let plain = policy.bounds.clamp(reactive);
            let found = last.decide(&policy, state.clone()).0.replicas;
            prop_assert!((plain..=plain.max(kept)).contains(&found), "{found}");
            last.second += 1000;
            prop_assert_eq!(last.decide(&policy, state).0.replicas, plain);
        }
    }

    #[test]
    fn what_was_raised_stands_for_the_window_whatever_comes(
        ticks in ticks(), strategy in prop_oneof![Just(Method::DsHpa), Just(Method::Forecast)]
    ) {
        let (policy, mut state) = (policy(), DecisionState::default());
        let mut raised: Vec<(i64, i32)> = Vec::new();
        for told in ticks {
            let told = Told { current: 40, strategy, ..told };
            let (decision, next) = told.decide(&policy, state);
            let found = decision.replicas;
            for (second, replicas) in &raised {
                if told.second - second <= 300 {
                    prop_assert!(found >= *replicas, "{replicas} at {second}: {:?}", decision);
                }
            }
            let before = raised.last().map_or(4, |(_, replicas)| *replicas);
            if found != before {
                // A fall is noted for the next rise to be told from it, and holds up nothing.
                let second = if found > before { told.second } else { i64::MIN / 2 };
                raised.push((second, found));
            }
            state = next;
        }
    }

    #[test]
    fn the_same_history_gives_the_same_decisions(policy in policies(), ticks in ticks()) {
        let run = || {
            let mut state = DecisionState::default();
            let decisions = ticks.iter().map(|told| {
                let (decision, next) = told.decide(&policy, std::mem::take(&mut state));
                state = next;
                decision
            });
            decisions.collect::<Vec<_>>()
        };
        prop_assert_eq!(run(), run());
    }
}
