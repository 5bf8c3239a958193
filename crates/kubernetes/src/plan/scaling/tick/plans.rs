//! The plans that a tick makes for its targets: what follows from the decisions, or an end without a
//! trace.

use jiff::Timestamp;

use crate::plan::Write;
use crate::plan::scaling::context::ScalingContext;
use crate::plan::scaling::memory::PlanMemory;
use crate::plan::scaling::scale_in::PendingScaleIn;
use crate::plan::scaling::target_objects::TargetObjects;
use crate::plan::scaling::targets::ResolvedTarget;
use crate::plan::scaling::{scale_in, writes};
use evenkeel_core::scaling::tracker::TickReport;

/// The plans that a tick makes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plans {
    /// None: another replica leads, or nothing may be written.
    Nothing,
    /// The writes that follow from the decisions, in the name of this replica.
    Decisions(String),
    /// The user's own bounds are put back.
    Restore,
}

/// One target and what was decided for it.
pub(super) struct TargetDecision<'a> {
    pub(super) observed: &'a TargetObjects,
    pub(super) resolved: &'a ResolvedTarget,
    pub(super) report: Option<&'a TickReport>,
    pub(super) now: Timestamp,
}

impl Plans {
    /// The writes for one target.
    pub(super) fn writes(
        &self,
        decided: &TargetDecision<'_>,
        memory: &mut PlanMemory,
    ) -> Vec<Write> {
        let TargetDecision {
            observed,
            resolved,
            report,
            now,
        } = *decided;
        match self {
            Self::Nothing => {
                writes::follow(resolved, memory, now);
                Vec::new()
            }
            Self::Decisions(reporter) => {
                let context = ScalingContext { now, reporter };
                writes::plan(observed, resolved, report, memory, &context)
            }
            Self::Restore => {
                let writes = writes::restore(observed, resolved);
                if writes.is_empty() {
                    // Nothing is left to restore, so the memory of earlier writes has no more use.
                    *memory = PlanMemory::default();
                }
                writes
            }
        }
    }

    /// The scale-in that is about to come, with the one of these `writes` that brings it about.
    pub(super) fn scale_in(
        &self,
        decided: &TargetDecision<'_>,
        writes: &mut Vec<Write>,
    ) -> Option<PendingScaleIn> {
        let TargetDecision {
            observed,
            resolved,
            report,
            now,
        } = *decided;
        match self {
            Self::Decisions(_) => scale_in::scale_in(observed, resolved, report, now, writes),
            Self::Nothing | Self::Restore => None,
        }
    }
}
