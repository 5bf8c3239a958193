//! The order in which a ReplicaSet deletes Pods when it has too many: that of
//! kube-controller-manager's `ActivePodsWithRanks`, with deletion costs and logarithmic ages.
//!
//! One rule for all callers: the choice of Pods that leave traffic before they go, and every
//! sandbox that deletes Pods.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::hash::Hash;

use jiff::SignedDuration;

/// The facts of a Pod that decide if it goes before another.
#[derive(Debug, Clone)]
pub struct Victim<N, I> {
    /// The node that it is bound to.
    pub node: Option<N>,
    pub phase: ActivePodPhase,
    pub is_ready: bool,
    /// The cost of its deletion.
    pub cost: i32,
    /// How long it has been ready, where that is told; below zero for a time that is still to come.
    pub ready_for: Option<SignedDuration>,
    /// The restarts of the container that was restarted most often, then those of sidecars.
    pub restarts: [i32; 2],
    /// How long ago it was made.
    pub age: Option<SignedDuration>,
    /// Decides among Pods of about one age, as the UID does, which is left to chance.
    pub identity: I,
}

/// The phases that Pods have which a ReplicaSet counts, in the order in which they go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ActivePodPhase {
    Pending,
    Unknown,
    Running,
}

/// The positions of the Pods in the order in which they are deleted. `related` are the nodes of the active
/// Pods of all ReplicaSets with the same owner, of which a node should not keep several.
#[must_use]
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
    // By insertion: the comparison is Kubernetes', which goes by identity within an age and is no total
    // order where some ages are equal.
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

/// Not placed before placed, pending before running, not ready before ready, then by cost.
fn by_use<N, I>(one: &Victim<N, I>, other: &Victim<N, I>) -> Ordering {
    let key = |pod: &Victim<N, I>| (pod.node.is_some(), pod.phase, pod.is_ready, pod.cost);
    key(one).cmp(&key(other))
}

/// Ready for a shorter time first, restarted more often, made later.
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

/// By the power of two that an age lies in, and within one by identity, so that the choice is random.
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

/// The whole part of the binary logarithm of an age in nanoseconds; below all of them for one that is none.
fn power(age: SignedDuration) -> Option<u32> {
    let age = u128::try_from(age.as_nanos()).ok();
    age.and_then(u128::checked_ilog2)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A Pod that is ready for as long as it is old.
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
