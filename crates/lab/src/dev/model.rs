//! Model of the view: the newest loads, the last events, and the faults that are on.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use evenkeel_sandbox::engine::loads::{NodeLoads, WorkloadLoad};
use evenkeel_scaling::status::dashboard::ScalingStatus;
use jiff::SignedDuration;

use super::show::ClusterStartSummary;
use crate::dev::cluster::STARTING;
use crate::dev::cluster::events::{DevEvent, DevServiceNotice, TimedEvent};

/// More than any screen shows.
const KEPT: usize = 100;
/// Samples of a workload's traffic that are kept.
const SAMPLES: usize = 24;
/// Distance of these samples, in the time of the scenario.
const SAMPLE_EVERY: SignedDuration = SignedDuration::from_mins(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum DevFaultPhase {
    Planned,
    On,
    Over,
}

#[derive(Debug, Clone)]
pub(super) struct Model {
    pub(super) started: ClusterStartSummary,
    pub(super) at: SignedDuration,
    pub(super) service: String,
    /// Seconds of the scenario per second on the clock.
    pub(super) speed: f64,
    pub(super) nodes: Vec<NodeLoads>,
    pub(super) workloads: Vec<WorkloadLoad>,
    /// Requests per second of each workload, the oldest first.
    pub(super) traffic: BTreeMap<(String, String), VecDeque<f64>>,
    /// Placements, refusals and scalings, the latest first.
    pub(super) recent: VecDeque<TimedEvent>,
    pub(super) faults: Vec<(String, DevFaultPhase)>,
    pub(super) placed: usize,
    pub(super) refused: usize,
    /// Calls to the service that went on without its answer.
    pub(super) failed_open: usize,
    pub(super) notices: Vec<DevServiceNotice>,
    /// Targets of the service's scaling, by namespace and name.
    pub(super) targets: BTreeMap<(String, String), Arc<ScalingStatus>>,
    /// Replicas that a plain HPA would have, likewise.
    pub(super) plain: BTreeMap<(String, String), u32>,
    pub(super) missed: u64,
    sampled: Option<SignedDuration>,
}

impl Model {
    pub(super) fn new(started: ClusterStartSummary) -> Self {
        let planned = |fault: &String| (fault.clone(), DevFaultPhase::Planned);
        Self {
            at: SignedDuration::ZERO,
            service: STARTING.to_owned(),
            speed: started.speed,
            nodes: Vec::new(),
            workloads: Vec::new(),
            traffic: BTreeMap::new(),
            recent: VecDeque::new(),
            faults: started.faults.iter().map(planned).collect(),
            placed: 0,
            refused: 0,
            failed_open: 0,
            notices: Vec::new(),
            targets: BTreeMap::new(),
            plain: BTreeMap::new(),
            missed: 0,
            sampled: None,
            started,
        }
    }

    pub(super) fn take(&mut self, happened: &TimedEvent) {
        match &happened.event {
            DevEvent::PodClassified { .. } => {}
            DevEvent::PodPlaced { .. } => {
                self.placed += 1;
                self.remember(happened);
            }
            DevEvent::PodRefused { .. } => {
                self.refused += 1;
                self.remember_refusal(happened);
            }
            DevEvent::Scaled { .. } | DevEvent::ServiceEvent { .. } => self.remember(happened),
            DevEvent::Pace { kept, .. } => {
                self.speed = *kept;
                self.remember(happened);
            }
            DevEvent::FailedOpen { .. } => self.failed_open += 1,
            DevEvent::Notices { on } => self.notices.clone_from(on),
            DevEvent::Scaling { targets } => {
                let named = |target: &Arc<ScalingStatus>| {
                    let name = target.workload.name.to_string();
                    ((target.namespace.to_string(), name), Arc::clone(target))
                };
                self.targets = targets.iter().map(named).collect();
            }
            DevEvent::Plain { replicas } => {
                let named = replicas
                    .iter()
                    .map(|of| ((of.namespace.clone(), of.workload.clone()), of.replicas));
                self.plain = named.collect();
            }
            DevEvent::Loads { nodes, workloads } => {
                self.nodes.clone_from(nodes);
                self.workloads.clone_from(workloads);
                self.sample(happened.at);
            }
            DevEvent::Fault { fault, begins } => {
                let phase = if *begins {
                    DevFaultPhase::On
                } else {
                    DevFaultPhase::Over
                };
                for (name, is) in &mut self.faults {
                    if name == fault {
                        *is = phase;
                    }
                }
            }
            DevEvent::ServiceState { state } => self.service.clone_from(state),
        }
    }

    fn remember(&mut self, happened: &TimedEvent) {
        self.recent.push_front(happened.clone());
        self.recent.truncate(KEPT);
    }

    /// A Pod that is tried again and again would push all else away: its last refusal stands.
    fn remember_refusal(&mut self, happened: &TimedEvent) {
        let DevEvent::PodRefused { pod, .. } = &happened.event else {
            return;
        };
        self.recent.retain(
            |known| !matches!(&known.event, DevEvent::PodRefused { pod: other, .. } if other == pod),
        );
        self.remember(happened);
    }

    fn sample(&mut self, at: SignedDuration) {
        let due = self
            .sampled
            .is_none_or(|last| at.saturating_sub(last) >= SAMPLE_EVERY);
        if !due {
            return;
        }
        self.sampled = Some(at);
        for workload in &self.workloads {
            let key = (workload.namespace.clone(), workload.name.clone());
            let samples = self.traffic.entry(key).or_default();
            if samples.len() == SAMPLES {
                samples.pop_front();
            }
            samples.push_back(workload.offered);
        }
    }
}
