//! The groups of a target's Pods, each of which counts differently.

use evenkeel_metrics::pod::{PodFacts, PodPhase};
use evenkeel_metrics::sample::Measurement;
use evenkeel_objects::condition::ConditionStatus;
use evenkeel_units::words;
use jiff::{SignedDuration, Timestamp};

use super::pod_values::ByPod;

/// The periods in which the cpu usage of a starting Pod is ignored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Startup {
    /// See [`Settings::cpu_initialization_period`](super::Settings).
    pub cpu_initialization_period: SignedDuration,
    /// See [`Settings::initial_readiness_delay`](super::Settings).
    pub initial_readiness_delay: SignedDuration,
}

words! {
    /// The group of one Pod, and why it is in it.
    pub enum PodGroup {
        /// Counts with its measured value.
        Measured = "measured",
        /// Left out: it is being deleted.
        Deleted = "deleted",
        /// Left out: its phase is `Failed`.
        Failed = "failed",
        /// Unready: its phase is `Pending`.
        Pending = "pending",
        /// Unready: it has no start time, or no condition `Ready`.
        NoReadyCondition = "no-ready-condition",
        /// Unready: within the cpu initialisation period, and not ready.
        Starting = "starting",
        /// Unready: within the cpu initialisation period, and its window of measurement began
        /// before it was ready.
        MeasuredTooSoon = "measured-too-soon",
        /// Unready: it turned unready within the initial readiness delay after its start.
        NeverReady = "never-ready",
        /// Running without a measurement.
        Missing = "missing",
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PodGroups<'a> {
    /// Pods that count with their measured values. The name is that of Kubernetes: for metrics
    /// other than cpu, readiness does not matter.
    pub ready: usize,
    /// Pending, or with cpu usage of their start. They count as 0 when scaling up, and not at all
    /// when scaling down.
    pub unready: Vec<&'a str>,
    /// Running without a measurement.
    pub missing: Vec<&'a str>,
    /// Being deleted, or failed.
    pub ignored: Vec<&'a str>,
}

impl<'a> PodGroups<'a> {
    /// `startup` is given for cpu alone, which is high while a Pod starts.
    pub fn new(
        pods: &'a [PodFacts],
        measured: &ByPod<'_, Measurement>,
        startup: Option<Startup>,
        now: Timestamp,
    ) -> Self {
        let mut groups = Self::default();
        let mut measured = measured.lookups();
        for pod in pods {
            let name = pod.name.as_str();
            match PodGroup::of(pod, measured.get(name).copied(), startup, now) {
                PodGroup::Measured => groups.ready += 1,
                PodGroup::Missing => groups.missing.push(name),
                PodGroup::Deleted | PodGroup::Failed => groups.ignored.push(name),
                PodGroup::Pending
                | PodGroup::NoReadyCondition
                | PodGroup::Starting
                | PodGroup::MeasuredTooSoon
                | PodGroup::NeverReady => groups.unready.push(name),
            }
        }
        groups
    }
}

impl PodGroup {
    /// `startup` is given for cpu alone.
    pub(crate) fn of(
        pod: &PodFacts,
        measured: Option<Measurement>,
        startup: Option<Startup>,
        now: Timestamp,
    ) -> Self {
        if pod.deleted {
            return Self::Deleted;
        }
        match (pod.phase, measured) {
            (PodPhase::Failed, _) => Self::Failed,
            (PodPhase::Pending, _) => Self::Pending,
            (_, None) => Self::Missing,
            (_, Some(measured)) => {
                let starting = startup.and_then(|startup| startup.covers(pod, measured, now));
                starting.unwrap_or(Self::Measured)
            }
        }
    }
}

impl Startup {
    /// Why a Pod's measurement may be the work of its start; `None` if it counts.
    fn covers(self, pod: &PodFacts, measured: Measurement, now: Timestamp) -> Option<PodGroup> {
        let (Some(ready), Some(start_time)) = (pod.ready, pod.start_time) else {
            return Some(PodGroup::NoReadyCondition);
        };
        let is_unready = ready.status == ConditionStatus::False;
        let since = ready.last_transition_time;
        if now.duration_since(start_time) < self.cpu_initialization_period {
            if is_unready {
                return Some(PodGroup::Starting);
            }
            // A whole window since the Pod became ready must be measured.
            let is_partial = measured.timestamp.duration_since(since) < measured.window;
            is_partial.then_some(PodGroup::MeasuredTooSoon)
        } else {
            // An unready Pod counts once it has been ready.
            let is_new = since.duration_since(start_time) < self.initial_readiness_delay;
            (is_unready && is_new).then_some(PodGroup::NeverReady)
        }
    }
}
