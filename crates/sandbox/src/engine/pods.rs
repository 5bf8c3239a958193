//! Pods as their machines know them, and the workload that stands for a Pod that the scenario does
//! not know.

use std::collections::BTreeMap;
use std::sync::Arc;

use jiff::SignedDuration;

use crate::lifecycle::Lifecycle;
use crate::scenario::{ReplicaUsage, ScenarioWorkload, Startup};
use crate::usage::PodNow;
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::random::RandomSource;
use evenkeel_core::units::{Amount, Ratio, Resources};

/// A Pod of no workload of the scenario uses this share of what it requests.
const UNKNOWN_USE: f64 = 0.7;

/// The start of such a Pod.
const UNKNOWN_STARTUP: Startup = Startup {
    pull: SignedDuration::from_secs(8),
    start: SignedDuration::from_secs(2),
    warm_up: SignedDuration::from_secs(5),
};

/// The time that such a Pod takes to end.
const UNKNOWN_SHUTDOWN: SignedDuration = SignedDuration::from_secs(5);

/// A Pod that was bound to a node.
#[derive(Debug, Clone, PartialEq)]
pub struct BoundPod {
    pub pod: PodName,
    /// The name of its workload; empty where it has none.
    pub app: String,
    pub node: String,
    /// The requests of the Pod, and the rates of network and disk that it announces.
    pub demand: Resources<Amount>,
    /// The parts of the Pod's usage that its containers have.
    pub containers: Vec<ContainerShare>,
}

/// A container's part of what its Pod uses.
#[derive(Debug, Clone, PartialEq)]
pub struct ContainerShare {
    pub container: String,
    /// The share of the Pod's cpu, from 0 to 1.
    pub cpu: f64,
    /// The share of the Pod's memory, from 0 to 1.
    pub memory: f64,
}

/// A Pod on a node.
pub(super) struct RunningPod {
    pub(super) node: String,
    /// The position of its node in the scenario; `None` for another node, on which it uses nothing.
    pub(super) place: Option<usize>,
    /// The position of its workload in the scenario; `None` if a user applied the Pod by hand.
    pub(super) index: Option<usize>,
    pub(super) workload: Arc<ScenarioWorkload>,
    pub(super) noise: RandomSource,
    pub(super) lifecycle: Lifecycle,
    /// False while its readiness gates keep requests from it.
    pub(super) is_open: bool,
    pub(super) containers: Vec<ContainerShare>,
}

impl RunningPod {
    /// How long after each interval a metrics backend reads it.
    pub(super) fn phase(&self, interval: SignedDuration) -> SignedDuration {
        phase(self.noise.stream("scrape"), interval)
    }

    /// It at a moment, where its node is one of the scenario.
    pub(super) fn now(&self, name: &PodName, at: SignedDuration) -> Option<PodNow<'_, PodName>> {
        Some(PodNow {
            key: name.clone(),
            node: self.place?,
            workload: &self.workload,
            index: self.index,
            stage: self.lifecycle.stage(at),
            is_open: self.is_open,
            noise: self.noise,
        })
    }

    pub(super) fn is_of(&self, namespace: &str, name: &str) -> bool {
        self.workload.name == name && self.workload.namespace == namespace
    }
}

/// A moment within the interval.
pub(super) fn phase(random: RandomSource, interval: SignedDuration) -> SignedDuration {
    interval.mul_f64(random.unit(0))
}

/// A workload for a Pod that a user applied by hand: it uses most of its requests.
pub(super) fn unknown_workload(bound: &BoundPod) -> ScenarioWorkload {
    let BoundPod {
        pod, app, demand, ..
    } = bound;
    let name = if app.is_empty() { pod.name() } else { app };
    ScenarioWorkload {
        name: name.to_owned(),
        namespace: pod.namespace().to_owned(),
        arrival: SignedDuration::ZERO,
        replicas: 1,
        changes: Vec::new(),
        demand: *demand,
        limits: Resources::default(),
        usage: ReplicaUsage {
            idle: demand.map(|amount| Amount::from_f64(amount.as_f64() * UNKNOWN_USE)),
            per_request: Resources::default(),
            warm_up: *demand,
            noise: Ratio::new(0.1).expect("a tenth is finite"),
        },
        startup: UNKNOWN_STARTUP,
        shutdown: UNKNOWN_SHUTDOWN,
        traffic: None,
        scale: None,
        annotations: BTreeMap::new(),
        scale_annotations: BTreeMap::new(),
        portraits: None,
    }
}
