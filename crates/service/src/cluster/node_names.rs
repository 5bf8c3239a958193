//! The names of nodes that Pods are on, each kept once for all of its Pods.

use std::collections::HashSet;
use std::sync::Arc;

use foldhash::fast::RandomState;

#[derive(Debug, Default)]
pub(super) struct NodeNames(HashSet<Arc<str>, RandomState>);

impl NodeNames {
    /// The kept text of a name. The names that no Pod has any longer are forgotten as others come.
    pub(super) fn shared(&mut self, node: Arc<str>) -> Arc<str> {
        if let Some(known) = self.0.get(&node) {
            return Arc::clone(known);
        }
        if self.0.len().is_power_of_two() {
            self.0.retain(|name| Arc::strong_count(name) > 1);
        }
        self.0.insert(Arc::clone(&node));
        node
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_kept_once_and_only_while_it_is_used() {
        let mut names = NodeNames::default();
        let first = names.shared("a".into());
        assert!(Arc::ptr_eq(&first, &names.shared("a".into())));
        for number in 0..1000 {
            names.shared(number.to_string().into());
        }
        assert!(names.0.len() <= 2, "{names:?}");
        assert!(Arc::ptr_eq(&first, &names.shared("a".into())));
    }
}
