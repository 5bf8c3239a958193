//! The median node, which stands for the cluster before a node is chosen. The sources take the
//! mean, which one virtual node of ten thousand cores moves so far that a Pod that would fill any
//! real node looks small. Of two middle nodes the one with less left counts, so that a virtual node
//! beside a single real one does not decide.

use evenkeel_units::{Amount, Resources};

use crate::node_load::NodeLoad;

/// For each resource, capacity and load of the median by T - N among the nodes of known capacity;
/// for an even number, the lower of the two in the middle.
pub fn median<'a>(nodes: impl IntoIterator<Item = &'a NodeLoad>) -> NodeLoad {
    let mut known: Resources<Vec<CapacityAndLoad>> = Resources::default();
    for node in nodes {
        for (resource, capacity) in node.capacity.iter() {
            if let Some(capacity) = *capacity {
                let load = node.load[resource];
                known[resource].push(CapacityAndLoad { capacity, load });
            }
        }
    }
    let middle = known.map(|mut nodes| middle(&mut nodes));
    NodeLoad {
        capacity: middle.map(|node| node.map(|node| node.capacity)),
        load: middle.map(|node| node.map(|node| node.load).unwrap_or_default()),
        io_pressed: false,
    }
}

/// Values of a node of known capacity.
#[derive(Debug, Clone, Copy)]
struct CapacityAndLoad {
    capacity: Amount,
    load: Amount,
}

impl CapacityAndLoad {
    /// By what is left; of equals, the smaller node goes first.
    fn key(&self) -> (i128, Amount) {
        let left = i128::from(self.capacity.get()) - i128::from(self.load.get());
        (left, self.capacity)
    }
}

fn middle(nodes: &mut [CapacityAndLoad]) -> Option<CapacityAndLoad> {
    let lower = nodes.len().checked_sub(1)? / 2;
    let (_, middle, _) = nodes.select_nth_unstable_by_key(lower, CapacityAndLoad::key);
    Some(*middle)
}

#[cfg(test)]
mod tests {
    use evenkeel_units::Resource;
    use proptest::prelude::*;

    use super::*;

    fn node(capacity: Option<u64>, load: u64) -> NodeLoad {
        let mut node = NodeLoad::default();
        node.capacity[Resource::Cpu] = capacity.map(Amount::new);
        node.load[Resource::Cpu] = Amount::new(load);
        node
    }

    fn cpu(nodes: &[NodeLoad]) -> Option<(u64, u64)> {
        let found = median(nodes);
        let capacity = found.capacity[Resource::Cpu]?;
        Some((capacity.get(), found.load[Resource::Cpu].get()))
    }

    #[test]
    fn the_node_in_the_middle_by_what_is_left_is_taken() {
        let of = |nodes: &[(u64, u64)]| {
            let nodes: Vec<_> = nodes.iter().map(|(t, n)| node(Some(*t), *n)).collect();
            cpu(&nodes)
        };
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[(8, 3)]), Some((8, 3)));
        assert_eq!(of(&[(4, 1), (8, 3)]), Some((4, 1)));
        assert_eq!(of(&[(10_000, 0), (8, 3)]), Some((8, 3)));
        assert_eq!(of(&[(64, 60), (8, 1), (16, 2)]), Some((8, 1)));
        // An overfull node has less than 0 left.
        assert_eq!(of(&[(8, 20), (8, 8), (8, 7)]), Some((8, 8)));
        assert_eq!(cpu(&[node(None, 5), node(Some(9), 2)]), Some((9, 2)));
        assert_eq!(cpu(&[node(None, 5)]), None);
    }

    proptest! {
        /// One node of any size moves the middle at most to a neighbour's place, if there is
        /// another node; an empty one does not if it is not one of two.
        #[test]
        fn one_node_does_not_decide(
            capacities in prop::collection::vec(1_u64..1000, 1..40), odd in prop_oneof![Just(0), Just(10_000_000)],
        ) {
            prop_assume!(odd > 0 || capacities.len() > 1);
            let mut nodes: Vec<_> = capacities.iter().map(|t| node(Some(*t), 0)).collect();
            nodes.push(node(Some(odd), 0));
            let (found, _) = cpu(&nodes).unwrap();
            let (least, most) = (capacities.iter().min().unwrap(), capacities.iter().max().unwrap());
            prop_assert!((*least..=*most).contains(&found), "{found} of {capacities:?}");
        }

        #[test]
        fn the_order_of_the_nodes_is_no_matter(
            mut nodes in prop::collection::vec((0_u64..100, 0_u64..100), 1..30), by in any::<prop::sample::Index>(),
        ) {
            let of = |nodes: &[(u64, u64)]| {
                let nodes: Vec<_> = nodes.iter().map(|(t, n)| node(Some(*t), *n)).collect();
                cpu(&nodes)
            };
            let before = of(&nodes);
            let places = by.index(nodes.len());
            nodes.rotate_left(places);
            prop_assert_eq!(of(&nodes), before);
        }
    }
}
