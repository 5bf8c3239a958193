//! The state of one running reconciliation: the new status, and its Events.

use std::borrow::Cow;

use jiff::Timestamp;

use super::outcome::{Action, HpaOutcome, ReconcileError};
use super::settings::Controller;
use super::spec::HorizontalPodAutoscaler;
use super::status::{
    ConditionReason, ConditionType, EventType, HpaCondition, HpaEvent, HpaStatus, MetricStatus,
};
use super::trace::DecisionTrace;

#[derive(Debug)]
pub(crate) struct HpaReconciliation<'a> {
    pub(crate) controller: &'a Controller,
    pub(crate) hpa: &'a HorizontalPodAutoscaler,
    pub(crate) now: Timestamp,
    /// Starts as the previous one.
    pub(crate) status: HpaStatus,
    pub(crate) error: Option<ReconcileError>,
    /// Filled if it is there.
    pub(crate) trace: Option<Box<DecisionTrace>>,
    events: Vec<HpaEvent>,
}

impl<'a> HpaReconciliation<'a> {
    pub(crate) fn new(
        controller: &'a Controller,
        hpa: &'a HorizontalPodAutoscaler,
        now: Timestamp,
    ) -> Self {
        Self {
            controller,
            hpa,
            now,
            status: hpa.status.clone(),
            error: None,
            trace: None,
            events: Vec::new(),
        }
    }

    /// `kind/namespace/name`, for errors.
    pub(crate) fn reference(&self) -> String {
        let target = &self.hpa.spec.scale_target;
        format!("{}/{}/{}", target.kind, self.hpa.namespace, target.name)
    }

    /// With a fixed message.
    pub(crate) fn set(&mut self, condition: ConditionType, holds: bool, because: ConditionReason) {
        self.set_because(condition, holds, because.reason, because.message);
    }

    pub(crate) fn set_because(
        &mut self,
        condition_type: ConditionType,
        holds: bool,
        reason: &'static str,
        message: impl Into<Cow<'static, str>>,
    ) {
        self.status.set_condition(HpaCondition {
            condition_type,
            status: holds.into(),
            reason: reason.into(),
            message: message.into(),
            last_transition_time: Some(self.now),
            observed_generation: self.hpa.generation,
        });
    }

    pub(crate) fn normal(&mut self, reason: &'static str, message: String) {
        self.event(EventType::Normal, reason, message);
    }

    pub(crate) fn warn(&mut self, reason: &'static str, message: String) {
        self.event(EventType::Warning, reason, message);
    }

    fn event(&mut self, event_type: EventType, reason: &'static str, message: String) {
        self.events.push(HpaEvent {
            event_type,
            reason,
            message,
        });
    }

    /// Without a `desired` count the previous one stays.
    pub(crate) fn set_counts(
        &mut self,
        current: i32,
        desired: Option<i32>,
        metrics: Vec<MetricStatus>,
    ) {
        self.status.current_replicas = current;
        self.status.desired_replicas = desired.unwrap_or(self.status.desired_replicas);
        self.status.current_metrics = metrics;
    }

    pub(crate) fn end(self, action: Action) -> HpaOutcome {
        HpaOutcome {
            is_status_changed: self.status != self.hpa.status,
            status: self.status,
            events: self.events,
            action,
            error: self.error,
            trace: self.trace,
        }
    }
}
