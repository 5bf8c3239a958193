//! The names of nodes that Pods are on, each kept once for all of its Pods.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

/// The fewest names among which unused ones are looked for.
const LEAST: usize = 64;

/// Keeps one text for each name.
#[derive(Debug, Default)]
pub(super) struct NodeNameInterner {
    names: HashSet<Arc<str>, RandomState>,
    /// The number of names at which unused ones are forgotten.
    limit: usize,
}

impl NodeNameInterner {
    /// The kept text of a name. Unused names are forgotten when there are twice as many names as were in use.
    pub(super) fn shared(&mut self, node: Arc<str>) -> Arc<str> {
        if let Some(known) = self.names.get(&node) {
            return Arc::clone(known);
        }
        if self.names.len() >= self.limit {
            self.names.retain(|name| Arc::strong_count(name) > 1);
            self.limit = LEAST.max(2 * self.names.len());
        }
        self.names.insert(Arc::clone(&node));
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_only_while_it_is_used() {
        let mut names = NodeNameInterner::default();
        let held: Vec<Arc<str>> = (0..100)
            .map(|number| names.shared(format!("held-{number}").into()))
            .collect();
        for number in 0..10_000 {
            names.shared(format!("gone-{number}").into());
            assert!(names.names.len() <= 2 * held.len() + LEAST, "{number}");
        }
        for name in &held {
            assert!(Arc::ptr_eq(name, &names.shared((**name).into())));
        }
    }
}
