//! Collects the inputs of trees.

use super::trees::{MISSING, TreeInput, tree_input};

/// One row; inputs not pushed yet are missing.
#[derive(Debug)]
pub(super) struct TreeInputs<const N: usize> {
    values: [TreeInput; N],
    next: usize,
}

impl<const N: usize> Default for TreeInputs<N> {
    fn default() -> Self {
        Self {
            values: [MISSING; N],
            next: 0,
        }
    }
}

impl<const N: usize> TreeInputs<N> {
    pub(super) fn push(&mut self, value: f64) {
        self.put(tree_input(value));
    }

    pub(super) fn put(&mut self, input: TreeInput) {
        self.values[self.next] = input;
        self.next += 1;
    }

    pub(super) const fn values(self) -> [TreeInput; N] {
        self.values
    }
}
