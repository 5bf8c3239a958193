//! The second half of a reconciliation that changes the replica count: what follows the write of
//! the scale.

use super::memory::HpaMemory;
use super::outcome::{Action, HpaOutcome, ReconcileError};
use super::reconciliation::HpaReconciliation;
use super::status::{ConditionType, MetricStatus, reasons};
use super::target_state::ScaleWriteError;

/// Attempts at a write while other writers are faster.
const ATTEMPTS: u32 = 5;

/// The parts of the message of a rescale's Event.
const NEW_SIZE: &str = "New size: ";
const REASON: &str = "; reason: ";

/// Count and reason in the message of the Event `SuccessfulRescale`.
pub(crate) fn size_of(message: &str) -> Option<(i32, &str)> {
    let (size, reason) = message.strip_prefix(NEW_SIZE)?.split_once(REASON)?;
    Some((size.parse().ok()?, reason))
}

/// A change that is to be written to the target's scale.
#[derive(Debug)]
pub struct Rescale<'a> {
    round: HpaReconciliation<'a>,
    from: i32,
    to: i32,
    reason: String,
    metrics: Vec<MetricStatus>,
    attempts: u32,
}

#[derive(Debug)]
pub enum AfterWrite<'a> {
    /// Another writer was faster: the scale is to be read and written again.
    Retry(Rescale<'a>),
    Done(HpaOutcome),
}

impl<'a> Rescale<'a> {
    pub(crate) fn new(
        round: HpaReconciliation<'a>,
        from: i32,
        to: i32,
        reason: String,
        metrics: Vec<MetricStatus>,
    ) -> Self {
        Self {
            round,
            from,
            to,
            reason,
            metrics,
            attempts: 0,
        }
    }

    pub const fn from(&self) -> i32 {
        self.from
    }

    pub const fn to(&self) -> i32 {
        self.to
    }

    /// In the words of the Event; empty if only a bound or a window decides.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// A conflict is tried again up to five times in all; Kubernetes waits 10 ms in between.
    pub fn after_write(
        mut self,
        written: Result<(), ScaleWriteError>,
        memory: &mut HpaMemory,
    ) -> AfterWrite<'a> {
        self.attempts += 1;
        AfterWrite::Done(match written {
            Ok(()) => self.succeeded(memory),
            Err(ScaleWriteError::Conflict(_)) if self.attempts < ATTEMPTS => {
                return AfterWrite::Retry(self);
            }
            Err(error) => self.failed(&error),
        })
    }

    /// Another component is to write the scale, if at all.
    pub(crate) fn unwritten(self) -> HpaOutcome {
        let Self {
            mut round,
            from,
            to,
            metrics,
            ..
        } = self;
        round.set_counts(from, Some(to), metrics);
        round.end(Action::None)
    }

    /// The scale is written: the change is recorded.
    pub fn succeeded(self, memory: &mut HpaMemory) -> HpaOutcome {
        let Self {
            mut round,
            from,
            to,
            reason,
            metrics,
            attempts: _,
        } = self;
        let message = format!("the HPA controller was able to update the target scale to {to}");
        round.set_because(
            ConditionType::AbleToScale,
            true,
            "SucceededRescale",
            message,
        );
        round.normal(
            "SuccessfulRescale",
            format!("{NEW_SIZE}{to}{REASON}{reason}"),
        );
        let behavior = round.hpa.spec.behavior.as_ref();
        memory.scale_events.record(behavior, from, to, round.now);
        tell_of_zero(&mut round, from, to);
        round.set_counts(from, Some(to), metrics);
        round.status.last_scale_time = Some(round.now);
        round.end(if to > from {
            Action::ScaleUp
        } else {
            Action::ScaleDown
        })
    }

    fn failed(self, error: &ScaleWriteError) -> HpaOutcome {
        let Self {
            mut round,
            from,
            to,
            reason,
            metrics,
            attempts: _,
        } = self;
        let message = format!("{NEW_SIZE}{to}{REASON}{reason}; error: {error}");
        round.warn("FailedRescale", message);
        let message = format!("the HPA controller was unable to update the target scale: {error}");
        round.set_because(
            ConditionType::AbleToScale,
            false,
            "FailedUpdateScale",
            message,
        );
        round.set_counts(from, None, metrics);
        let error = format!("failed to rescale {}: {error}", round.reference());
        round.error = Some(ReconcileError::Internal(error));
        round.end(Action::None)
    }
}

/// The condition distinguishes scaling to zero by this HPA from that by another writer. Without the
/// gate it is removed, so that it is not stale once the gate is on.
fn tell_of_zero(round: &mut HpaReconciliation<'_>, from: i32, to: i32) {
    if !round.controller.feature_gates.hpa_scale_to_zero {
        round.status.remove_condition(&ConditionType::ScaledToZero);
        return;
    }
    let spec = &round.hpa.spec;
    let is_to_zero =
        from > 0 && to == 0 && spec.min_replicas == 0 && spec.has_object_or_external_metric();
    let because = if is_to_zero {
        reasons::SCALED_TO_ZERO
    } else {
        reasons::NOT_SCALED_TO_ZERO
    };
    round.set(ConditionType::ScaledToZero, is_to_zero, because);
}
