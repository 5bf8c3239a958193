//! The largest capacity of each resource on any node, updated node by node. Only when the last node
//! of the largest capacity goes ([`LargestCapacities::is_lost`]) must all be added anew.

use evenkeel_units::{Amount, Resource, Resources};

/// With the number of nodes that have each.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct LargestCapacities {
    tops: Resources<Option<LargestValues>>,
    lost: bool,
}

#[derive(Debug, Clone, Copy)]
struct LargestValues {
    capacity: Amount,
    nodes: usize,
}

impl LargestCapacities {
    pub(super) fn add(&mut self, capacity: &Resources<Option<Amount>>) {
        for (resource, capacity) in known(capacity) {
            let top = &mut self.tops[resource];
            match top {
                Some(top) if capacity < top.capacity => {}
                Some(top) if capacity == top.capacity => top.nodes += 1,
                _ => *top = Some(LargestValues { capacity, nodes: 1 }),
            }
        }
    }

    pub(super) fn remove(&mut self, capacity: &Resources<Option<Amount>>) {
        for (resource, capacity) in known(capacity) {
            if let Some(top) = &mut self.tops[resource]
                && top.capacity == capacity
            {
                top.nodes = top.nodes.saturating_sub(1);
                self.lost |= top.nodes == 0;
            }
        }
    }

    /// A largest capacity went with its last node, so all have to be added anew.
    pub(super) const fn is_lost(&self) -> bool {
        self.lost
    }

    /// `None` if no node's is known.
    pub(super) fn get(&self) -> Resources<Option<Amount>> {
        self.tops.map(|top| top.map(|top| top.capacity))
    }
}

impl FromIterator<Resources<Option<Amount>>> for LargestCapacities {
    fn from_iter<I: IntoIterator<Item = Resources<Option<Amount>>>>(nodes: I) -> Self {
        let mut largest = Self::default();
        for capacity in nodes {
            largest.add(&capacity);
        }
        largest
    }
}

fn known(capacity: &Resources<Option<Amount>>) -> impl Iterator<Item = (Resource, Amount)> {
    let known = capacity.iter();
    known.filter_map(|(resource, capacity)| Some((resource, (*capacity)?)))
}
