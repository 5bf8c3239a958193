//! The groups of a target's Pods, each of which counts differently.

use evenkeel_metrics::pod::{PodFacts, PodPhase};
use evenkeel_metrics::sample::Measurement;
use evenkeel_objects::condition::ConditionStatus;
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
            if pod.deleted || pod.phase == PodPhase::Failed {
                groups.ignored.push(name);
            } else if pod.phase == PodPhase::Pending {
                groups.unready.push(name);
            } else if let Some(measured) = measured.get(name) {
                if startup.is_some_and(|startup| startup.covers(pod, *measured, now)) {
                    groups.unready.push(name);
                } else {
                    groups.ready += 1;
                }
            } else {
                groups.missing.push(name);
            }
        }
        groups
    }
}

impl Startup {
    /// A Pod's measurement may be the work of its start.
    fn covers(self, pod: &PodFacts, measured: Measurement, now: Timestamp) -> bool {
        let (Some(ready), Some(start_time)) = (pod.ready, pod.start_time) else {
            return true;
        };
        let is_unready = ready.status == ConditionStatus::False;
        let since = ready.last_transition_time;
        if now.duration_since(start_time) < self.cpu_initialization_period {
            // A whole window since the Pod became ready must be measured.
            is_unready || measured.timestamp.duration_since(since) < measured.window
        } else {
            // An unready Pod counts once it has been ready.
            is_unready && since.duration_since(start_time) < self.initial_readiness_delay
        }
    }
}
