//! Names of Pods, held in many places at once: by each column of measurements, by the node table,
//! and by lookups.
//!
//! So a name is one pointer, and its clones share their text. A source of measurements keeps a
//! [`PodNames`], so that the answers of all its queries share their names.

use std::borrow::Borrow;
use std::cmp::Ordering;
use std::collections::HashSet;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use foldhash::fast::RandomState;

/// A Pod by namespace and name; clones share the text.
#[derive(Clone, PartialEq, Eq)]
pub struct PodName(Arc<PodNameText>);

/// One text for both, since each piece of memory has a price of its own.
#[derive(PartialEq, Eq)]
struct PodNameText {
    /// The namespace and the name behind it, with nothing between.
    both: Box<str>,
    /// The length of the namespace.
    namespace: usize,
}

impl PodName {
    /// The Pod `name` in `namespace`.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self(Arc::new(PodNameText {
            both: [namespace, name].concat().into(),
            namespace: namespace.len(),
        }))
    }

    #[must_use]
    pub fn namespace(&self) -> &str {
        self.key().0
    }

    /// The name within the namespace.
    #[must_use]
    pub fn name(&self) -> &str {
        self.key().1
    }
}

impl fmt::Display for PodName {
    /// `namespace/name`.
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

/// The name of a Pod, owned or borrowed, so that it can be looked up without a copy.
pub(super) trait PodKey {
    /// Namespace and name.
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

// As those of `PodName`.
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

/// The names in use, so that a second lookup of a name returns the same text.
#[derive(Debug, Default)]
pub struct PodNames {
    names: HashSet<PodName, RandomState>,
    /// The number of names at which the unused ones are forgotten.
    full_at: usize,
}

impl PodNames {
    /// The Pod `name` in `namespace`.
    pub fn get(&mut self, namespace: &str, name: &str) -> PodName {
        let key: &dyn PodKey = &(namespace, name);
        if let Some(known) = self.names.get(key) {
            return known.clone();
        }
        if self.names.len() >= self.full_at {
            self.names.retain(|name| Arc::strong_count(&name.0) > 1);
            // A fourth more: looking them all over then costs a new name four looks, and the names
            // of Pods that have gone never take more than a fifth of the memory.
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
