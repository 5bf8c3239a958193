//! The HPA of a target without an HPA object: the algorithm and its controller's memory.
//! Kubernetes' controller writes the scale within a reconciliation. Here the count is only a
//! proposal: a forecast may ask for more, and another component writes later. So changes are
//! recorded when they are seen ([`Reconciler::scaled`]).

use std::borrow::Cow;

use evenkeel_objects::condition::ConditionStatus;
use jiff::Timestamp;

use super::events::ScaleEvents;
use super::memory::HpaMemory;
use super::outcome::HpaOutcome;
use super::reconcile::{ReconcileStep, reconcile};
use super::settings::Controller;
use super::spec::{HorizontalPodAutoscaler, HpaSpec};
use super::status::{ConditionReason, ConditionType, HpaCondition, HpaEvent, HpaStatus, reasons};
use super::target_state::ObservedTarget;

/// The observed target.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub controller: &'a Controller,
    /// Stands in errors.
    pub namespace: &'a str,
    /// Target, bounds, metrics and behaviour.
    pub spec: &'a HpaSpec,
    pub observed: ObservedTarget<'a>,
    /// Reported by another replica, or by this one before its start.
    pub told: &'a HpaStatus,
}

#[derive(Debug, Clone, PartialEq)]
pub struct ReconcileResult {
    /// Within windows, policies and bounds; `None` if it cannot be computed, or scaling is switched
    /// off.
    pub replicas: Option<i32>,
    /// In the words of the Event; empty if nothing changes, or only a bound or a window decides.
    pub reason: String,
    /// Events of failing metrics and selectors.
    pub events: Vec<HpaEvent>,
    /// The target has no replicas, but its metrics are read.
    pub is_asleep: bool,
    /// Why `replicas` is `None`, in the words of the condition; else empty.
    pub missing: Cow<'static, str>,
    /// The metrics are not read because the target has no replicas.
    pub is_switched_off: bool,
}

#[derive(Debug, Clone, Default)]
pub struct Reconciler {
    hpa: Option<HorizontalPodAutoscaler>,
    memory: HpaMemory,
}

impl Reconciler {
    /// `None` before the first reconciliation.
    pub fn status(&self) -> Option<&HpaStatus> {
        self.hpa.as_ref().map(|hpa| &hpa.status)
    }

    /// `changes` are those of the target's count.
    pub fn reconcile(
        &mut self,
        input: &Input<'_>,
        changes: &mut ScaleEvents,
        now: Timestamp,
    ) -> ReconcileResult {
        let Self { hpa, memory } = self;
        let hpa = adopted(hpa, input);
        std::mem::swap(&mut memory.scale_events, changes);
        let step = reconcile(input.controller, hpa, &input.observed, memory, now);
        let (outcome, wanted) = match step {
            ReconcileStep::Rescale(rescale) => {
                let wanted = (rescale.to(), rescale.reason().to_owned());
                (rescale.unwritten(), Some(wanted))
            }
            ReconcileStep::Done(outcome) => (outcome, None),
        };
        std::mem::swap(&mut memory.scale_events, changes);
        let HpaOutcome { status, events, .. } = outcome;
        let computed = status.holds(&ConditionType::ScalingActive)
            && status.holds(&ConditionType::AbleToScale);
        let (replicas, reason) = match wanted {
            Some((replicas, reason)) => (Some(replicas), reason),
            None => (computed.then_some(status.desired_replicas), String::new()),
        };
        hpa.status = status;
        let lack = lack(&hpa.status).filter(|_| replicas.is_none());
        ReconcileResult {
            missing: lack.map_or(Cow::Borrowed(""), |lack| lack.message.clone()),
            is_switched_off: lack
                .is_some_and(|lack| lack.reason == reasons::SCALING_DISABLED.reason),
            replicas,
            reason,
            events,
            is_asleep: computed && hpa.status.current_replicas == 0,
        }
    }

    /// The count decided at `now`. If it is above the metrics' proposal, scaling down treats it
    /// like one.
    pub fn decided(&mut self, replicas: i32, now: Timestamp) {
        self.memory.raise(replicas, now);
        if let Some(hpa) = &mut self.hpa {
            hpa.status.desired_replicas = replicas;
        }
    }

    /// The count changed at `at`; `is_own` is false if another writer made the change.
    pub fn scaled(&mut self, from: i32, to: i32, is_own: bool, at: Timestamp) {
        let Some(hpa) = &mut self.hpa else { return };
        if is_own {
            hpa.status.last_scale_time = Some(at);
        }
        let is_to_zero = is_own && from > 0 && to == 0;
        let zero = ConditionType::ScaledToZero;
        if !is_to_zero && hpa.status.condition(&zero).is_none() {
            return;
        }
        set(
            &mut hpa.status,
            zero,
            is_to_zero,
            if is_to_zero {
                reasons::SCALED_TO_ZERO
            } else {
                reasons::NOT_SCALED_TO_ZERO
            },
            at,
        );
    }

    /// The count is not written although it was proposed all the time.
    pub fn unwritten(&mut self, now: Timestamp) {
        if let Some(hpa) = &mut self.hpa {
            let because = reasons::FAILED_UPDATE_SCALE;
            set(
                &mut hpa.status,
                ConditionType::AbleToScale,
                false,
                because,
                now,
            );
        }
    }
}

/// The condition that explains a missing count.
fn lack(status: &HpaStatus) -> Option<&HpaCondition> {
    let kinds = [ConditionType::AbleToScale, ConditionType::ScalingActive];
    let found = kinds.iter().filter_map(|kind| status.condition(kind));
    let mut missing = found.filter(|condition| condition.status != ConditionStatus::True);
    missing.next()
}

/// Created at first use from `told`.
fn adopted<'h>(
    hpa: &'h mut Option<HorizontalPodAutoscaler>,
    input: &Input<'_>,
) -> &'h mut HorizontalPodAutoscaler {
    let hpa = hpa.get_or_insert_with(|| HorizontalPodAutoscaler {
        namespace: input.namespace.to_owned(),
        name: input.spec.scale_target.name.clone(),
        // The workload has the generation, which counts changes of its replicas.
        generation: None,
        spec: input.spec.clone(),
        status: input.told.clone(),
    });
    if hpa.spec != *input.spec {
        hpa.spec = input.spec.clone();
    }
    hpa
}

fn set(
    status: &mut HpaStatus,
    condition_type: ConditionType,
    holds: bool,
    because: ConditionReason,
    now: Timestamp,
) {
    status.set_condition(HpaCondition {
        condition_type,
        status: holds.into(),
        reason: because.reason.into(),
        message: because.message.into(),
        last_transition_time: Some(now),
        observed_generation: None,
    });
}
