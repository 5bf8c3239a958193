//! The inputs of trees while they are put down.

use super::trees::{MISSING, TreeInput, tree_input};

/// The inputs of one row, put down one after the other; those that are not there yet are missing.
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
    /// Adds the number as [`tree_input`] has it.
    pub(super) fn push(&mut self, value: f64) {
        self.put(tree_input(value));
    }

    /// Adds an input.
    pub(super) fn put(&mut self, input: TreeInput) {
        self.values[self.next] = input;
        self.next += 1;
    }

    /// All of them.
    pub(super) const fn values(self) -> [TreeInput; N] {
        self.values
    }
}
