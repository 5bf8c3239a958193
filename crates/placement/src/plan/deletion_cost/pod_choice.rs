//! Chooses the Pods of a ReplicaSet that go first ([`crate::deletion_cost`]), by
//! the nodes, each Pod's part of their loads, and the domains of the constraints.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_objects::annotations::POD_DELETION_COST;
use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_units::{Amount, Resources};

use super::constraints::{MOST_CONSTRAINTS, NamespacePods, NodeLabels, constraints};
use crate::deletion_cost::{DeletionCandidate, Removal};
use crate::extender::placement_rules::headroom_for;
use crate::node_table::{NodeSet, median};
use crate::profile::Weights;
use crate::removable_pod::{Cost, RemovablePod};
use crate::{NodeLoad, SchedulingPolicy, deletion_cost, profile};

/// Factor of Pods to mark: other scale-ins may follow before the next round, one for each HPA tick
/// within a round's minute.
const AHEAD: usize = 4;
/// No more Pods than this are marked ahead.
const MOST_AHEAD: usize = 20;
/// The most marks in a round: the writer makes a hundred writes a second, and the scale-in waits.
const MOST: usize = 200;

/// The number of Pods to mark for a scale-in of `pods` by `removed`. At least one stays unmarked.
pub fn count_to_mark(removed: usize, pods: usize) -> usize {
    let ahead = removed.saturating_mul(AHEAD).min(MOST_AHEAD);
    removed.max(ahead).min(MOST).min(pods.saturating_sub(1))
}

#[derive(Clone, Copy)]
pub struct Situation<'a> {
    pub nodes: &'a NodeSet,
    pub labels: &'a NodeLabels,
    pub policy: &'a SchedulingPolicy,
    pub namespace: &'a NamespacePolicy,
    /// The resources that go with a Pod, by its UID: its measured use, or else its demand.
    pub usage: &'a dyn Fn(&str) -> Resources<Amount>,
    /// The Pods of the namespace, which constraints count too: asked for where there are any.
    pub around: &'a dyn Fn() -> NamespacePods,
}

/// The upper bound of steps to choose `count` of `pods`: each choice looks at all Pods, by each
/// constraint, and moves the mean of all nodes; constraints count the Pods `around`.
pub const fn looks(count: usize, pods: usize, nodes: usize, around: usize) -> usize {
    let once = pods
        .saturating_mul(1 + MOST_CONSTRAINTS)
        .saturating_add(nodes);
    let counted = around.saturating_mul(MOST_CONSTRAINTS);
    count.saturating_mul(once).saturating_add(counted)
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DeletionCostRefusal {
    /// A Pod carries a cost that is not Evenkeel's.
    #[error(
        "Pod {0} has a {key} of its own, which stays: no Pod of this ReplicaSet gets another",
        key = POD_DELETION_COST
    )]
    UsersCost(String),
    #[error("its Pods belong to no ReplicaSet")]
    NoReplicaSet,
    /// Its Pods belong to several ReplicaSets, whose counts the controller moves by its own rules.
    #[error("it is being rolled out: its Pods belong to several ReplicaSets")]
    Rollout,
    /// Too little is known of the cluster.
    #[error("no node has a fresh measurement")]
    Unmeasured,
    /// Its Pods have more constraints on their spread than are gone by.
    #[error(
        "its Pods have more topologySpreadConstraints than Evenkeel evaluates (12, with 200 terms \
         in total), so no Pod gets a cost"
    )]
    Constraints,
    /// Others were before it for as long as a scale-in waits.
    #[error(
        "too many workloads are scaled in at once, and its turn did not come before its scale-in"
    )]
    Busy,
}

impl DeletionCostRefusal {
    pub const fn reason(&self) -> &'static str {
        match self {
            Self::UsersCost(_) => "users_cost",
            Self::NoReplicaSet => "no_replica_set",
            Self::Rollout => "rollout",
            Self::Unmeasured => "unmeasured",
            Self::Constraints => "constraints",
            Self::Busy => "busy",
        }
    }
}

/// The costs of those Pods of a ReplicaSet that are among the first `count` to go, by their UIDs.
///
/// # Errors
/// A Pod carries a cost that is not Evenkeel's, or there are more constraints than are gone by.
pub fn choose(
    pods: &[Arc<RemovablePod>],
    count: usize,
    situation: &Situation<'_>,
) -> Result<BTreeMap<Arc<str>, Cost>, DeletionCostRefusal> {
    if let Some(pod) = pods.iter().find(|pod| pod.mark.is_users()) {
        return Err(DeletionCostRefusal::UsersCost(pod.name.to_string()));
    }
    let spread = constraints(pods, situation.around, situation.labels);
    let spread = spread.ok_or(DeletionCostRefusal::Constraints)?;
    let loads: Vec<NodeLoad> = situation.nodes.iter().map(|node| node.load).collect();
    let candidates: Vec<DeletionCandidate<'_>> = pods
        .iter()
        .map(|pod| DeletionCandidate {
            name: &pod.name,
            node: pod
                .node
                .as_deref()
                .and_then(|node| situation.nodes.position(node)),
            usage: (situation.usage)(&pod.uid),
            goes_first: pod.goes_first,
        })
        .collect();
    let Some(first) = pods.iter().min_by_key(|pod| (pod.goes_first, &pod.name)) else {
        return Ok(BTreeMap::new());
    };
    let class = first.common.priority_class.as_deref();
    let removal = Removal {
        nodes: &loads,
        pods: &candidates,
        spread: &spread,
        weights: weights(first, &loads, situation),
        headroom: headroom_for(class, situation.namespace, situation.policy),
    };
    let order = removal.order(count);
    let costs = order.iter().enumerate().map(|(place, choice)| {
        let cost = Cost {
            cost: deletion_cost::cost(place, order.len()),
            ground: choice.ground,
        };
        (pods[choice.pod].uid.clone(), cost)
    });
    Ok(costs.collect())
}

/// The weights of a Pod's profile: the annotated one, else that which what it uses gives it.
fn weights<'a>(
    pod: &'a RemovablePod,
    loads: &[NodeLoad],
    situation: &Situation<'a>,
) -> &'a Weights {
    let Situation {
        policy, namespace, ..
    } = situation;
    let choice = policy.profiles.choose(pod.profile.as_deref(), || {
        let free = median(loads).free();
        let usage = (situation.usage)(&pod.uid);
        profile::classify(&usage, &free, policy.profile_threshold_in(namespace))
    });
    choice.weights
}
