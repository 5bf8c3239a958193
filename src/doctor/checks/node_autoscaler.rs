//! Refused Pods beside a node autoscaler: Karpenter and cluster-autoscaler judge by requests, so a
//! Pod that fits by requests and is refused for load gets no new node.

use evenkeel_objects::annotations::{NO_HEADROOM, RELAX_AFTER};

use super::evidence::{CheckFindings, Evidence};
use super::finding_text::{count, named};
use super::held_pods;
use crate::doctor::DoctorFinding;
use crate::doctor::observation::Look as _;

pub(super) const CONFLICT: &str = "node-autoscaler";

pub(super) fn check(evidence: &Evidence<'_>) -> CheckFindings {
    let Some(seen) = &evidence.seen.node_autoscalers else {
        return Ok(Vec::new());
    };
    let found = seen.look(CONFLICT, "which node autoscalers there are")?;
    let found = found.map_or(&[][..], Vec::as_slice);
    if found.is_empty() {
        let what = "no node autoscaler is installed";
        return Ok(vec![DoctorFinding::ok(CONFLICT, what)]);
    }
    let subject = "the Pods that wait for a node";
    evidence.seen.unbound.look(CONFLICT, subject)?;
    let refused = held_pods::refused(evidence);
    let autoscaler = named(found);
    let Some((oldest, _)) = refused.first() else {
        let what = format!("{autoscaler} is installed, and no Pod waits for headroom");
        return Ok(vec![DoctorFinding::ok(CONFLICT, what)]);
    };
    let namespace = oldest.namespace();
    Ok(vec![DoctorFinding::warning(
        CONFLICT,
        format!(
            "Evenkeel refuses {}, and {autoscaler} looks at requests only: it adds no node for a \
             Pod whose requests fit",
            count(refused.len(), "Pod")
        ),
        format!(
            "kubectl annotate namespace {namespace} {NO_HEADROOM}=relax, or {RELAX_AFTER}=1m; or raise the requests \
             of the Pods to what they use, so that {autoscaler} sees the load"
        ),
    )])
}
