//! Two in-tree plugins of kube-scheduler that score by requests: NodeResourcesFit by
//! LeastAllocated, and NodeResourcesBalancedAllocation, over cpu and memory with equal weights.

use evenkeel_units::{Amount, Resource, Resources};

use super::node_table::NodeDetail;

/// Largest score of one plugin.
pub const MOST: i64 = 100;

/// Weight of TaintToleration, which gives its most to a node without a taint that asks to stay
/// away.
pub const TAINT_WEIGHT: i64 = 3;

/// `weight` of the extender in the shipped configuration.
pub const EXTENDER_WEIGHT: i64 = 5;

/// kube-scheduler's factor for all extenders' scores, besides their weights: a plugin's largest
/// score over an extender's, which is 10.
pub const EXTENDER_SCALE: i64 = MOST / 10;

/// One point of the extender's score in points of plugins, as shipped.
pub const POINT: i64 = EXTENDER_WEIGHT * EXTENDER_SCALE;

/// For a container without a request, when kube-scheduler scores: 100 millicores.
pub const ASSUMED_CPU: Amount = Amount::new(100);

/// The same of memory: 200 MiB.
pub const ASSUMED_MEMORY: Amount = Amount::new(200 << 20);

const SCORED: [Resource; 2] = [Resource::Cpu, Resource::Memory];

/// The demand has nothing beside cpu and memory.
pub(crate) fn sees_all_of(demand: &Resources<Amount>) -> bool {
    let mut unseen = Resource::ALL
        .iter()
        .filter(|resource| !SCORED.contains(resource));
    unseen.all(|&resource| demand[resource] == Amount::ZERO)
}

/// The free share after placement, mean over cpu and memory, 0 to 100. `scored` are the requests of
/// the node's Pods. A missing request counts as the assumed one, not as 0.
pub fn least_allocated(
    asked: &Resources<Amount>,
    scored: &Resources<Amount>,
    allocatable: &Resources<Amount>,
) -> i64 {
    let free = SCORED.map(|resource| {
        let capacity = allocatable[resource].get();
        let used = scored[resource].saturating_add(asked[resource]).get();
        let free = u128::from(capacity.saturating_sub(used)) * 100;
        free.checked_div(u128::from(capacity))
            .and_then(|share| i64::try_from(share).ok())
            .unwrap_or(0)
    });
    free.iter().sum::<i64>() / 2
}

/// Similarity of the requested shares of cpu and memory after placement, 0 to 100.
pub fn balanced_allocation(
    asked: &Resources<Amount>,
    requested: &Resources<Amount>,
    allocatable: &Resources<Amount>,
) -> i64 {
    let share = SCORED.map(|resource| {
        let used = requested[resource].saturating_add(asked[resource]);
        let capacity = allocatable[resource].as_f64();
        if capacity > 0.0 {
            (used.as_f64() / capacity).min(1.0)
        } else {
            1.0
        }
    });
    let deviation = (share[0] - share[1]).abs() / 2.0;
    let score = Amount::from_f64(((1.0 - deviation) * 100.0).floor()).get();
    i64::try_from(score).unwrap_or(MOST)
}

pub(crate) fn by_requests(asked: &Resources<Amount>, node: &NodeDetail) -> i64 {
    let allocatable = node.allocatable.map(Option::unwrap_or_default);
    least_allocated(asked, &node.committed, &allocatable)
        + balanced_allocation(asked, &node.committed, &allocatable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_emptier_and_the_more_balanced_node_gets_more() {
        let of = |cpu, memory| Resources::new([cpu, memory, 0, 0, 0].map(Amount::new));
        let (pod, node) = (of(1000, 2 << 30), of(4000, 8 << 30));
        for (used, least, balanced) in [
            (of(0, 0), 75, 100),
            (of(2000, 4 << 30), 25, 100),
            (of(3000, 2 << 30), 25, 75),
            (of(9000, 9 << 30), 0, 100),
        ] {
            assert_eq!(least_allocated(&pod, &used, &node), least);
            assert_eq!(balanced_allocation(&pod, &used, &node), balanced);
        }
        assert_eq!(least_allocated(&pod, &of(0, 0), &of(0, 0)), 0);
    }
}
