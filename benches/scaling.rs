//! The cost of predicting: one S-HPA forecast, and one tick of 10,000 targets.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use evenkeel_core::forecast::{
    Context as ForecastContext, History, Model, Rolling, SHpa, Shared, Variant, window_forecast,
};
use evenkeel_core::scaling::Mode;
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_core::scaling::signal::Signal;
use evenkeel_core::scaling::tracker::Tracker;
use evenkeel_kubernetes::namespace_policy::NamespacePolicy;
use evenkeel_kubernetes::plan::scaling::{
    Context, Observed, PlanMemory, Pods, Settings, TargetRef, plan, resolve,
};
use evenkeel_kubernetes::pod::Pod;
use evenkeel_kubernetes::scaling_policy::Predict;
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

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

/// A target with two loads, each with half an hour of past.
struct Target {
    tracker: Tracker,
    memory: PlanMemory,
    observed: Observed,
}

impl Target {
    fn new(target: u32) -> Self {
        let mut tracker = Tracker::default();
        for tick in 0..120 {
            for (signal, value) in loads(target, tick) {
                let taken = tracker.measure(&signal, time(tick), value, time(tick));
                taken.expect("the samples are in order");
            }
        }
        Self {
            tracker,
            memory: PlanMemory::default(),
            observed: observed(target),
        }
    }

    /// Everything that one tick does for one target: measurements, models, decision, writes.
    fn tick(&mut self, loads: [(Signal, f64); 2], now: Timestamp, shared: &Shared) -> usize {
        for (signal, value) in loads {
            let _ = self.tracker.measure(&signal, now, value, now);
        }
        let resolved = resolve(
            &self.observed,
            false,
            &SETTINGS,
            self.memory.record(now),
            now,
        );
        let report = resolved.target.as_ref().map(|target| {
            let input = target.input(now, shared);
            self.tracker.tick(&target.policy, &input)
        });
        let context = Context {
            now,
            reporter: "bench",
        };
        let memory = &mut self.memory;
        plan(&self.observed, &resolved, report.as_ref(), memory, &context).len()
    }
}

const SETTINGS: Settings = Settings {
    mode: Mode::Floor,
    predict: Predict::Auto,
    interval: SignedDuration::from_secs(15),
    max_age: SignedDuration::from_mins(3),
};

fn loads(target: u32, tick: u32) -> [(Signal, f64); 2] {
    let cpu = load(target, tick);
    [(Signal::CPU, cpu), (Signal::MEMORY, cpu * 1e6)]
}

fn observed(target: u32) -> Observed {
    let name = format!("web-{target}");
    let metric = |resource: &str| {
        json!({"type": "Resource", "resource": {
            "name": resource, "target": {"type": "Utilization", "averageUtilization": 80}}})
    };
    let autoscaler = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "resourceVersion": "1"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 2, "maxReplicas": 100, "metrics": [metric("cpu"), metric("memory")]},
        "status": {"currentReplicas": 8, "desiredReplicas": 8},
    });
    let member = |index: u32| {
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": format!("{name}-{index}"), "namespace": "shop"},
            "spec": {"containers": [{"name": "app", "resources": {
                "requests": {"cpu": "500m", "memory": "500M"}}}]},
            "status": {"phase": "Running", "conditions": [
                {"type": "Ready", "status": "True", "lastTransitionTime": "2026-01-01T00:00:00Z"}]},
        }))
        .expect("it is a Pod");
        Arc::new(PodFacts::from(&pod))
    };
    Observed {
        namespace: Arc::from("shop"),
        namespace_policy: Arc::new(NamespacePolicy {
            enabled: true,
            ..NamespacePolicy::default()
        }),
        autoscaler: Some(Arc::new(
            serde_json::from_value(autoscaler).expect("it is an HPA"),
        )),
        scaled_object: None,
        workload: None,
        target: TargetRef::new("apps/v1", "Deployment", "shop", &name),
        pods: Pods {
            members: (0..8).map(member).collect(),
            start_to_ready: vec![SignedDuration::from_secs(20); 50],
        },
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
        let steps = NonZeroUsize::new(STEPS).expect("there are steps");
        let mut model = Rolling::towards(SHpa::default(), steps);
        let (history, shared) = (History::default(), Shared::default());
        let mut context = ForecastContext {
            history: &history,
            origin: time(0),
            step: SignedDuration::from_secs(15),
            shared: &shared,
        };
        for tick in 0..120 {
            context.origin = time(tick);
            model.observe(Some(load(0, tick)), &context);
        }
        let mut tick = 120;
        bencher.iter(|| {
            context.origin = time(tick);
            model.observe(Some(load(0, tick)), &context);
            tick += 1;
            model.forecast(STEPS, &context)
        });
    });
}

fn ticking(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    group.sample_size(10);
    group.bench_function("10,000 targets of two loads, all models", |bencher| {
        let mut targets: Vec<Target> = (0..TARGETS).map(Target::new).collect();
        let mut tick = 120;
        let (now, shared) = (time(tick), Shared::default());
        for (target, index) in targets.iter_mut().zip(0..) {
            black_box(target.tick(loads(index, tick), now, &shared));
        }
        let bytes: usize = targets.iter().map(|target| target.tracker.bytes()).sum();
        #[allow(clippy::print_stdout)] // where criterion prints its own figures
        {
            println!("memory of the trackers: {} MB", bytes / 1_000_000);
        }
        bencher.iter_batched(
            || {
                tick += 1;
                let all: Vec<_> = (0..TARGETS).map(|target| loads(target, tick)).collect();
                (all, time(tick))
            },
            |(all, now)| {
                let ticked = targets.iter_mut().zip(all);
                ticked
                    .map(|(target, loads)| target.tick(loads, now, &shared))
                    .sum::<usize>()
            },
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

criterion_group!(benches, forecasting, ticking);
criterion_main!(benches);
