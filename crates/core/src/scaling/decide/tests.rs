//! Decisions of single ticks in words and numbers, and what holds of all of them.

use proptest::prelude::*;
use proptest::strategy::Strategy;

use super::*;
use crate::forecast::{Distrust, Forecast, Interval, Step, Trust};
use crate::scaling::hpa::{
    BehaviorSpec, PolicyType, RulesSpec, ScalingPolicy, SelectPolicy, Settings, Tolerances,
    legacy_scale_up_limit,
};
use crate::scaling::hpa_aware::PodCapacity;
use crate::scaling::{Bounds, ScaleDown, SignalLoad, Strategy as Method};
use crate::units::Ratio;

const TRUSTED: Trust = Trust::Trusted { ratio: 0.83 };
const DISTRUSTED: Trust = Trust::Untrusted(Distrust::NotBetterThanNaive { ratio: Some(1.62) });

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

/// Pods of 1.5 cores at 80 %, so 1.2 cores each; bounds 4 to 10; a floor.
fn policy() -> Policy {
    Policy {
        mode: Mode::Floor,
        bounds: Bounds::new(4, 10).unwrap(),
        behavior: None,
        tolerances: Tolerances::default(),
        scale_down: ScaleDown::Reactive,
        horizon: SignedDuration::from_secs(75),
        max_age: SignedDuration::from_mins(3),
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
    let step = Step {
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
    mean: Option<f64>,
    trust: Trust,
    strategy: Method,
}

impl Told {
    fn new(second: i64, current: i32, used: f64, mean: f64) -> Self {
        Self {
            second,
            current,
            reactive: None,
            recent: vec![used; 30],
            age: 5,
            mean: Some(mean),
            trust: TRUSTED,
            strategy: Method::DsHpa,
        }
    }

    fn decide(&self, policy: &Policy, state: State) -> (Decision, State) {
        let now = at(self.second);
        let forecast = self.mean.map(|mean| forecast(now, mean));
        let load = SignalLoad {
            signal: &Signal::CPU,
            capacity: capacity(),
            recent: &self.recent,
            measured: Some(at(self.second - self.age)),
            prediction: forecast.as_ref().map(|forecast| Prediction {
                model: "s-hpa",
                forecast,
                trust: self.trust,
            }),
            lacking: None,
        };
        let input = DecisionInput {
            now,
            current: self.current,
            strategy: self.strategy,
            reactive: self.reactive,
            loads: &[load],
        };
        decide(policy, state, &input)
    }
}

#[test]
fn a_floor_rises_ahead_of_the_load_and_says_why() {
    let behavior = Some(scale_up(&[(PolicyType::Pods, 2, 15)], SelectPolicy::Max));
    let policy = Policy {
        behavior,
        ..policy()
    };
    let told = Told::new(0, 4, 4100.0, 9800.0);
    let (decision, state) = told.decide(&policy, State::default());
    assert_eq!(
        decision.reason,
        "forecast 9.8 cores in 75 s against 4.1 now, s-hpa trusted (0.83 of naive): \
         floor 4 -> 6, limited by scaleUp policy Pods=2/15s"
    );
    assert_eq!(decision.replicas, 6);
    let by = decision.limited_by.unwrap();
    assert_eq!(by.reason(), "ScaleUpPolicy");
    let followed = Told::new(15, 6, 4100.0, 9800.0).decide(&policy, state).0;
    assert_eq!(
        followed.reason,
        "forecast 9.8 cores in 60 s against 4.1 now, s-hpa trusted (0.83 of naive): \
         floor stays 6, limited by scaleUp policy Pods=2/15s"
    );
}

#[test]
fn the_floor_waits_for_its_hpa_and_for_the_cool_down() {
    let mut state = State::default();
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
fn a_forecast_stands_for_one_horizon_and_d_hpa_watches_meanwhile() {
    let policy = Policy {
        mode: Mode::Direct,
        behavior: Some(scale_up(
            &[(PolicyType::Percent, 900, 15)],
            SelectPolicy::Max,
        )),
        ..policy()
    };
    let (first, state) = Told::new(0, 4, 4100.0, 7000.0).decide(&policy, State::default());
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
            "cpu rose 95 % to 89 % of its request, d-hpa target 40 %: replicas 6 -> 10, \
             limited by maxReplicas 10"
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
            "s-hpa not trusted (1.62 of naive): floor stays 4",
        ),
        (
            TRUSTED,
            19,
            "nothing to add to the HPA's own rule: floor stays 4",
        ),
    ] {
        let mut told = Told::new(0, 4, 4100.0, 30_000.0);
        told.trust = trust;
        told.recent.truncate(samples);
        let (decision, state) = told.decide(&policy(), State::default());
        assert_eq!((decision.replicas, decision.reason.as_str()), (4, reason));
        assert_eq!((state.active_forecast, state.floor), (None, None));
    }
}

#[test]
fn a_forecast_that_loses_its_trust_stops_to_stand() {
    let (_, state) = Told::new(0, 4, 4100.0, 30_000.0).decide(&policy(), State::default());
    let mut told = Told::new(15, 8, 4100.0, 30_000.0);
    told.trust = DISTRUSTED;
    let (decision, state) = told.decide(&policy(), state);
    assert_eq!(
        decision.reason,
        "s-hpa not trusted (1.62 of naive): floor 8 -> 4"
    );
    assert_eq!(state.active_forecast, None);
}

#[test]
fn a_floor_stands_for_its_horizon_whatever_the_next_ticks_say() {
    let mut state = State::default();
    for (second, mean, replicas) in [
        (0, 7200.0, 6),
        (15, 6000.0, 6),
        (30, 8400.0, 7),
        (90, 6000.0, 7),
        (105, 6000.0, 5),
    ] {
        let mut told = Told::new(second, 7, 4100.0, mean);
        told.strategy = Method::Forecast;
        let (decision, next) = told.decide(&policy(), state);
        assert_eq!(decision.replicas, replicas, "{second}: {decision:?}");
        state = next;
    }
}

#[test]
fn stale_data_keeps_the_floor_until_it_lapses() {
    let (_, mut state) = Told::new(0, 4, 4100.0, 7200.0).decide(&policy(), State::default());
    for (second, replicas) in [(30, 6), (60, 6), (74, 6), (75, 4)] {
        let mut told = Told::new(second, 6, 9000.0, 30_000.0);
        told.age = 500;
        let (decision, next) = told.decide(&policy(), state);
        assert_eq!(decision.replicas, replicas, "{second}: {decision:?}");
        state = next;
    }
    let mut told = Told::new(2000, 6, 9000.0, 30_000.0);
    told.age = 500;
    let (decision, _) = told.decide(&policy(), state);
    assert_eq!(decision.limited_by, Some(LimitedBy::MissingData));
    assert_eq!(
        decision.reason,
        "no fresh measurement of the load (the newest is 500 s old): floor stays 4"
    );
}

#[test]
fn scaling_in_ahead_needs_leave_and_the_upper_bound_below() {
    let mut told = Told::new(0, 8, 4900.0, 3000.0);
    told.reactive = Some(8);
    let direct = Policy {
        mode: Mode::Direct,
        ..policy()
    };
    assert_eq!(told.decide(&direct, State::default()).0.replicas, 8);
    let early = Policy {
        scale_down: ScaleDown::Early,
        ..direct
    };
    let (decision, state) = told.decide(&early, State::default());
    assert_eq!(decision.replicas, 5, "4.9 cores now need 5: {decision:?}");
    told.mean = Some(8000.0);
    assert_eq!(told.decide(&early, State::default()).0.replicas, 8);

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
    let recommend = Policy {
        mode: Mode::Recommend,
        ..policy()
    };
    let mut state = State::default();
    for second in [0, 15, 90, 300] {
        let told = Told::new(second, 4, 4100.0, 30_000.0);
        let (decision, next) = told.decide(&recommend, state);
        assert_eq!(decision.replicas, 8, "{second}: {decision:?}");
        state = next;
    }
}

#[test]
fn off_and_zero_leave_things_as_they_are() {
    let off = Policy {
        mode: Mode::Off,
        ..policy()
    };
    for (policy, current, reason) in [
        (off, 7, "scaling is off"),
        (policy(), 0, "scaled to zero, which switches scaling off"),
    ] {
        let told = Told::new(0, current, 4100.0, 30_000.0);
        let (decision, state) = told.decide(&policy, State::default());
        assert_eq!(
            (decision.replicas, decision.reason.as_str()),
            (current, reason)
        );
        assert_eq!(state.floor, None);
    }
}

fn modes() -> impl Strategy<Value = Mode> {
    prop_oneof![Just(Mode::Recommend), Just(Mode::Floor), Just(Mode::Direct)]
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

fn policies() -> impl Strategy<Value = Policy> {
    let bounds = (0..8_i32, 1..30_i32).prop_map(|(min, more)| Bounds::new(min, min + more));
    let early = prop_oneof![Just(ScaleDown::Reactive), Just(ScaleDown::Early)];
    (modes(), bounds, behaviors(), early).prop_map(|(mode, bounds, behavior, scale_down)| Policy {
        mode,
        bounds: bounds.unwrap(),
        behavior,
        scale_down,
        ..policy()
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
        ), 1..25),
        strategy in prop_oneof![
            Just(Method::DsHpa), Just(Method::Forecast), Just(Method::Off)
        ],
    ) -> Vec<Told> {
        let mut second = 0;
        let ticks = told.into_iter().map(|(after, current, reactive, recent, age, mean, trust)| {
            second += after;
            Told { second, current, reactive, recent, age, mean, trust, strategy }
        });
        ticks.collect()
    }
}

proptest! {
    #[test]
    fn every_result_lies_in_the_bounds_and_in_what_scale_up_allows(
        policy in policies(), ticks in ticks()
    ) {
        let mut state = State::default();
        for told in ticks {
            let (decision, next) = told.decide(&policy, state);
            let bounds = policy.bounds;
            prop_assert!((bounds.min()..=bounds.max()).contains(&decision.replicas));
            let now = at(told.second);
            let rules = policy.behavior.as_ref();
            let (limit, _) = scale_up_limit(rules, told.current, &next.events, now);
            if rules.is_none() {
                prop_assert_eq!(limit, legacy_scale_up_limit(told.current, &Settings::default()));
            }
            let others = if policy.mode == Mode::Floor {
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
        let policy = Policy { scale_down: ScaleDown::Reactive, ..policy };
        let mut state = State::default();
        for told in ticks {
            let (decision, next) = told.decide(&policy, state);
            let least = match policy.mode {
                Mode::Floor => policy.bounds.min(),
                _ => policy.bounds.clamp(told.reactive.unwrap_or(told.current)),
            };
            prop_assert!(decision.replicas >= least, "{:?}", decision);
            state = next;
        }
    }

    #[test]
    fn stale_or_missing_data_moves_nothing(
        policy in policies(), ticks in ticks(), missing in any::<bool>(), reactive in 0..40_i32
    ) {
        let mut state = State::default();
        let mut floor = policy.bounds.min().max(1);
        for told in &ticks {
            let (decision, next) = told.decide(&policy, state);
            (state, floor) = (next, decision.replicas);
        }
        let mut last = ticks.last().cloned().unwrap();
        last.age = 181;
        if missing {
            last.recent.clear();
        }
        last.second += 1;
        last.reactive = None;
        let blind = last.decide(&policy, state.clone()).0;
        let kept = policy.bounds.clamp(last.current);
        if policy.mode == Mode::Floor {
            prop_assert!(blind.replicas <= floor, "{blind:?}");
        } else {
            prop_assert_eq!(blind.replicas, kept);
        }
        prop_assert!(blind.limited_by.is_some());
        last.reactive = Some(reactive);
        if policy.mode != Mode::Floor {
            let plain = policy.bounds.clamp(reactive);
            let found = last.decide(&policy, state.clone()).0.replicas;
            prop_assert!((plain..=plain.max(kept)).contains(&found), "{found}");
            last.second += 1000;
            prop_assert_eq!(last.decide(&policy, state).0.replicas, plain);
        }
    }

    #[test]
    fn the_same_history_gives_the_same_decisions(policy in policies(), ticks in ticks()) {
        let run = || {
            let mut state = State::default();
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
