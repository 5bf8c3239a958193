//! The annotations on a workload that another object scales: a status, if the two are in conflict, and leftovers.
//! Leftovers come from a time in which the workload was a target by itself.

use evenkeel_objects::annotations::BOUNDS;
use evenkeel_objects::plan::conditional_patch::ConditionalPatch;
use evenkeel_objects::plan::context::PlanContext;
use evenkeel_objects::plan::status_writer::Status as _;
use evenkeel_objects::plan::write::{Purpose, Write, WriteOperation};
use jiff::Timestamp;

use crate::status::{TargetStatus, events};
use crate::targets::bounds::ObservedBounds;
use crate::targets::owner::Owner;
use crate::targets::target_objects::TargetObjects;

/// The status of a refused target on its workload, beside the autoscaler that carries it.
pub(crate) fn told_beside(
    observed: &TargetObjects,
    owner: Owner<'_>,
    status: &TargetStatus,
    context: &PlanContext<'_>,
) -> Vec<Write> {
    let Some(workload) = Owner::workload(observed).filter(|one| one.kind != owner.kind) else {
        return Vec::new();
    };
    let now = context.now;
    let held = TargetStatus::held_by(workload.metadata);
    let is_same = |held: &TargetStatus| held.differs_in_figures_only(status);
    if held.as_ref().is_some_and(is_same) {
        return left_record(observed, workload, now).into_iter().collect();
    }
    let event = events::first_told(held.as_ref(), status).map(|event| {
        let regarding = workload.regarding(&observed.namespace);
        event.at(&regarding, context.reporter, context.now)
    });
    let mut patch = ConditionalPatch::of(workload.metadata);
    TargetStatus::put(Some(status), workload.metadata, &mut patch);
    take_record(&mut patch, workload, now);
    let purpose = Purpose::ScalingStatus;
    let told = write(workload, &observed.namespace, purpose, patch);
    told.into_iter().chain(event).collect()
}

/// Removes the status and the record from a workload that an HPA scales by now. Its count is the HPA's.
pub(crate) fn left_behind(
    observed: &TargetObjects,
    owner: Owner<'_>,
    now: Timestamp,
) -> Option<Write> {
    let workload = Owner::workload(observed).filter(|one| one.kind != owner.kind)?;
    let mut patch = ConditionalPatch::of(workload.metadata);
    if TargetStatus::is_on(workload.metadata) {
        TargetStatus::put(None, workload.metadata, &mut patch);
    }
    take_record(&mut patch, workload, now);
    write(workload, &observed.namespace, Purpose::ScalingStatus, patch)
}

/// Removes the record alone.
fn left_record(observed: &TargetObjects, workload: Owner<'_>, now: Timestamp) -> Option<Write> {
    let mut patch = ConditionalPatch::of(workload.metadata);
    take_record(&mut patch, workload, now);
    write(workload, &observed.namespace, Purpose::ScalingStatus, patch)
}

/// Takes away a record that was written here and is of no more use, and lets the count go.
fn take_record(patch: &mut ConditionalPatch, owner: Owner<'_>, now: Timestamp) {
    let bounds = ObservedBounds::read(&owner, None, now);
    if let Some(update) = bounds.and_then(|bounds| bounds.release()) {
        update.put(&owner, patch);
    } else if owner.metadata.own_records.bounds && owner.metadata.annotation(BOUNDS).is_some() {
        patch.annotate(BOUNDS, true, None);
    }
}

/// The write of a patch; `None` where it changes nothing.
pub(crate) fn write(
    owner: Owner<'_>,
    namespace: &str,
    purpose: Purpose,
    patch: ConditionalPatch,
) -> Option<Write> {
    let target = owner.object(namespace).filter(|_| !patch.is_empty())?;
    let operation = WriteOperation::Conditional(patch);
    Some(Write::new(purpose, target, operation))
}
