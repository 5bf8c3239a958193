//! The machines of `dev`: the [`Engine`] at the pace of a clock, shared by all its clients. The
//! kubelet reports which Pods run where, and a task steps the engine. The time until a node takes
//! each Pod is measured here, because the run without Evenkeel gets the same lags.

mod pending_pods;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use evenkeel_clock::Clock;
use evenkeel_objects::pod_name::PodName;
use evenkeel_units::Ratio;
use jiff::SignedDuration;
use tokio::time::{Interval, MissedTickBehavior};

use self::pending_pods::WantedPods;
use crate::engine::lag::Lags;
use crate::engine::requests::{RequestCounterKey, RequestRate};
use crate::engine::summary::RunSummary;
use crate::engine::{BoundPod, ContainerShare, Engine, Loads, STEP};
use crate::lifecycle::Lifecycle;
use crate::scenario::Scenario;
use crate::scrape::ScrapedSample;
use crate::scrape_timing::Timing;
use crate::{SandboxEvent, SandboxEventSink, Timeline};

/// Shortest pause between steps, for the machine's sake.
const SHORTEST: Duration = Duration::from_millis(20);
/// Longest pause that still looks smooth.
const LONGEST: Duration = Duration::from_millis(100);

/// Clones share them.
#[derive(Clone)]
pub struct Machines(Arc<Mutex<MachinesState>>);

struct MachinesState {
    engine: Engine,
    wanted: WantedPods,
}

impl Machines {
    /// Without Pods; `line` is the headroom line of the summary, and HPAs look every `sync`.
    pub fn new(scenario: Scenario, seed: u64, line: Ratio, sync: SignedDuration) -> Self {
        Self(Arc::new(Mutex::new(MachinesState {
            engine: Engine::new(scenario, seed, line),
            wanted: WantedPods::new(Lags::new(sync)),
        })))
    }

    /// Steps the engine for ever, whatever the API server does, and sends the loads.
    pub async fn run(self, timeline: Timeline, events: SandboxEventSink) {
        let mut steps = steps(timeline.clock());
        loop {
            steps.tick().await;
            let at = timeline.elapsed();
            events.tell(at, SandboxEvent::Loads(self.step(at)));
        }
    }

    pub(crate) fn step(&self, at: SignedDuration) -> Loads {
        self.lock().engine.step(at)
    }

    /// A running Pod only returns its lifecycle.
    pub(crate) fn bind(&self, bound: &BoundPod, at: SignedDuration) -> Lifecycle {
        let mut shared = self.lock();
        let known = shared.engine.lifecycle(&bound.pod);
        known.unwrap_or_else(|| {
            shared.wanted.taken_on(&bound.pod, &bound.app, at);
            shared.engine.bind(bound, at)
        })
    }

    pub(crate) fn lifecycle(&self, pod: &PodName) -> Option<Lifecycle> {
        self.lock().engine.lifecycle(pod)
    }

    /// By the Pod's readiness gates.
    pub(crate) fn set_open(&self, pod: &PodName, is_open: bool) {
        self.lock().engine.set_open(pod, is_open);
    }

    /// Returns when the Pod is gone; `None` if it does not run.
    pub(crate) fn delete(&self, pod: &PodName, at: SignedDuration) -> Option<SignedDuration> {
        self.lock().engine.delete(pod, at)
    }

    /// Missing Pods are waited for from `at` on.
    pub fn want(&self, namespace: &str, name: &str, replicas: u32, at: SignedDuration) {
        let mut shared = self.lock();
        let have = shared.engine.replicas(namespace, name);
        let wanted = usize::try_from(replicas).unwrap_or(usize::MAX);
        let missing = wanted.saturating_sub(have);
        shared.wanted.miss(namespace, name, missing, at);
    }

    pub fn lags(&self) -> Lags {
        self.lock().wanted.lags().clone()
    }

    /// Ends all other Pods.
    pub(crate) fn retain(&self, keep: impl Fn(&PodName) -> bool) {
        let mut shared = self.lock();
        shared.engine.retain(&keep);
        shared.wanted.retain(&keep);
    }

    /// A lost node runs nothing and is not measured.
    pub fn set_lost(&self, node: &str, lost: bool) {
        self.lock().engine.set_lost(node, lost);
    }

    pub fn is_lost(&self, node: &str) -> bool {
        self.lock().engine.is_lost(node)
    }

    pub fn refused(&self, pod: &PodName, at: SignedDuration) {
        let mut shared = self.lock();
        shared.engine.refused(pod, at);
        shared.wanted.refused(pod);
    }

    pub fn settled(&self, pod: &PodName, at: SignedDuration) {
        self.lock().engine.settled(pod, at);
    }

    /// As the metrics backend has them.
    pub(crate) fn node_samples(&self) -> Vec<(String, ScrapedSample)> {
        let shared = self.lock();
        let samples = shared.engine.node_samples();
        samples
            .map(|(node, sample)| (node.clone(), sample))
            .collect()
    }

    /// As the metrics backend has them.
    pub(crate) fn pod_samples(&self) -> Vec<(PodName, ScrapedSample)> {
        let shared = self.lock();
        let samples = shared.engine.pod_samples();
        samples.map(|(pod, sample)| (pod.clone(), sample)).collect()
    }

    pub(crate) fn timing(&self) -> Timing {
        self.lock().engine.timing()
    }

    /// As the metrics adapter has them.
    pub(crate) fn request_rates(&self) -> Vec<(RequestCounterKey, RequestRate)> {
        let shared = self.lock();
        let rates = shared.engine.request_rates();
        rates.map(|(of, rate)| (of.clone(), rate)).collect()
    }

    pub(crate) fn containers(&self, pod: &PodName) -> Vec<ContainerShare> {
        self.lock().engine.containers(pod).to_vec()
    }

    /// Figures so far.
    pub fn summary(&self) -> RunSummary {
        self.lock().engine.summary()
    }

    fn lock(&self) -> MutexGuard<'_, MachinesState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

pub fn steps(clock: Clock) -> Interval {
    let mut steps = tokio::time::interval(clock.wait(STEP).clamp(SHORTEST, LONGEST));
    steps.set_missed_tick_behavior(MissedTickBehavior::Delay);
    steps
}
