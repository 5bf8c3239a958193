//! Collects the inputs of trees.

use super::trees::{MISSING, TreeInput, tree_input};

/// One row; inputs not pushed yet are missing.
#[derive(Debug)]
pub(crate) struct TreeInputs<const N: usize> {
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
    pub(crate) fn push(&mut self, value: f64) {
        self.put(tree_input(value));
    }

    pub(crate) fn put(&mut self, input: TreeInput) {
        self.values[self.next] = input;
        self.next += 1;
    }

    pub(crate) const fn values(self) -> [TreeInput; N] {
        self.values
    }
}
