//! How far each node is above the others, in one number: for a program that moves Pods away from such
//! nodes.

use std::sync::Arc;

use evenkeel_units::{Resource, Resources};

use crate::node_table::{Freshness, NodeSet, NodeState};

/// The value of a resource without a fresh measurement: neither high enough for Pods to be moved away,
/// nor low enough for the node to be a place to move Pods to.
pub const UNMEASURED: f64 = 0.2;

/// For each node, the largest distance of a measured utilisation above the mean of all open nodes,
/// over all resources, from 0 to 1.
///
/// A utilisation above 1 counts as 1. A resource that lacks a fresh measurement on this node counts as
/// [`UNMEASURED`]. Every node has a value, because the descheduler stops at a node without one.
pub fn imbalance(nodes: &NodeSet) -> impl Iterator<Item = (&Arc<str>, f64)> {
    let means = Resources::from_fn(|resource| mean(nodes, resource));
    nodes.iter().map(move |node| {
        let above = means.iter().filter_map(|(resource, mean)| {
            let (mean, _) = (*mean).zip(node.load.capacity[resource])?;
            // The others are measured by this resource; this node may not be.
            Some(utilisation(node, resource).map_or(UNMEASURED, |own| own - mean))
        });
        let largest = above.reduce(f64::max);
        (
            &node.name,
            largest.map_or(UNMEASURED, |above| above.max(0.0)),
        )
    })
}

/// The mean over open nodes with a fresh measurement; `None` without any.
fn mean(nodes: &NodeSet, resource: Resource) -> Option<f64> {
    let open = nodes.iter().filter(|node| node.is_open());
    let (mut sum, mut count) = (0.0, 0.0);
    for utilisation in open.filter_map(|node| utilisation(node, resource)) {
        sum += utilisation;
        count += 1.0;
    }
    (count > 0.0).then(|| sum / count)
}

/// Load by capacity, at most 1; `None` without a fresh measurement or a known capacity.
fn utilisation(node: &NodeState, resource: Resource) -> Option<f64> {
    if node.freshness[resource] != Freshness::Fresh {
        return None;
    }
    let capacity = node.load.capacity[resource]?.as_f64();
    (capacity > 0.0).then(|| (node.load.load[resource].as_f64() / capacity).min(1.0))
}

#[cfg(test)]
mod tests {
    use evenkeel_metrics::usage::{NodeSample, UsageSample};
    use evenkeel_objects::node_facts::NodeFacts;
    use evenkeel_units::Amount;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::node_table::{NodeTable, Settings};

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    /// Nodes with a capacity of 100 of cpu and network, and these measurements of both.
    fn table(nodes: &[(&str, bool, Option<u64>, Option<u64>)]) -> NodeTable {
        let mut table = NodeTable::new(Settings::default());
        let mut sample = UsageSample::default();
        for (name, schedulable, cpu, network) in nodes {
            let mut facts = NodeFacts {
                schedulable: *schedulable,
                ..NodeFacts::default()
            };
            facts.capacity[Resource::Cpu] = Some(Amount::new(100));
            facts.capacity[Resource::NetworkIo] = Some(Amount::new(100));
            table.apply_node(name, facts, NOW);
            let mut measured = Resources::default();
            for (resource, value) in [(Resource::Cpu, cpu), (Resource::NetworkIo, network)] {
                measured[resource] = value.map(|value| NodeSample {
                    value: Amount::new(value),
                    at: NOW,
                    window: SignedDuration::from_secs(60),
                });
            }
            sample.insert_node(*name, &measured);
        }
        table.apply_sample(sample.into(), NOW);
        table
    }

    #[test]
    fn a_node_is_as_far_above_the_others_as_its_fullest_resource() {
        let table = table(&[
            ("even", true, Some(40), Some(20)),
            ("network", true, Some(40), Some(80)),
            ("overfull", true, Some(40), Some(500)),
            // It does not count in the mean, but Pods may be moved away from it.
            ("cordoned", false, Some(90), None),
            ("unmeasured", true, None, None),
            // Its network exporter has died.
            ("half", true, Some(40), None),
        ]);
        let found: Vec<(&str, f64)> = imbalance(table.nodes())
            .map(|(name, value)| (&**name, (value * 1e6).round() / 1e6))
            .collect();
        let third = 0.666_667;
        assert_eq!(
            found,
            [
                ("even", 0.0),
                ("network", ((0.8 - third) * 1e6_f64).round() / 1e6),
                ("overfull", ((1.0 - third) * 1e6_f64).round() / 1e6),
                ("cordoned", 0.5),
                ("unmeasured", UNMEASURED),
                ("half", UNMEASURED),
            ]
        );
    }

    #[test]
    fn without_any_node_there_is_none() {
        assert_eq!(imbalance(&NodeSet::default()).count(), 0);
    }
}
