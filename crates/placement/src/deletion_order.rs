//! The order in which a ReplicaSet deletes surplus Pods: that of kube-controller-manager's
//! `ActivePodsWithRanks`, with deletion costs and logarithmic ages. Scale-in with cut-off traffic
//! and every sandbox use this one rule.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

use jiff::SignedDuration;

/// The facts of a Pod that decide whether it goes before another.
#[derive(Debug, Clone)]
pub struct Victim<N, I> {
    pub node: Option<N>,
    pub phase: ActivePodPhase,
    pub is_ready: bool,
    pub cost: i32,
    /// `None` if unknown; below zero for a time in the future.
    pub ready_for: Option<SignedDuration>,
    /// Restarts of the container restarted most often, then of sidecars.
    pub restarts: [i32; 2],
    pub age: Option<SignedDuration>,
    /// Decides between Pods of about one age, as the random UID does.
    pub identity: I,
}

/// Phases of the Pods that a ReplicaSet counts, in the order in which they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActivePodPhase {
    Pending,
    Unknown,
    Running,
}

/// Indexes in the order of deletion. `related` are the nodes of the active Pods of all ReplicaSets
/// with the same owner, of which a node should not keep several.
pub fn in_order<N, I>(
    pods: &[Victim<N, I>],
    related: impl IntoIterator<Item = Option<N>>,
) -> Vec<usize>
where
    N: Eq + Hash,
    I: Ord,
{
    let mut on_node: HashMap<Option<N>, usize> = HashMap::new();
    for node in related {
        *on_node.entry(node).or_default() += 1;
    }
    let ranks: Vec<usize> = pods
        .iter()
        .map(|pod| on_node.get(&pod.node).copied().unwrap_or(0))
        .collect();
    // Insertion sort: Kubernetes' comparison goes by identity within an age and is no total order
    // where some ages are equal.
    let mut order: Vec<usize> = Vec::with_capacity(pods.len());
    for (at, pod) in pods.iter().enumerate() {
        let before = |&other: &usize| {
            let compared = by_use(pod, &pods[other])
                .then_with(|| ranks[other].cmp(&ranks[at]))
                .then_with(|| by_age(pod, &pods[other]));
            compared == Ordering::Less
        };
        let place = order.iter().position(before).unwrap_or(order.len());
        order.insert(place, at);
    }
    order
}

/// Unbound, then pending, then not ready, then by cost.
fn by_use<N, I>(one: &Victim<N, I>, other: &Victim<N, I>) -> Ordering {
    let key = |pod: &Victim<N, I>| (pod.node.is_some(), pod.phase, pod.is_ready, pod.cost);
    key(one).cmp(&key(other))
}

/// Ready for a shorter time first, then more restarts, then created later.
fn by_age<N, I: Ord>(one: &Victim<N, I>, other: &Victim<N, I>) -> Ordering {
    let ready = if one.is_ready && other.is_ready {
        younger(one, other, |pod| pod.ready_for)
    } else {
        Ordering::Equal
    };
    ready
        .then_with(|| other.restarts.cmp(&one.restarts))
        .then_with(|| younger(one, other, |pod| pod.age))
}

/// By the power of two that an age lies in, and within one by identity, so that the choice is
/// random.
fn younger<N, I: Ord>(
    one: &Victim<N, I>,
    other: &Victim<N, I>,
    age: impl Fn(&Victim<N, I>) -> Option<SignedDuration>,
) -> Ordering {
    match [age(one), age(other)] {
        [a, b] if a == b => Ordering::Equal,
        [Some(a), Some(b)] => power(a)
            .cmp(&power(b))
            .then_with(|| one.identity.cmp(&other.identity)),
        [a, b] => a.is_some().cmp(&b.is_some()),
    }
}

/// Whole part of the binary logarithm in nanoseconds; `None` is below all.
fn power(age: SignedDuration) -> Option<u32> {
    let age = u128::try_from(age.as_nanos()).ok();
    age.and_then(u128::checked_ilog2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ready for as long as it is old.
    fn pod(node: u8, age: i64, identity: u8) -> Victim<u8, u8> {
        let age = Some(SignedDuration::from_secs(age));
        Victim {
            node: Some(node),
            phase: ActivePodPhase::Running,
            is_ready: true,
            cost: 0,
            ready_for: age,
            restarts: [0, 0],
            age,
            identity,
        }
    }

    #[test]
    fn a_node_with_several_gives_before_the_youngest_and_a_cost_comes_before_both() {
        let mut pods = [
            pod(1, 9000, 0),
            pod(1, 9000, 1),
            pod(2, 10, 2),
            pod(3, 9000, 3),
        ];
        let related = || [1, 1, 2, 3].map(Some);
        assert_eq!(in_order(&pods, related()), [0, 1, 2, 3]);
        pods[3].cost = -1;
        assert_eq!(in_order(&pods, related())[0], 3);
        pods[2].is_ready = false;
        assert_eq!(in_order(&pods, related())[..2], [2, 3]);
        pods[1].node = None;
        assert_eq!(in_order(&pods, related())[..2], [1, 2]);
    }
}
