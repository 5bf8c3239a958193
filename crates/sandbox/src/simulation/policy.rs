//! The trait of a placement policy: it gets measurements and Pods, and adds its own scores to those
//! of kube-scheduler's plugins.
//!
//! A policy sees the same as the real one, and as late: measurements by rounds, bindings by watch.
//! kube-scheduler's part, the requests and the choice among equals, is the same for all policies
//! and is in [`super::scheduler`].

use std::collections::BTreeMap;

use jiff::SignedDuration;

use super::monitoring::NodeMonitor;
use super::policy_pods::{PodId, PodLifecycleStep, PolicyPod, ScaleInCandidate};

/// A node that a Pod may go to, with what speaks for it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeCandidate {
    /// Its position in the scenario.
    pub node: usize,
    /// kube-scheduler's sum.
    pub sum: i64,
}

/// The choice between counting and disabling kube-scheduler's scores by requests beside a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTree {
    Counted,
    /// NodeResourcesFit and NodeResourcesBalancedAllocation are turned off for scoring.
    Disabled,
}

/// A way of placing Pods by load. The default methods do nothing, as the default scheduler does.
pub trait LoadPolicy {
    /// How the policy treats the scores by requests.
    fn in_tree(&self) -> InTree {
        InTree::Counted
    }

    /// A round of measurements has arrived.
    fn measured(&mut self, _monitoring: &NodeMonitor, _now: SignedDuration) {}

    /// True where to be told of the choice that is under way may change which nodes pass.
    fn doubts(&mut self, _pod: &PolicyPod<'_>, _nodes: &[usize], _now: SignedDuration) -> bool {
        false
    }

    /// Takes nodes out that must not have the Pod.
    fn filter(&mut self, _pod: &PolicyPod<'_>, _nodes: &mut Vec<usize>, _now: SignedDuration) {}

    /// Adds to the sum of each node that passed; there are at least two, as otherwise nothing is scored.
    fn score(
        &mut self,
        _pod: &PolicyPod<'_>,
        _candidates: &mut [NodeCandidate],
        _now: SignedDuration,
    ) {
    }

    /// The costs of deletion that a workload's Pods are given before so many of them go; 0 for those that are
    /// not named.
    fn deletion_costs(
        &self,
        _pods: &[ScaleInCandidate<'_>],
        _count: usize,
    ) -> BTreeMap<PodId, i32> {
        BTreeMap::new()
    }

    /// Takes a step in the life of a Pod.
    fn step(
        &mut self,
        _pod: &PolicyPod<'_>,
        _node: usize,
        _step: PodLifecycleStep,
        _now: SignedDuration,
    ) {
    }
}

/// kube-scheduler as it is shipped.
pub(super) struct DefaultScheduler;

impl LoadPolicy for DefaultScheduler {}
