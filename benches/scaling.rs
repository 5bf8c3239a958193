//! The cost of predicting: one S-HPA forecast, and one tick of 10,000 targets.

use std::hint::black_box;
use std::num::NonZeroUsize;
use std::sync::Arc;

use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use evenkeel_forecast::{
    ForecastContext, LoadRingBuffer, Model, ModelAssets, RollingModel, SHpa, Variant,
    window_forecast,
};
use evenkeel_hpa::Readings;
use evenkeel_metrics::pod::{PodFacts, ResourceRequests};
use evenkeel_metrics::sample::{ContainerMetrics, Measurement, PodMetrics};
use evenkeel_metrics::signal::{ResourceName, Signal, ValueScope};
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_objects::start_time::StartTime;
use evenkeel_objects::workload::Workload;
use evenkeel_scaling::ihpa::portray;
use evenkeel_scaling::load::observation::{LoadSample, SignalSamples, TargetObservation};
use evenkeel_scaling::load::serving_pods::ServingPods;
use evenkeel_scaling::specs::ihpa::CheckedIhpa;
use evenkeel_scaling::specs::scaling_policy::PredictionModel;
use evenkeel_scaling::status::memory::PlanMemory;
use evenkeel_scaling::targets::hpa_input::{HpaInput, LastStatus};
use evenkeel_scaling::targets::reference::TargetRef;
use evenkeel_scaling::targets::resolve::{ResolvedTarget, resolve};
use evenkeel_scaling::targets::settings::{Queries, Settings};
use evenkeel_scaling::targets::target_objects::{TargetObjects, TargetPodFacts};
use evenkeel_scaling::tracker::{LoadTracker, TargetTick, tick_together};
use evenkeel_scaling::writes::plan;
use evenkeel_service::watched_types::WatchedDeployment;
use evenkeel_units::{count_as_f64, i64_ceil};
use jiff::{SignedDuration, Timestamp};
use serde_json::json;

const TARGETS: u32 = 10_000;
const STEPS: usize = 12;
const START_TIME: StartTime = StartTime {
    waited: SignedDuration::from_secs(1),
    started: SignedDuration::from_secs(20),
};
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
    tracker: LoadTracker,
    carriers: ServingPods,
    memory: PlanMemory,
    observed: TargetObjects,
}

impl Target {
    fn new(target: u32) -> Self {
        let mut tracker = LoadTracker::default();
        for tick in 0..120 {
            for (signal, value) in loads(target, tick) {
                let sample = LoadSample::of_moment(value, time(tick));
                let taken = tracker.measure(&signal, &sample, time(tick));
                taken.expect("the samples are in order");
            }
        }
        Self {
            tracker,
            carriers: ServingPods::default(),
            memory: PlanMemory::default(),
            observed: observed(target),
        }
    }

    /// Takes the measurements of a tick, and looks at the objects.
    fn begin(&mut self, loads: &[(Signal, f64); 2], now: Timestamp) -> ResolvedTarget {
        let members = &self.observed.pods.members;
        self.carriers.see(members, now);
        let samples = loads.iter().map(|(signal, value)| {
            let measured = measurements(*value, members.len(), now);
            (signal.clone(), SignalSamples::PerPod(measured))
        });
        let observation = TargetObservation {
            pods: members,
            carriers: &self.carriers,
            replicas: None,
            samples: samples.collect(),
        };
        for (signal, _) in loads {
            let sample = observation
                .load(signal, ValueScope::Whole)
                .expect("all Pods are measured");
            let _ = self.tracker.measure(signal, &sample, now);
        }
        let record = self.memory.record(now);
        resolve(&self.observed, false, &SETTINGS, record, now)
    }
}

/// The measurements of Pods that carry a load together.
fn measurements(load: f64, pods: usize, now: Timestamp) -> Vec<Option<Measurement>> {
    let each = Measurement {
        timestamp: now,
        window: SignedDuration::from_secs(120),
        value: i64_ceil(load / count_as_f64(pods)),
    };
    vec![Some(each); pods]
}

/// Everything that one tick does for targets that forecast together: measurements, models,
/// decisions, writes.
fn tick(
    targets: &mut [Target],
    loads: &[[(Signal, f64); 2]],
    now: Timestamp,
    shared: &ModelAssets,
) -> usize {
    let begun = targets.iter_mut().zip(loads);
    let resolved: Vec<_> = begun
        .map(|(target, loads)| target.begin(loads, now))
        .collect();
    let ticks = targets.iter_mut().zip(&resolved).map(|(target, resolved)| {
        let resolved = resolved.target.as_ref().expect("it is a target");
        TargetTick {
            tracker: &mut target.tracker,
            policy: &resolved.policy,
            input: resolved.input(now, shared, None, &[]),
        }
    });
    let reports = tick_together(&mut ticks.collect::<Vec<_>>());
    let reports: Result<Vec<_>, _> = reports.into_iter().collect();
    let reports = reports.expect("no target breaks");
    let context = PlanContext {
        now,
        reporter: "bench",
    };
    let decided = targets.iter_mut().zip(&resolved).zip(&reports);
    let writes = decided.map(|((target, resolved), report)| {
        let memory = &mut target.memory;
        plan(&target.observed, resolved, Some(report), memory, &context).len()
    });
    writes.sum()
}

/// As many targets forecast together as in the service.
const TOGETHER: usize = 64;

const SETTINGS: Settings = Settings {
    follows_profiles: false,
    asks_checks: false,
    mode: ScalingMode::Floor,
    predict: PredictionModel::Auto,
    interval: SignedDuration::from_secs(15),
    max_age: SignedDuration::from_mins(3),
    queries: Queries::Presets,
    risk: Risk::DEFAULT,
};

fn loads(target: u32, tick: u32) -> [(Signal, f64); 2] {
    let cpu = load(target, tick);
    [(Signal::CPU, cpu), (Signal::MEMORY, cpu * 1e6)]
}

fn observed(target: u32) -> TargetObjects {
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
    TargetObjects {
        profiles: evenkeel_scaling::targets::observed_profiles::ObservedProfiles::default(),
        namespace: Arc::from("shop"),
        namespace_policy: Arc::new(NamespacePolicy {
            enabled: true,
            ..NamespacePolicy::default()
        }),
        autoscaler: Some(Arc::new(
            serde_json::from_value(autoscaler).expect("it is an HPA"),
        )),
        ihpa: None,
        portraits: Vec::new(),
        scaled_object: None,
        workload: None,
        target: TargetRef::new("apps/v1", "Deployment", "shop", &name),
        pods: TargetPodFacts {
            members: (0..8).map(member).collect(),
            starts: vec![START_TIME; 50],
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
        let mut model = RollingModel::towards(SHpa::default(), steps);
        let (history, shared) = (LoadRingBuffer::default(), ModelAssets::default());
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
        let (mut at, shared) = (120, ModelAssets::default());
        let all = |at| (0..TARGETS).map(|target| loads(target, at)).collect();
        let all_tick = |targets: &mut [Target], loads: Vec<_>, now| {
            let together = targets.chunks_mut(TOGETHER).zip(loads.chunks(TOGETHER));
            let ticked = together.map(|(targets, loads)| tick(targets, loads, now, &shared));
            ticked.sum::<usize>()
        };
        black_box(all_tick(&mut targets, all(at), time(at)));
        let bytes: usize = targets.iter().map(|target| target.tracker.bytes()).sum();
        #[allow(clippy::print_stdout)] // where criterion prints its own figures
        {
            println!("memory of the trackers: {} MB", bytes / 1_000_000);
        }
        bencher.iter_batched(
            || {
                at += 1;
                (all(at), time(at))
            },
            |(loads, now)| all_tick(&mut targets, loads, now),
            BatchSize::LargeInput,
        );
    });
    group.finish();
}

/// A target that no HPA scales, and the HPA's algorithm for it.
struct Direct {
    tracker: LoadTracker,
    memory: PlanMemory,
    observed: TargetObjects,
}

impl Direct {
    fn new(target: u32) -> Self {
        Self::of(direct(target))
    }

    fn of(observed: TargetObjects) -> Self {
        Self {
            tracker: LoadTracker::default(),
            memory: PlanMemory::default(),
            observed,
        }
    }

    fn tick(&mut self, tick: u32, shared: &ModelAssets) -> usize {
        let now = time(tick);
        let Self {
            tracker,
            memory,
            observed,
        } = self;
        let mut resolved = resolve(observed, false, &SETTINGS, memory.record(now), now);
        portray(observed, &mut resolved, memory, now);
        let target = resolved.target.as_ref().expect("it is a target");
        let measured = HpaInput::new(
            observed,
            readings(observed, tick, now),
            LastStatus::default(),
        );
        let input = target.input(now, shared, Some(&measured), &[]);
        let report = tracker.tick(&target.policy, &input);
        let context = PlanContext {
            now,
            reporter: "bench",
        };
        plan(observed, &resolved, Some(&report), memory, &context).len()
    }
}

/// Usage of each of the Pods, which changes a little at every tick.
fn readings(observed: &TargetObjects, tick: u32, now: Timestamp) -> Readings {
    let usage: ResourceRequests = [
        (ResourceName::Cpu, 380 + i64::from(tick % 7)),
        (ResourceName::Memory, 300_000_000_000),
    ]
    .into_iter()
    .collect();
    let members = observed.pods.members.iter();
    let measured = members.map(|pod| PodMetrics {
        pod: pod.name.clone(),
        timestamp: now,
        window: SignedDuration::from_secs(30),
        containers: vec![ContainerMetrics {
            name: String::new(),
            usage: usage.clone(),
        }],
    });
    Readings {
        resource: Ok(measured.collect()),
        ..Readings::default()
    }
}

/// A Deployment in mode direct with ten Pods.
fn direct(target: u32) -> TargetObjects {
    let with_hpa = observed(target);
    let name = with_hpa.target.name();
    let workload = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 1,
            "annotations": {"evenkeel.dev/scaling": "direct", "evenkeel.dev/predict": "off",
                "evenkeel.dev/min-replicas": "2", "evenkeel.dev/max-replicas": "100",
                "evenkeel.dev/target": "cpu=80%,memory=80%"}},
        "spec": {"replicas": 10}});
    let watched: WatchedDeployment = serde_json::from_value(workload).expect("a Deployment");
    let mut pods = with_hpa.pods.clone();
    let more = pods.members.iter().take(2).enumerate().map(|(index, pod)| {
        Arc::new(PodFacts {
            name: format!("{name}-{}", index + 8),
            ..PodFacts::clone(pod)
        })
    });
    pods.members.extend(more.collect::<Vec<_>>());
    TargetObjects {
        autoscaler: None,
        workload: Some(Arc::new(watched.workload)),
        pods,
        ..with_hpa
    }
}

/// The same Deployment under an IHPA with three portraits: the load as it is, the calendar, and one count.
fn portrayed(target: u32) -> TargetObjects {
    let direct = direct(target);
    let name = direct.target.name();
    let cpu = json!({"type": "Resource", "resource": {"name": "cpu",
        "target": {"type": "Utilization", "averageUtilization": 80}}});
    let ihpa = json!({
        "metadata": {"name": name, "namespace": "shop", "uid": name, "generation": 1, "resourceVersion": "1"},
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": name},
            "minReplicas": 2, "maxReplicas": 100,
            "portraitProviders": [
                {"type": "Static", "priority": 0, "static": {"replicas": 3}},
                {"type": "Cron", "priority": 2, "cron": {"crons": [{"name": "day",
                    "start": "0 8 * * *", "end": "0 18 * * *", "replicas": 20}]}},
                {"type": "Dynamic", "priority": 1, "dynamic": {"portraitType": "Reactive",
                    "algorithm": {"type": "KubeHPA"}, "metrics": [cpu]}},
            ],
        },
    });
    let ihpa = serde_json::from_value(ihpa).expect("it is an IHPA");
    let checked = CheckedIhpa::new(Arc::new(ihpa), None);
    checked.rules().expect("its rules are accepted");
    let mut workload = Workload::clone(direct.workload.as_ref().expect("it has one"));
    workload.metadata.annotations.clear();
    TargetObjects {
        ihpa: Some(Arc::new(checked)),
        workload: Some(Arc::new(workload)),
        ..direct
    }
}

fn portraying(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    group.sample_size(10);
    group.bench_function(
        "1,000 IHPAs of three portraits with 10 Pods each",
        |bencher| {
            let all = 0..TARGETS / 10;
            let mut targets: Vec<Direct> =
                all.map(|target| Direct::of(portrayed(target))).collect();
            let shared = ModelAssets::default();
            let mut tick = 0;
            bencher.iter(|| {
                tick += 1;
                let written = targets.iter_mut().map(|one| one.tick(tick, &shared));
                written.sum::<usize>()
            });
        },
    );
    group.finish();
}

fn reconciling(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("tick");
    group.sample_size(10);
    group.bench_function("10,000 targets, HPA core with 10 Pods each", |bencher| {
        let mut targets: Vec<Direct> = (0..TARGETS).map(Direct::new).collect();
        let shared = ModelAssets::default();
        let all = |targets: &mut [Direct], tick| -> usize {
            targets.iter_mut().map(|one| one.tick(tick, &shared)).sum()
        };
        black_box(all(&mut targets, 0));
        let mut tick = 0;
        bencher.iter(|| {
            tick += 1;
            all(&mut targets, tick)
        });
    });
    group.finish();
}

criterion_group!(benches, forecasting, ticking, reconciling, portraying);
criterion_main!(benches);
