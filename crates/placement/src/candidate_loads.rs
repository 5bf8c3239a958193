//! The loads by which candidates are scored. Without a measurement of network or disk I/O, a node
//! has only its Pods' demands, which are mostly 0, so it would look idle and rank first. If other
//! candidates are measured, such a node is scored with their mean utilisation. The headroom rule
//! uses only the known load, so it may refuse less.

use evenkeel_units::{Amount, Resource};

use crate::node_load::NodeLoad;
use crate::node_table::{Freshness, NodeState};

/// Resources that Pods seldom demand: the sum of demands does not show the use.
pub const SELDOM_DEMANDED: [Resource; 2] = [Resource::NetworkIo, Resource::DiskIo];

pub(crate) fn scored_loads(nodes: &[&NodeState]) -> Vec<NodeLoad> {
    let mut loads: Vec<NodeLoad> = nodes.iter().map(|node| node.load).collect();
    for resource in SELDOM_DEMANDED {
        let Some(usual) = mean_utilisation(nodes, resource) else {
            continue;
        };
        for (node, load) in nodes.iter().zip(&mut loads) {
            if let Some(capacity) = known(node, resource)
                && node.freshness[resource] != Freshness::Fresh
            {
                let assumed = Amount::from_f64(usual * capacity.as_f64());
                load.load[resource] = load.load[resource].max(assumed);
            }
        }
    }
    loads
}

/// Mean of the measured nodes; `None` if none or all are measured.
fn mean_utilisation(nodes: &[&NodeState], resource: Resource) -> Option<f64> {
    let (mut sum, mut measured, mut unmeasured) = (0.0, 0_u32, false);
    for node in nodes {
        let Some(capacity) = known(node, resource) else {
            continue;
        };
        if node.freshness[resource] == Freshness::Fresh {
            sum += node.load.load[resource].as_f64() / capacity.as_f64();
            measured += 1;
        } else {
            unmeasured = true;
        }
    }
    (unmeasured && measured > 0).then(|| sum / f64::from(measured))
}

fn known(node: &NodeState, resource: Resource) -> Option<Amount> {
    node.load.capacity[resource].filter(|capacity| *capacity > Amount::ZERO)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use evenkeel_metrics::usage::{NodeSample, UsageSample};
    use evenkeel_objects::node_facts::NodeFacts;
    use evenkeel_units::Resources;
    use jiff::{SignedDuration, Timestamp};

    use super::*;
    use crate::node_table::{NodeTable, Settings};

    /// On nodes of capacity 1000, some of them measured.
    fn scored(measured: &[Option<u64>], resource: Resource) -> Vec<u64> {
        let mut table = NodeTable::new(Settings::default());
        let facts = NodeFacts {
            capacity: Resources::new([Some(Amount::new(1000)); 5]),
            schedulable: true,
            ..NodeFacts::default()
        };
        let now = Timestamp::UNIX_EPOCH;
        let mut sample = UsageSample::default();
        let names: Vec<String> = (0..measured.len())
            .map(|number| number.to_string())
            .collect();
        for (name, measured) in names.iter().zip(measured) {
            table.apply_node(name, facts, now);
            let mut row = Resources::default();
            row[resource] = measured.map(|value| NodeSample {
                value: Amount::new(value),
                at: now,
                window: SignedDuration::ZERO,
            });
            sample.insert_node(name.as_str(), &row);
        }
        table.apply_sample(Arc::new(sample), now);
        let nodes: Vec<&NodeState> = names
            .iter()
            .filter_map(|name| table.nodes().get(name))
            .collect();
        let loads = scored_loads(&nodes);
        loads.iter().map(|load| load.load[resource].get()).collect()
    }

    /// The hottest node, with a renamed interface, counted as idle and came first.
    #[test]
    fn a_node_that_is_not_measured_is_as_used_as_the_others() {
        for resource in [Resource::NetworkIo, Resource::DiskIo] {
            assert_eq!(
                scored(&[Some(100), None, Some(300)], resource),
                [100, 200, 300]
            );
            assert_eq!(
                scored(&[None, None], resource),
                [0, 0],
                "nobody is measured"
            );
            assert_eq!(scored(&[Some(7), Some(9)], resource), [7, 9]);
        }
        // Pods request these, so the requests stand for the use.
        assert_eq!(scored(&[Some(100), None], Resource::Cpu), [100, 0]);
    }
}
