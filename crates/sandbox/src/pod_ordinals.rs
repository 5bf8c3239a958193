//! Which Pods of each workload stay, by their ordinals, and what new ones are called when there are too few.
//!
//! The noise of a Pod comes from its ordinal, so that the Pods of two runs of one seed are alike whatever became
//! of those before them.

use std::collections::BTreeMap;

/// The Pods that stay, each as its driver knows it; workloads are known by their positions in the scenario.
pub(crate) struct Ordinals<P>(BTreeMap<(usize, u32), P>);

impl<P> Ordinals<P> {
    /// No Pod stays.
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    /// The Pods of a workload, by their ordinals.
    pub(crate) fn of(&self, workload: usize) -> impl Iterator<Item = &P> {
        let all = self.0.range((workload, 0)..=(workload, u32::MAX));
        all.map(|(_, pod)| pod)
    }

    /// The first ordinals of a workload that are free, so many of them.
    pub(crate) fn free(&self, workload: usize, count: usize) -> Vec<u32> {
        let free = (0..).filter(|&ordinal| !self.0.contains_key(&(workload, ordinal)));
        free.take(count).collect()
    }

    /// A Pod has the ordinal from now on.
    pub(crate) fn insert(&mut self, workload: usize, ordinal: u32, pod: P) {
        self.0.insert((workload, ordinal), pod);
    }

    /// The ordinal is free again.
    pub(crate) fn remove(&mut self, workload: usize, ordinal: u32) {
        self.0.remove(&(workload, ordinal));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_free_ordinals_come_next() {
        let mut ordinals = Ordinals::new();
        for ordinal in ordinals.free(1, 4) {
            ordinals.insert(1, ordinal, ordinal);
        }
        ordinals.insert(2, 0, 9);
        let all: Vec<u32> = ordinals.of(1).copied().collect();
        assert_eq!(all, [0, 1, 2, 3]);
        ordinals.remove(1, 0);
        ordinals.remove(1, 2);
        assert_eq!(ordinals.of(1).count(), 2);
        assert_eq!(ordinals.free(1, 3), [0, 2, 4]);
        assert_eq!(ordinals.free(3, 2), [0, 1]);
    }
}
