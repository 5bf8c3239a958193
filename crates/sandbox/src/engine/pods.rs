//! Pods on their machines, and the substitute workload of a Pod outside of the scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_objects::pod_name::PodName;
use evenkeel_units::random::RandomSource;
use evenkeel_units::{Amount, Ratio, Resources};
use jiff::SignedDuration;

use crate::lifecycle::Lifecycle;
use crate::scenario::{ReplicaUsage, ScenarioWorkload, Startup};
use crate::usage::PodNow;

/// Use of a Pod outside of the scenario, as a share of its requests.
const UNKNOWN_USE: f64 = 0.7;

/// Start of such a Pod.
const UNKNOWN_STARTUP: Startup = Startup {
    pull: SignedDuration::from_secs(8),
    start: SignedDuration::from_secs(2),
    warm_up: SignedDuration::from_secs(5),
};

/// Shutdown of such a Pod.
const UNKNOWN_SHUTDOWN: SignedDuration = SignedDuration::from_secs(5);

#[derive(Debug, Clone, PartialEq)]
pub struct BoundPod {
    pub pod: PodName,
    /// Name of its workload; empty if none.
    pub app: String,
    pub node: String,
    /// Its requests, and its announced rates of network and disk.
    pub demand: Resources<Amount>,
    pub containers: Vec<ContainerShare>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ContainerShare {
    pub container: String,
    /// Share of the Pod's cpu, from 0 to 1.
    pub cpu: f64,
    /// Share of the Pod's memory, from 0 to 1.
    pub memory: f64,
}

pub(super) struct RunningPod {
    pub(super) node: String,
    /// Position in the scenario; `None` for another node, on which it uses nothing.
    pub(super) place: Option<usize>,
    /// Position in the scenario; `None` if a user applied the Pod by hand.
    pub(super) index: Option<usize>,
    pub(super) workload: Arc<ScenarioWorkload>,
    pub(super) noise: RandomSource,
    pub(super) lifecycle: Lifecycle,
    /// False while its readiness gates keep requests away.
    pub(super) is_open: bool,
    pub(super) containers: Vec<ContainerShare>,
}

impl RunningPod {
    /// Offset of its scrapes in each interval.
    pub(super) fn phase(&self, interval: SignedDuration) -> SignedDuration {
        phase(self.noise.stream("scrape"), interval)
    }

    /// `None` if its node is not in the scenario.
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

pub(super) fn phase(random: RandomSource, interval: SignedDuration) -> SignedDuration {
    interval.mul_f64(random.unit(0))
}

/// For a Pod that a user applied by hand: it uses most of its requests.
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
