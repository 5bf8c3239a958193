//! Ordinals of the Pods of each workload that stay. A Pod's noise comes from its ordinal, so that
//! the Pods of two runs of one seed are alike whatever happened to earlier ones.

use std::collections::BTreeMap;

/// Pods by workload (position in the scenario) and ordinal.
pub(crate) struct Ordinals<P>(BTreeMap<(usize, u32), P>);

impl<P> Ordinals<P> {
    pub(crate) const fn new() -> Self {
        Self(BTreeMap::new())
    }

    pub(crate) fn of(&self, workload: usize) -> impl Iterator<Item = &P> {
        let all = self.0.range((workload, 0)..=(workload, u32::MAX));
        all.map(|(_, pod)| pod)
    }

    /// The lowest `count` free ordinals.
    pub(crate) fn free(&self, workload: usize, count: usize) -> Vec<u32> {
        let free = (0..).filter(|&ordinal| !self.0.contains_key(&(workload, ordinal)));
        free.take(count).collect()
    }

    pub(crate) fn insert(&mut self, workload: usize, ordinal: u32, pod: P) {
        self.0.insert((workload, ordinal), pod);
    }

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
