//! The experiment of the DS-HPA paper (3.1, equations 13 and 14): a day's requests on a bell curve,
//! scaled by the plain HPA and by DS-HPA. The paper reports that DS-HPA scales out earlier and
//! serves the rise better; so it must be here, with the same Pods, delays and HPA rules for both.
//!
//! The paper does not say how fast it replayed the day. In real hours S-HPA earns its trust and
//! forecasts; with an hour in a few minutes it is worse than the last value, is not heard, and
//! D-HPA alone is ahead of the plain rule.

use std::cmp::Ordering;
use std::collections::VecDeque;
use std::num::NonZeroUsize;

use evenkeel_forecast::{
    ForecastContext, LoadRingBuffer, Model, ModelAssets, RollingModel, SHpa, Scorecard,
};
use evenkeel_hpa::{BehaviorSpec, ScaleEvents, Tolerances};
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};
use evenkeel_scaling::limits::scale_up_limit;
use evenkeel_scaling::load::horizon::Lead;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::recommend::decide;
use evenkeel_scaling::recommend::decision_state::DecisionState;
use evenkeel_scaling::recommend::input::{DecisionInput, Prediction, SignalLoad};
use evenkeel_scaling::recommend::policy::{Strategy, TargetPolicy};
use evenkeel_units::Ratio;
use jiff::{SignedDuration, Timestamp};

const TICK: SignedDuration = SignedDuration::from_secs(15);
/// An hour of the curve in one hour, and in two minutes.
const REAL: u32 = 240;
const FAST: u32 = 8;
/// From start to ready.
const STARTING: usize = 4;

/// Requests at hour `x` (13), (14).
fn requests(x: f64) -> f64 {
    let deviation = 5.0 / (2.0 * (2.0 * 2.0_f64.ln()).sqrt());
    let exponent = -(x - 11.0).powi(2) / (2.0 * deviation * deviation);
    exponent.exp() / (deviation * (2.0 * std::f64::consts::PI).sqrt()) * 5000.0 + 20.0
}

fn time(tick: u32) -> Timestamp {
    Timestamp::UNIX_EPOCH + TICK * i32::try_from(tick).expect("a day has few ticks")
}

fn policy() -> TargetPolicy {
    TargetPolicy {
        mode: ScalingMode::Direct,
        bounds: ReplicaBounds::new(1, 60).expect("in order"),
        behavior: Some(BehaviorSpec::default().defaulted()),
        tolerances: Tolerances::default(),
        scale_down: ScaleDown::Reactive,
        lead: Lead::default(),
        max_age: SignedDuration::from_mins(3),
        risk: Risk::default(),
    }
}

/// The plain HPA: its formula, its scaleUp rules, its 5-minute downscale window.
#[derive(Default)]
struct PlainHpa {
    events: ScaleEvents,
    recommendations: VecDeque<i32>,
    last: Option<i32>,
}

impl PlainHpa {
    fn wants(&mut self, current: i32, load: f64, policy: &TargetPolicy, now: Timestamp) -> i32 {
        let behavior = policy.behavior.as_ref();
        if let Some(last) = self.last.replace(current).filter(|&last| last != current) {
            self.events.record(behavior, last, current, now);
        }
        let desired = capacity().reactive(current, load, policy.tolerances);
        self.recommendations.push_back(desired);
        if self.recommendations.len() > 20 {
            self.recommendations.pop_front();
        }
        let highest = self
            .recommendations
            .iter()
            .copied()
            .max()
            .unwrap_or(desired);
        let stabilised = if desired < current {
            highest.min(current)
        } else {
            desired
        };
        let (limit, _) = scale_up_limit(behavior, current, &self.events, now);
        policy.bounds.clamp(stabilised.min(limit))
    }
}

/// A Pod serves 40 requests at its request, and is to be used to 60 %.
fn capacity() -> PodCapacity {
    PodCapacity::new(40.0, Ratio::new(0.6).expect("finite")).expect("above 0")
}

#[derive(Debug, Default, PartialEq)]
struct Outcome {
    /// The count at each tick.
    replicas: Vec<i32>,
    /// Ticks at which ready Pods were used above the HPA's own tolerance of their target.
    under_provisioned: usize,
    /// The most that ready Pods were used.
    worst: f64,
    /// Ticks decided by a forecast, and by D-HPA.
    by_forecast: usize,
    by_threshold: usize,
}

/// The load of a tick, measured just now.
fn load_now<'a>(
    recent: &'a [f64],
    now: Timestamp,
    prediction: Option<Prediction<'a>>,
) -> SignalLoad<'a> {
    SignalLoad {
        signal: &Signal::CPU,
        capacity: capacity(),
        recent,
        measured: Some(now),
        estimate: None,
        is_forecast: true,
        only_here: false,
        prediction,
        lacking: None,
    }
}

fn run(strategy: Strategy, ticks_per_hour: u32) -> Outcome {
    let (policy, mut hpa) = (policy(), PlainHpa::default());
    let horizon = NonZeroUsize::new(5).expect("not zero");
    let mut model = RollingModel::towards(SHpa::default(), horizon);
    let (history, shared) = (LoadRingBuffer::default(), ModelAssets::default());
    let mut scores = Scorecard::new(horizon);
    let (mut state, mut recent, mut current) = (DecisionState::default(), Vec::new(), 1);
    let mut outcome = Outcome::default();
    for tick in 1..=20 * ticks_per_hour {
        let now = time(tick);
        let load = requests(2.0 + f64::from(tick) / f64::from(ticks_per_hour));
        recent.push(load);
        let context = ForecastContext {
            history: &history,
            origin: now,
            step: TICK,
            shared: &shared,
        };
        model.observe(Some(load), &context);
        let forecast = model.forecast(12, &context).ok();
        scores.record(Some(load), forecast.as_ref());
        let newest = recent.len().saturating_sub(SHpa::WINDOW);
        let prediction = forecast.as_ref().map(|forecast| Prediction {
            model: model.name(),
            forecast,
            cover: None,
            trust: scores.trust(),
        });
        let loads = [load_now(&recent[newest..], now, prediction)];
        let input = DecisionInput {
            now,
            current,
            ready: current,
            strategy,
            ahead: SignedDuration::from_secs(75),
            reactive: Some(hpa.wants(current, load, &policy, now)),
            reaction: "",
            missing: "",
            is_switched_off: false,
            is_asleep: false,
            loads: &loads,
            traffic: None,
            portrayed: None,
        };
        let decision = decide(&policy, &mut state, &input);
        outcome.by_forecast += usize::from(decision.reason.contains(": forecast "));
        outcome.by_threshold += usize::from(decision.reason.contains("d-hpa"));
        current = decision.replicas;
        outcome.replicas.push(current);
        let since = outcome.replicas.len().saturating_sub(STARTING + 1);
        let ready = outcome.replicas[since..].iter().min();
        let ready = ready.copied().unwrap_or(current);
        let used = load / (f64::from(ready) * capacity().request());
        outcome.worst = outcome.worst.max(used);
        outcome.under_provisioned += usize::from(used > 1.1 * capacity().target());
    }
    outcome
}

/// The tick at which a count was first reached.
fn reached(outcome: &Outcome, count: i32) -> Option<usize> {
    outcome
        .replicas
        .iter()
        .position(|&replicas| replicas >= count)
}

fn compared(ticks_per_hour: u32) -> [Outcome; 2] {
    let [plain, ahead] = [Strategy::Off, Strategy::DsHpa].map(|s| run(s, ticks_per_hour));
    let highest = *plain.replicas.iter().max().expect("a day has ticks");
    // A step taken early can move the next one behind the tolerance, so not each count comes first.
    let (mut earlier, mut later) = (0, 0);
    for count in 2..=highest {
        match reached(&ahead, count).cmp(&reached(&plain, count)) {
            Ordering::Less => earlier += 1,
            Ordering::Equal => {}
            Ordering::Greater => later += 1,
        }
    }
    assert!(
        earlier > 2 * later && 4 * earlier > highest,
        "{earlier} earlier, {later} later"
    );
    assert!(ahead.under_provisioned < plain.under_provisioned);
    assert!(
        ahead.worst < plain.worst,
        "{} of {}",
        ahead.worst,
        plain.worst
    );
    let cost = |outcome: &Outcome| f64::from(outcome.replicas.iter().sum::<i32>());
    assert!(
        cost(&ahead) < 1.05 * cost(&plain),
        "{} of {}",
        cost(&ahead),
        cost(&plain)
    );
    [plain, ahead]
}

#[test]
fn in_real_hours_forecasts_take_away_most_of_the_lag() {
    let [plain, ahead] = compared(REAL);
    assert!(ahead.by_forecast > ahead.replicas.len() / 2);
    assert!(2 * ahead.under_provisioned < plain.under_provisioned);
}

#[test]
fn in_a_day_of_forty_minutes_the_lowered_target_alone_is_ahead() {
    let [_, ahead] = compared(FAST);
    assert_eq!(
        ahead.by_forecast, 0,
        "S-HPA is worse than the last value here"
    );
    assert!(ahead.by_threshold > 0);
}

#[test]
fn the_same_day_gives_the_same_decisions() {
    assert_eq!(run(Strategy::DsHpa, FAST), run(Strategy::DsHpa, FAST));
}
