//! Pods as policies are told of them, and the steps in their lives that are told.

use std::sync::Arc;

use crate::scenario::ScenarioWorkload;
use evenkeel_core::placement::usage::PodName;

/// The number of a Pod within a run, in the order of making.
pub(super) type PodId = usize;

/// A Pod as a policy is told of it.
#[derive(Debug, Clone, Copy)]
pub struct PolicyPod<'a> {
    pub id: PodId,
    pub name: &'a PodName,
    /// The workload that it is a replica of, and the workload's position in the scenario.
    pub workload: &'a Arc<ScenarioWorkload>,
    pub index: usize,
}

/// A step in the life of a Pod on the node at a position, as a watch tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodLifecycleStep {
    /// kube-scheduler has chosen the node, and calls its plugins with that.
    Chosen,
    /// kube-scheduler has called the extender with that, beside the placing of the next Pod.
    Noticed,
    Bound,
    /// Its containers run.
    Started,
    Gone,
}

/// A Pod that may go when its workload is scaled in.
#[derive(Debug, Clone, Copy)]
pub struct ScaleInCandidate<'a> {
    pub subject: PolicyPod<'a>,
    /// The position of its node, once it has one.
    pub node: Option<usize>,
    /// True once it is ready; the others go first, whatever they cost.
    pub is_ready: bool,
}
