//! Scale-ins that are about to come, so that the Pods that go first can be marked before.
//!
//! The write that lowers a count or a floor is taken out of the others, with its Events. The caller makes it once
//! the Pods are marked. If an HPA lowers by itself, its status shows it, in time only for the steps that follow.

use std::sync::Arc;

use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::plan::write::{Purpose, Write};
use jiff::Timestamp;

use super::lowered;
use crate::status::events::tells_of_lowering;
use crate::targets::reference::TargetRef;
use crate::targets::resolve::ResolvedTarget;
use crate::targets::target_objects::TargetObjects;
use crate::tracker::TickReport;

/// A scale-in that is about to come, or under way.
#[derive(Debug, Clone, PartialEq)]
pub struct PendingScaleIn {
    pub target: TargetRef,
    pub namespace_policy: Arc<NamespacePolicy>,
    /// The replicas that there are.
    pub from: i32,
    /// The fewest replicas that may be left of them.
    pub to: i32,
    /// The write that lowers the count, if it is Evenkeel's.
    pub lowering: Option<ScaleInWrite>,
}

/// The write that lowers a count or a floor.
#[derive(Debug, Clone, PartialEq)]
pub struct ScaleInWrite {
    pub write: Write,
    /// The Events that tell of it, which are true once it is made.
    pub told: Vec<Write>,
}

impl ScaleInWrite {
    /// Its writes in the order in which they are made.
    pub fn into_writes(self) -> impl Iterator<Item = Write> {
        std::iter::once(self.write).chain(self.told)
    }
}

/// The scale-in of a target that follows from what was observed and decided. The write that lowers the count
/// moves from `writes` into it. Where no replica is left, no Pod goes before others.
pub fn scale_in(
    observed: &TargetObjects,
    resolved: &ResolvedTarget,
    report: Option<&TickReport>,
    now: Timestamp,
    writes: &mut Vec<Write>,
) -> Option<PendingScaleIn> {
    // A ReplicaProfile says itself which Pods go first.
    if !observed.namespace_policy.enabled || resolved.is_profiled() {
        return None;
    }
    let status = observed.autoscaler.as_ref().map(|hpa| &hpa.status);
    let workload = observed.workload.as_ref().map(|workload| workload.replicas);
    let current = workload.or(status.and_then(|status| status.current_replicas))?;
    let direct = report.filter(|_| resolved.is_direct() && resolved.target.is_some());
    let (from, to, purpose) = if let Some(report) = direct {
        let to = report.decision.replicas;
        (current, to, Some(Purpose::ScalingReplicas))
    } else if let Some(change) = lowered(observed, resolved, report, now)
        && change.from >= current
    {
        (current, change.to, Some(Purpose::ScalingBounds))
    } else {
        // The count itself may be lowered by the time that the status says so.
        let counts = status?.current_replicas.zip(status?.desired_replicas);
        let (from, to) = counts?;
        (from, to, None)
    };
    if to < 1 || to >= from {
        return None;
    }
    let lowering = purpose
        .and_then(|purpose| writes.iter().position(|write| write.purpose == purpose))
        .map(|at| ScaleInWrite {
            write: writes.remove(at),
            told: writes
                .extract_if(.., |write| tells_of_lowering(write))
                .collect(),
        });
    Some(PendingScaleIn {
        target: observed.target.clone(),
        namespace_policy: Arc::clone(&observed.namespace_policy),
        from,
        to,
        lowering,
    })
}
