//! Names of Pods, shared by columns of measurements, the node table and lookups: one pointer each.
//! A source keeps a [`PodNames`], so that all its answers share their names.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;

/// Clones share the text.
#[derive(Clone, PartialEq, Eq)]
pub struct PodName(Arc<PodNameText>);

/// One text for both, to save an allocation.
#[derive(PartialEq, Eq)]
struct PodNameText {
    /// Namespace and name without a separator.
    both: Box<str>,
    /// In bytes.
    namespace: usize,
}

impl PodName {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self(Arc::new(PodNameText {
            both: [namespace, name].concat().into(),
            namespace: namespace.len(),
        }))
    }

    pub fn namespace(&self) -> &str {
        self.key().0
    }

    pub fn name(&self) -> &str {
        self.key().1
    }
}

impl fmt::Display for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (namespace, name) = self.key();
        write!(f, "{namespace}/{name}")
    }
}

impl fmt::Debug for PodName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PodName({self})")
    }
}

impl Ord for PodName {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for PodName {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Hash for PodName {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

/// A name, owned or borrowed, for lookups without a copy.
pub trait PodKey {
    fn key(&self) -> (&str, &str);
}

impl PodKey for PodName {
    fn key(&self) -> (&str, &str) {
        self.0.both.split_at(self.0.namespace)
    }
}

impl PodKey for (&str, &str) {
    fn key(&self) -> (&str, &str) {
        *self
    }
}

// Equal to the hash of `PodName`.
impl Hash for dyn PodKey + '_ {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.key().hash(state);
    }
}

impl PartialEq for dyn PodKey + '_ {
    fn eq(&self, other: &Self) -> bool {
        self.key() == other.key()
    }
}

impl Eq for dyn PodKey + '_ {}

impl<'a> Borrow<dyn PodKey + 'a> for PodName {
    fn borrow(&self) -> &(dyn PodKey + 'a) {
        self
    }
}

/// Interns names: a second lookup returns the same text.
#[derive(Debug, Default)]
pub struct PodNames {
    names: HashSet<PodName, RandomState>,
    /// Count at which unused names are dropped.
    full_at: usize,
}

impl PodNames {
    pub fn get(&mut self, namespace: &str, name: &str) -> PodName {
        let key: &dyn PodKey = &(namespace, name);
        if let Some(known) = self.names.get(key) {
            return known.clone();
        }
        if self.names.len() >= self.full_at {
            self.names.retain(|name| Arc::strong_count(&name.0) > 1);
            // A fourth more: the scan then costs a new name four looks, and names of gone Pods take
            // at most a fifth of the memory.
            self.full_at = self.names.len() + self.names.len() / 4 + 1;
        }
        let new = PodName::new(namespace, name);
        self.names.insert(new.clone());
        new
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_equal_by_both_parts_and_ordered_by_the_namespace_first() {
        let name = PodName::new("shop", "web-0");
        assert_eq!((name.namespace(), name.name()), ("shop", "web-0"));
        assert_eq!(name.to_string(), "shop/web-0");
        assert_eq!(name, PodName::new("shop", "web-0"));
        assert_ne!(name, PodName::new("shopw", "eb-0"));
        let mut names = ["a-b/x", "a/z", "a/y"].map(|text| {
            let (namespace, name) = text.split_once('/').unwrap();
            PodName::new(namespace, name)
        });
        names.sort();
        assert_eq!(names.map(|name| name.to_string()), ["a/y", "a/z", "a-b/x"]);
    }

    #[test]
    fn a_name_that_is_held_is_given_again_and_one_that_is_not_is_forgotten() {
        let mut names = PodNames::default();
        let held: Vec<PodName> = (0..100)
            .map(|number| names.get("shop", &format!("held-{number}")))
            .collect();
        for number in 0..10_000 {
            names.get("shop", &format!("gone-{number}"));
        }
        assert!(names.names.len() <= 126, "{}", names.names.len());
        for (number, name) in held.iter().enumerate() {
            let again = names.get("shop", &format!("held-{number}"));
            assert!(Arc::ptr_eq(&again.0, &name.0), "{name}");
        }
    }
}
