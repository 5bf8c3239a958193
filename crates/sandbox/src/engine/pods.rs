//! Pods as the machines know them: what was bound, how its usage is told apart, and what stands for
//! the workload of a Pod that the scenario does not know.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use crate::engine::lifecycle::Lifecycle;
use crate::scenario::{Startup, Usage, Workload};
use evenkeel_core::placement::usage::PodName;
use evenkeel_core::units::{Amount, Ratio, Resources};

/// A Pod of no workload of the scenario uses this share of what it asks for.
const STRANGER_USE: f64 = 0.7;

/// What such a Pod takes to start.
const STRANGER_STARTUP: Startup = Startup {
    pull: SignedDuration::from_secs(8),
    start: SignedDuration::from_secs(2),
    warm_up: SignedDuration::from_secs(5),
};

/// A Pod that was bound to a node.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The Pod.
    pub pod: PodName,
    /// The name of its workload; empty where it has none.
    pub app: String,
    /// The node.
    pub node: String,
    /// What it asks for.
    pub demand: Resources<Amount>,
    /// How its usage is told apart.
    pub containers: Vec<Share>,
}

/// A container's part of what its Pod uses.
#[derive(Debug, Clone, PartialEq)]
pub struct Share {
    /// Its name.
    pub container: String,
    /// Of the Pod's cpu.
    pub cpu: f64,
    /// Of the Pod's memory.
    pub memory: f64,
}

/// A Pod on a node.
pub(super) struct Life {
    pub(super) node: String,
    pub(super) workload: Workload,
    pub(super) slot: u32,
    pub(super) lifecycle: Lifecycle,
    pub(super) containers: Vec<Share>,
}

/// What somebody applied by hand: it uses most of what it asks for.
pub(super) fn stranger(pod: &PodName, app: &str, demand: &Resources<Amount>) -> Workload {
    let name = if app.is_empty() { &*pod.name } else { app };
    Workload {
        name: name.to_owned(),
        namespace: pod.namespace.to_string(),
        arrival: SignedDuration::ZERO,
        replicas: 1,
        demand: *demand,
        usage: Usage {
            idle: demand.map(|amount| Amount::from_f64(amount.as_f64() * STRANGER_USE)),
            per_request: Resources::default(),
            noise: Ratio::new(0.1).expect("a tenth is finite"),
        },
        startup: STRANGER_STARTUP,
        traffic: None,
        scale: None,
        scale_annotations: BTreeMap::new(),
    }
}
