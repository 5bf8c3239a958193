//! Pods and the steps of their lives, as policies see them.

use std::sync::Arc;

use evenkeel_objects::pod_name::PodName;

use crate::scenario::ScenarioWorkload;

/// Within a run, in the order of creation.
pub(super) type PodId = usize;

#[derive(Debug, Clone, Copy)]
pub struct PolicyPod<'a> {
    pub id: PodId,
    pub name: &'a PodName,
    /// With its position in the scenario.
    pub workload: &'a Arc<ScenarioWorkload>,
    pub index: usize,
}

/// On the node at a position, as a watch shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PodLifecycleStep {
    /// kube-scheduler has chosen the node and calls its plugins.
    Chosen,
    /// kube-scheduler has called the extender, while it places the next Pod.
    Noticed,
    Bound,
    /// Its containers run.
    Started,
    Gone,
}

#[derive(Debug, Clone, Copy)]
pub struct ScaleInCandidate<'a> {
    pub subject: PolicyPod<'a>,
    /// Position, once it has a node.
    pub node: Option<usize>,
    /// Others go first, whatever they cost.
    pub is_ready: bool,
}
