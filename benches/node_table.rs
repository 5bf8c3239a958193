//! One watch event from the object to the published snapshot, at 5,000 nodes and 150,000 Pods, and
//! the memory that such a cluster takes, alone and with the pasts and models of its 10,000 targets; and
//! the picture that scaling is planned from.

#![allow(clippy::print_stdout)] // a measurement's result is what it prints

#[path = "../tests/support/answering.rs"]
#[allow(dead_code)] // shared with tests, which ask more
mod answering;

mod support {
    #[allow(dead_code)] // shared with the other benches
    pub(crate) mod fleet;
    pub(crate) mod percentiles;
}

use std::sync::Arc;

use criterion::{Criterion, criterion_group, criterion_main};
use evenkeel_clock as clock;
use evenkeel_forecast::{GlobalPeaks, Minutes, ModelAssets, OwnPeaks, Resolution};
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::node::Node;
use evenkeel_objects::pod::Pod;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::ScalingMode;
use evenkeel_scaling::counterfactual::TrialPods;
use evenkeel_scaling::load::horizon::Horizon;
use evenkeel_scaling::load::hpa_aware::PodCapacity;
use evenkeel_scaling::specs::scaling_policy::PredictionModel;
use evenkeel_scaling::targets::resolve::resolve;
use evenkeel_scaling::targets::settings::{Queries, Settings};
use evenkeel_scaling::tracker::{FitEnd, LoadPastFit, LoadTracker};
use evenkeel_service::cluster::ClusterState;
use evenkeel_training::{OwnSettings, learn};
use evenkeel_units::{Ratio, count_as_f64};
use jiff::{SignedDuration, Timestamp};
use support::{fleet, percentiles};

const NODES: usize = 5_000;
const PODS: usize = 150_000;
const CALLS: usize = 20_000;

/// Events of each kind that are taken in turn.
const EVENTS: usize = 4_096;

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

/// Megabytes of memory in use by this process; none where the system does not tell.
fn resident() -> usize {
    let statm = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
    let pages = statm
        .split_whitespace()
        .nth(1)
        .and_then(|pages| pages.parse::<usize>().ok());
    pages.unwrap_or(0) * 4096 / (1 << 20)
}

/// A full cluster; with costs of deletion where `balances_scale_in`.
fn cluster(balances_scale_in: bool) -> ClusterState {
    let before = resident();
    let cluster = answering::with_settings(balances_scale_in, true);
    answering::add_namespace(
        &cluster,
        fleet::NAMESPACE,
        &[("evenkeel.dev/enabled", "true")],
    );
    let started = clock::instant();
    fleet::fill(&cluster, NODES, PODS);
    answering::listed(&cluster);
    let took = clock::instant().duration_since(started);
    let after = resident();
    let costs = if balances_scale_in { "with" } else { "without" };
    println!(
        "{NODES} nodes and {PODS} Pods, {costs} balance of scale-ins: {after} MiB resident, {before} before; \
         filled in {took:?}"
    );
    cluster
}

/// The memory of a target with two loads, for which two days of past have come.
fn tracker(target: usize, now: Timestamp) -> LoadTracker {
    let mut tracker = LoadTracker::default();
    for signal in [Signal::CPU, Signal::MEMORY] {
        for resolution in Resolution::ALL {
            let step = resolution.step();
            let length = i32::try_from(resolution.length()).unwrap_or(i32::MAX);
            let points = (1..=length).rev().map(|ago| {
                let at = now - step * ago;
                let phase = f64::from(ago) / 40.0 + count_as_f64(target);
                (at, 4000.0 + 2500.0 * phase.sin())
            });
            tracker.refill(&signal, resolution, points, now);
        }
    }
    tracker
}

/// Everything at once: the cluster, and what forecasts remember of all of its targets.
fn forecasts(cluster: &ClusterState) -> Vec<LoadTracker> {
    let (now, shared) = (clock::now(), ModelAssets::default());
    let view = cluster.scaling_view();
    let trackers = view.targets.iter().enumerate().map(|(number, observed)| {
        let mut tracker = tracker(number, now);
        let resolved = resolve(observed, false, &SETTINGS, None, now);
        let target = resolved.target.expect("every HPA is a target");
        tracker.keep_pasts(&target.signals);
        let report = tracker.tick(&target.policy, &target.input(now, &shared, None, &[]));
        assert!(report.loads.iter().any(|load| load.model.is_some()));
        tracker
    });
    let trackers: Vec<LoadTracker> = trackers.collect();
    println!(
        "with two loads of each of its {} targets: {} MiB resident",
        trackers.len(),
        resident()
    );
    with_own(trackers)
}

/// The same with trees of each target's own for the load that is forecast.
fn with_own(mut trackers: Vec<LoadTracker>) -> Vec<LoadTracker> {
    let own = own();
    for tracker in &mut trackers {
        let learnt = LoadPastFit {
            own: Some(Arc::new(own.clone())),
            ..LoadPastFit::default()
        };
        tracker.fitted(&Signal::CPU, FitEnd::Learnt(Box::new(learnt)), clock::now());
    }
    println!(
        "with trees of each target's own of {} bytes: {} MiB resident",
        own.bytes(),
        resident()
    );
    trackers
}

/// Trees that have learnt what comes again every forty minutes.
fn own() -> OwnPeaks {
    let load = |minute: usize| {
        let wobble = [0.0, 1.5, -1.0, 0.5, -2.0, 2.5, -0.5][minute % 7];
        if minute % 40 < 2 {
            160.0
        } else {
            100.0 + wobble
        }
    };
    let past = Minutes::new(0, (0..8000).map(load).collect());
    let capacity = Ratio::share(0.6).map(|target| PodCapacity::new(50.0, target));
    let capacity = capacity.expect("a share").expect("a capacity");
    let bounds = ReplicaBounds::new(1, 20).expect("bounds");
    let pods = TrialPods::new(capacity, bounds, &Horizon::default());
    let settings = OwnSettings::default();
    let learnt = learn(&GlobalPeaks::shipped(), &past, 4, &pods, &settings);
    let learnt = learnt.expect("rows").expect("a past that is long enough");
    let own = learnt.own.expect("what comes again is learnt");
    Arc::unwrap_or_clone(own)
}

/// A running Pod and the same Pod gone again, in turn.
fn pods() -> Vec<Pod> {
    let pod = |number| fleet::bound_pod(PODS + number, number * 7 % NODES);
    (0..EVENTS).map(pod).collect()
}

/// Nodes that each have an annotation with a new value in every round.
fn nodes() -> Vec<Node> {
    let node = |number: usize| {
        let text = fleet::node_json(number % NODES);
        let capacity = if number < NODES { "10Gbps" } else { "25Gbps" };
        serde_json::from_str(&text.replace("10Gbps", capacity)).expect("a node")
    };
    (0..2 * NODES).map(node).collect()
}

fn events(criterion: &mut Criterion) {
    let cluster = cluster(false);
    let trackers = forecasts(&cluster);
    // Memory that was freed before would be reused and would not be measured.
    drop((self::cluster(false), self::cluster(true), trackers));
    let now = clock::now();
    let (pods, nodes) = (pods(), nodes());
    // Each Pod comes and goes, so that every event changes its node's load.
    let pod_event = |number: usize| {
        let pod = &pods[number / 2 % pods.len()];
        if number.is_multiple_of(2) {
            cluster.apply_pod(pod, now);
        } else {
            cluster.remove_pod(pod.uid(), now);
        }
    };
    let node_event = |number: usize| cluster.apply_node(&nodes[number % nodes.len()], now);
    percentiles::report("Pod event", CALLS, pod_event);
    percentiles::report("node event", CALLS, node_event);
    let sample = Arc::new(fleet::sample(NODES, PODS, now));
    percentiles::report("round of measurements", 20, |number| {
        let later = now + SignedDuration::from_secs(i64::try_from(number).unwrap_or(0));
        cluster.apply_sample(Arc::clone(&sample), later);
    });
    percentiles::report("a second passes", 50, |number| {
        let later = now + SignedDuration::from_secs(i64::try_from(number).unwrap_or(0));
        cluster.advance(later);
    });
    percentiles::report("view of every target", 20, |_| {
        assert!(!cluster.scaling_view().targets.is_empty());
    });
    let mut group = criterion.benchmark_group("event to snapshot, 5,000 nodes, 150,000 Pods");
    let mut number = 0;
    group.bench_function("Pod", |bencher| {
        bencher.iter(|| {
            pod_event(number);
            number += 1;
        });
    });
    let mut number = 0;
    group.bench_function("node", |bencher| {
        bencher.iter(|| {
            node_event(number);
            number += 1;
        });
    });
    group.finish();
}

criterion_group!(benches, events);
criterion_main!(benches);
