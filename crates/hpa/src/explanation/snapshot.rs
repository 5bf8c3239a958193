//! One HPA with everything that decides its count, read at about one time by an outsider.

use evenkeel_metrics::pod::PodFacts;
use jiff::Timestamp;

use super::explain;
use super::hpa_explanation::HpaExplanation;
use super::input::HpaDecisionInput;
use super::rescale_history::RescaleHistory;
use crate::{
    Controller, HorizontalPodAutoscaler, ObservedTarget, Readings, ScaleError, TargetScale,
};

#[derive(Debug, Clone)]
pub struct HpaSnapshot {
    pub controller: Controller,
    pub hpa: HorizontalPodAutoscaler,
    pub scale: Result<SnapshotScale, ScaleError>,
    pub readings: Readings,
    pub history: RescaleHistory,
    /// The setters of the bounds beside the user, in sentences.
    pub bounds_set_by: Vec<String>,
    /// Failed reads, in sentences.
    pub unread: Vec<String>,
    pub now: Timestamp,
}

/// [`TargetScale`] with the values that it borrows.
#[derive(Debug, Clone)]
pub struct SnapshotScale {
    pub spec_replicas: i32,
    pub status_replicas: i32,
    pub selector: String,
    pub pods: Result<Vec<PodFacts>, String>,
    pub autoscalers: Vec<String>,
}

impl SnapshotScale {
    fn target_scale(&self) -> TargetScale<'_> {
        TargetScale {
            spec_replicas: self.spec_replicas,
            status_replicas: self.status_replicas,
            selector: &self.selector,
            pods: self.pods.as_deref().map_err(String::as_str),
            autoscalers: &self.autoscalers,
        }
    }
}

impl HpaSnapshot {
    pub fn explain(&self) -> HpaExplanation {
        let memory = self.history.memory(&self.hpa, self.now);
        let input = HpaDecisionInput {
            controller: &self.controller,
            hpa: &self.hpa,
            observed: ObservedTarget {
                scale: self.scale.as_ref().map(SnapshotScale::target_scale),
                readings: &self.readings,
            },
            memory: &memory,
            now: self.now,
        };
        let mut explanation = explain(&input, &self.history);
        explanation.bounds_set_by.clone_from(&self.bounds_set_by);
        explanation.unknown.extend(self.unread.iter().cloned());
        explanation
    }
}
