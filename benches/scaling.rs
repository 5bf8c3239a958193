//! The cost of predicting: one S-HPA forecast, and one tick of 10,000 targets.

use std::hint::black_box;
use std::num::NonZeroUsize;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use evenkeel::forecast::{Forecaster, Rolling, SHpa, Scorecard, Variant, window_forecast};
use evenkeel::scaling::history::{History, Resolution};
use evenkeel::scaling::hpa_aware::PodCapacity;
use evenkeel::scaling::{
    Bounds, Load, Mode, Observation, Policy, Predicted, ScaleDown, State, Strategy, decide,
};
use evenkeel::units::{Ratio, Resource};
use jiff::{SignedDuration, Timestamp};

const TARGETS: u32 = 10_000;
const STEPS: usize = 12;
const START: i64 = 1_800_000_000;

/// A hill with ripples, other for each target.
fn load(target: u32, tick: u32) -> f64 {
    let phase = f64::from(target) * 0.37;
    4000.0 + 2500.0 * (f64::from(tick) / 90.0 + phase).sin() + 40.0 * f64::from((tick * 7) % 11)
}

fn time(tick: u32) -> Timestamp {
    Timestamp::from_second(START + 15 * i64::from(tick)).expect("a time")
}

struct Target {
    history: History,
    model: Rolling<SHpa>,
    scores: Scorecard,
    state: State,
}

impl Target {
    fn new(target: u32) -> Self {
        let mut history = History::default();
        for tick in 0..120 {
            let taken = history.insert(time(tick), load(target, tick), time(tick));
            taken.expect("the samples are in order");
        }
        let mut model = Rolling::new(SHpa::default(), STEPS);
        let series = history.series(Resolution::Fine).expect("it has samples");
        model.fit(&series).expect("120 samples are enough");
        let horizon = NonZeroUsize::new(5).expect("it is not zero");
        Self {
            history,
            model,
            scores: Scorecard::new(horizon),
            state: State::default(),
        }
    }

    /// Everything that one tick does for one target: history, model, score, decision.
    fn tick(&mut self, value: f64, now: Timestamp, policy: &Policy) -> i32 {
        let _ = self.history.insert(now, value, now);
        self.model.update(Some(value));
        let forecast = self.model.forecast(STEPS).ok();
        self.scores.record(Some(value), forecast.as_ref());
        let recent = self
            .history
            .series(Resolution::Fine)
            .map(|series| series.usable());
        let recent = recent.map_or_else(Vec::new, |usable| usable.values);
        let load = Load {
            resource: Resource::Cpu,
            capacity: PodCapacity::new(500.0, policy.tolerance).expect("both are above 0"),
            recent: &recent,
            measured: Some(now),
            predicted: forecast.as_ref().map(|forecast| Predicted {
                model: self.model.name(),
                forecast,
                trust: self.scores.accuracy().trust(),
            }),
            lacking: None,
        };
        let observation = Observation {
            now,
            current: 8,
            reactive: Some(8),
            loads: &[load],
        };
        let (decision, state) = decide(policy, std::mem::take(&mut self.state), &observation);
        self.state = state;
        decision.replicas
    }
}

fn policy() -> Policy {
    Policy {
        mode: Mode::Floor,
        bounds: Bounds::new(1, 100).expect("in order"),
        behavior: None,
        tolerance: Ratio::new(0.1).expect("finite"),
        scale_down: ScaleDown::Reactive,
        strategy: Strategy::DsHpa,
        horizon: SignedDuration::from_secs(75),
        max_age: SignedDuration::from_mins(3),
    }
}

fn forecasting(criterion: &mut Criterion) {
    let window: Vec<f64> = (0..60).map(|tick| load(0, tick)).collect();
    criterion.bench_function("s-hpa window forecast, 12 steps", |bencher| {
        bencher.iter(|| {
            let mut means = [0.0; STEPS];
            let parabola = window_forecast(black_box(&window), Variant::Brown);
            parabola.expect("60 samples are enough").fill(&mut means);
            means
        });
    });
    criterion.bench_function("s-hpa update and forecast with intervals", |bencher| {
        let mut target = Target::new(0);
        let mut tick = 120;
        bencher.iter(|| {
            target.model.update(Some(load(0, tick)));
            tick += 1;
            target.model.forecast(STEPS)
        });
    });
}

fn ticking(criterion: &mut Criterion) {
    let policy = policy();
    let mut group = criterion.benchmark_group("tick");
    group.sample_size(10);
    group.bench_function("10,000 targets with s-hpa", |bencher| {
        let mut targets: Vec<Target> = (0..TARGETS).map(Target::new).collect();
        let mut tick = 120;
        bencher.iter_batched(
            || {
                tick += 1;
                let loads: Vec<f64> = (0..TARGETS).map(|target| load(target, tick)).collect();
                (loads, time(tick))
            },
            |(loads, now)| {
                let all = targets.iter_mut().zip(loads);
                all.map(|(target, value)| i64::from(target.tick(value, now, &policy)))
                    .sum::<i64>()
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, forecasting, ticking);
criterion_main!(benches);
