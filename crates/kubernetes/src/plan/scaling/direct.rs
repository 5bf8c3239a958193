//! Mode direct: the count that was decided for a workload that no HPA scales is written through
//! `scale`.

use super::observed::Observed;
use super::targets::Resolved;
use crate::plan::scale::set_replicas;
use crate::plan::write::Write;
use evenkeel_core::scaling::Mode;
use evenkeel_core::scaling::tracker::TickReport;

/// The write of the count that was decided; `None` where it stays, or is not set here.
pub(super) fn write(
    observed: &Observed,
    resolved: &Resolved,
    report: Option<&TickReport>,
) -> Option<Write> {
    let target = resolved.target.as_ref()?;
    let workload = observed.workload.as_ref()?;
    let is_direct = resolved.mode == Mode::Direct && workload.metadata.deletion_timestamp.is_none();
    let report = report.filter(|_| is_direct)?;
    let object = observed.target.object().clone();
    let to = report.decision.replicas;
    set_replicas(object, &workload.metadata, target.current, to)
}
