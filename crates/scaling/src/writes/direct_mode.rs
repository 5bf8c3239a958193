//! Mode direct: writes the count that was decided for a workload without an HPA through `scale`. It also
//! wakes a workload that sleeps and that no other part would wake any more.

use evenkeel_objects::plan::scale::set_replicas;
use evenkeel_objects::plan::write::Write;
use evenkeel_objects::scaling_mode::ScalingMode;

use crate::status::last_status::sleeps;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;
use crate::tracker::TickReport;

/// Wakes a workload that was put to sleep and is no longer in mode direct; `None` where there is none.
/// Its status changes only once it has a replica again.
pub(crate) fn awaken(observed: &TargetObjects) -> Option<Write> {
    let workload = observed.workload.as_ref()?;
    let is_there = workload.metadata.deletion_timestamp.is_none();
    let asleep = is_there && workload.replicas == 0 && sleeps(&workload.metadata);
    let object = || observed.target.object().clone();
    asleep.then(|| set_replicas(object(), &workload.metadata, 0, 1))?
}

/// The write of the count that was decided; `None` where it stays, or is not set here.
pub(crate) fn write(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
) -> Option<Write> {
    let target = resolved.target.as_ref()?;
    let workload = observed.workload.as_ref()?;
    let is_direct =
        resolved.mode == ScalingMode::Direct && workload.metadata.deletion_timestamp.is_none();
    let report = report.filter(|_| is_direct)?;
    let object = observed.target.object().clone();
    let to = report.decision.replicas;
    set_replicas(object, &workload.metadata, target.current, to)
}
