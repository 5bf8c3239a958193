//! The HPA of a target that has no HPA object: the algorithm, and what its controller would remember.
//!
//! The controller of Kubernetes writes the scale within a reconciliation. Here the count is only
//! wished for: a forecast may ask for more, the write is another's and comes later. So changes of the
//! count are told apart by what is seen of them, and taken note of by [`Reconciler::scaled`].

use std::borrow::Cow;

use jiff::Timestamp;

use super::events::ScaleEvents;
use super::memory::HpaMemory;
use super::outcome::HpaOutcome;
use super::reconcile::{ReconcileStep, reconcile};
use super::settings::Controller;
use super::spec::{HorizontalPodAutoscaler, HpaSpec};
use super::status::{
    ConditionReason, ConditionStatus, ConditionType, HpaCondition, HpaEvent, HpaStatus, reasons,
};
use super::target_state::ObservedTarget;

/// The target, and what is seen of it at one moment.
#[derive(Debug, Clone, Copy)]
pub struct Input<'a> {
    pub controller: &'a Controller,
    /// The namespace of the target, which stands in errors.
    pub namespace: &'a str,
    /// The target, bounds, metrics and behaviour.
    pub spec: &'a HpaSpec,
    pub observed: ObservedTarget<'a>,
    /// The status that another replica, or this one before its start, has told of the target.
    pub told: &'a HpaStatus,
}

/// The outcome of one reconciliation.
#[derive(Debug, Clone, PartialEq)]
pub struct ReconcileResult {
    /// The replicas that the metrics ask for within windows, policies and bounds; `None` where they
    /// cannot be computed, or scaling is switched off.
    pub replicas: Option<i32>,
    /// Why, in the words of the Event; empty where nothing changes, or only a bound or window says so.
    pub reason: String,
    /// The Events of metrics and selectors that fail.
    pub events: Vec<HpaEvent>,
    /// True for a target without replicas if its metrics are read all the same.
    pub is_asleep: bool,
    /// Why there are no replicas to wish for, in the words of the condition; empty where there are.
    pub missing: Cow<'static, str>,
    /// True if the metrics are not read because the target has no replicas.
    pub is_switched_off: bool,
}

/// The state of one target between two reconciliations.
#[derive(Debug, Clone, Default)]
pub struct Reconciler {
    hpa: Option<HorizontalPodAutoscaler>,
    memory: HpaMemory,
}

impl Reconciler {
    /// The status after the newest reconciliation; `None` before the first.
    #[must_use]
    pub fn status(&self) -> Option<&HpaStatus> {
        self.hpa.as_ref().map(|hpa| &hpa.status)
    }

    /// Reconciles the target. `changes` are those of its count.
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

    /// Takes note of the count that was decided at `now`, where it is more than the metrics ask for:
    /// the way down from it is that from a wish of theirs.
    pub fn decided(&mut self, replicas: i32, now: Timestamp) {
        self.memory.raise(replicas, now);
        if let Some(hpa) = &mut self.hpa {
            hpa.status.desired_replicas = replicas;
        }
    }

    /// Takes note of a change of the count at `at`. `is_own` is true if it is the count that was
    /// asked for, and false if another writer made the change.
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

    /// Takes note that the count is not written although it has been wished for all the time.
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

/// The condition that says why there is no count.
fn lack(status: &HpaStatus) -> Option<&HpaCondition> {
    let kinds = [ConditionType::AbleToScale, ConditionType::ScalingActive];
    let found = kinds.iter().filter_map(|kind| status.condition(kind));
    let mut missing = found.filter(|condition| condition.status != ConditionStatus::True);
    missing.next()
}

/// The HPA of this target, made at the first look with what is told of it.
fn adopted<'h>(
    hpa: &'h mut Option<HorizontalPodAutoscaler>,
    input: &Input<'_>,
) -> &'h mut HorizontalPodAutoscaler {
    let hpa = hpa.get_or_insert_with(|| HorizontalPodAutoscaler {
        namespace: input.namespace.to_owned(),
        name: input.spec.scale_target.name.clone(),
        // The workload has the generation, and it counts changes of its replicas.
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
