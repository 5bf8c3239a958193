//! The trait of a placement policy, which adds its own scores to those of kube-scheduler's plugins.
//! It sees the same as the real one, and as late: measurements by rounds, bindings by watch.
//! [`super::scheduler`] has kube-scheduler's part, the same for all policies.

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::monitoring::NodeMonitor;
use super::policy_pods::{PodId, PodLifecycleStep, PolicyPod, ScaleInCandidate};

/// A feasible node with its score.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCandidate {
    /// Position in the scenario.
    pub node: usize,
    /// kube-scheduler's sum.
    pub sum: i64,
}

/// The part that kube-scheduler's scores by requests have beside a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTree {
    Counted,
    /// NodeResourcesFit and NodeResourcesBalancedAllocation do not score.
    Disabled,
}

/// The default methods do nothing, like the default scheduler.
pub trait LoadPolicy {
    fn in_tree(&self) -> InTree {
        InTree::Counted
    }

    /// A round of measurements has arrived.
    fn measured(&mut self, _monitoring: &NodeMonitor, _now: SignedDuration) {}

    /// A notice of the choice under way may change which nodes pass.
    fn doubts(&mut self, _pod: &PolicyPod<'_>, _nodes: &[usize], _now: SignedDuration) -> bool {
        false
    }

    /// Removes nodes that must not have the Pod.
    fn filter(&mut self, _pod: &PolicyPod<'_>, _nodes: &mut Vec<usize>, _now: SignedDuration) {}

    /// Adds to the sums of nodes that passed: at least two, as otherwise nothing is scored.
    fn score(
        &mut self,
        _pod: &PolicyPod<'_>,
        _candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
    }

    /// Deletion costs of a workload's Pods before `count` of them go; 0 if not named.
    fn deletion_costs(
        &self,
        _pods: &[ScaleInCandidate<'_>],
        _count: usize,
    ) -> BTreeMap<PodId, i32> {
        BTreeMap::new()
    }

    fn step(
        &mut self,
        _pod: &PolicyPod<'_>,
        _node: usize,
        _step: PodLifecycleStep,
        _now: SignedDuration,
    ) {
    }
}

pub(super) struct DefaultScheduler;

impl LoadPolicy for DefaultScheduler {}
