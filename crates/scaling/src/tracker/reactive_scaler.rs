//! The reaction to the load as it is now: the HPA's own, or its algorithm run here.

use std::borrow::Cow;

use evenkeel_hpa::{EventType, HpaEvent, ReconcileResult, Reconciler};
use evenkeel_objects::scaling_mode::ScalingMode;
use jiff::Timestamp;

use super::tick_input::{Reaction, ReconciledTarget, TickInput};
use super::tick_report::HpaReport;
use crate::recommend::decision::ScalingDecision;
use crate::recommend::policy::TargetPolicy;
use crate::recommend::{CountChange, CountSeen, DecisionState};

/// The HPA's algorithm of one target, and why its count was last asked for.
#[derive(Debug, Default)]
pub(super) struct ReactiveScaler {
    reconciler: Reconciler,
    reason: String,
}

/// The count that the load as it is now asks for, and what there is to tell of it.
#[derive(Debug)]
pub(super) struct ReactiveResult {
    pub(super) replicas: Option<i32>,
    pub(super) reason: String,
    pub(super) is_asleep: bool,
    /// Why there is no count; empty where there is one.
    pub(super) missing: Cow<'static, str>,
    /// True if the metrics are not read because there are no replicas.
    pub(super) is_switched_off: bool,
    /// True if other providers propose the count too; each of them has its own memory for going down.
    is_one_of_several: bool,
    events: Vec<HpaEvent>,
    at: Timestamp,
}

impl ReactiveResult {
    fn of_autoscaler(replicas: Option<i32>, now: Timestamp) -> Self {
        Self {
            replicas,
            reason: String::new(),
            is_asleep: false,
            missing: Cow::Borrowed(""),
            is_switched_off: false,
            is_one_of_several: false,
            events: Vec::new(),
            at: now,
        }
    }
}

/// The reaction of one target. `reacting` is kept while the algorithm is run here.
pub(super) fn react(
    reacting: &mut Option<Box<ReactiveScaler>>,
    state: &mut DecisionState,
    policy: &TargetPolicy,
    input: &TickInput<'_>,
) -> ReactiveResult {
    let now = input.now;
    let ReconciledTarget {
        input: hpa,
        told,
        generation,
    } = match input.reaction {
        Reaction::Reconciled(reconciled) => reconciled,
        Reaction::Autoscaler(replicas) => {
            *reacting = None;
            return ReactiveResult::of_autoscaler(replicas, now);
        }
        Reaction::Nobody => {
            *reacting = None;
            return ReactiveResult::of_autoscaler(None, now);
        }
    };
    let reacting = reacting.get_or_insert_default();
    let seen = CountSeen {
        current: input.current,
        told,
        generation,
    };
    let change = state.observe(policy, seen, now);
    let scaled = change.and_then(|change| reacting.scaled(change));
    let reconciler = &mut reacting.reconciler;
    let wish = reconciler.reconcile(&hpa, &mut state.events, now);
    let ReconcileResult {
        replicas,
        reason,
        events,
        is_asleep,
        missing,
        is_switched_off,
    } = wish;
    ReactiveResult {
        replicas,
        reason,
        is_asleep,
        missing,
        is_switched_off,
        is_one_of_several: input.portraits.is_some(),
        events: scaled.into_iter().chain(events).collect(),
        at: now,
    }
}

impl ReactiveScaler {
    /// The consequences of a decision for the algorithm, and what it tells.
    pub(super) fn decided(
        &mut self,
        state: &DecisionState,
        policy: &TargetPolicy,
        reacted: ReactiveResult,
        decision: &ScalingDecision,
    ) -> Option<Box<HpaReport>> {
        let ReactiveResult {
            replicas: wished,
            mut events,
            at: now,
            is_one_of_several,
            ..
        } = reacted;
        if policy.mode == ScalingMode::Direct {
            // Where nothing is wished for, nothing is remembered but what a forecast adds.
            let reactive = wished.or(state.current).unwrap_or_default();
            if decision.replicas > reactive && !is_one_of_several {
                self.reconciler.decided(decision.replicas, now);
            }
            if let Some(asked) = state.asked.filter(|asked| asked.at == now) {
                if asked.is_overdue(now) {
                    events.push(self.unwritten(asked.replicas, now));
                }
                self.reason.clone_from(&decision.reason);
            }
        }
        let status = self.reconciler.status()?;
        Some(Box::new(HpaReport {
            conditions: status.conditions.clone(),
            events,
        }))
    }

    /// Takes note of a change of the count, and tells of it where it was asked for here.
    fn scaled(&mut self, change: CountChange) -> Option<HpaEvent> {
        let CountChange {
            from,
            to,
            is_own,
            at,
        } = change;
        self.reconciler.scaled(from, to, is_own, at);
        let reason = std::mem::take(&mut self.reason);
        (is_own && !reason.is_empty()).then(|| HpaEvent {
            event_type: EventType::Normal,
            reason: "SuccessfulRescale",
            message: format!("New size: {to}; reason: {reason}"),
        })
    }

    fn unwritten(&mut self, replicas: i32, now: Timestamp) -> HpaEvent {
        self.reconciler.unwritten(now);
        HpaEvent {
            event_type: EventType::Warning,
            reason: "FailedRescale",
            message: format!(
                "New size: {replicas}; reason: {}; error: the count is not written",
                self.reason
            ),
        }
    }
}
