//! Capacities of network and disk I/O that the operator tells, for nodes that do not tell theirs.
//!
//! Machines of one type are equal, so a type is described once, by the labels that cloud providers and
//! autoscalers put on its nodes. The first description that fits a node counts; what it leaves out is
//! the default.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_core::units::{Amount, Resources};

/// The capacities of nodes that do not tell theirs; clones share them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacities {
    labelled: Arc<[LabelledCapacity]>,
    default: Resources<Option<Amount>>,
}

/// The capacities of the nodes that have all of some labels.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelledCapacity {
    pub match_labels: BTreeMap<String, String>,
    pub capacity: Resources<Option<Amount>>,
}

impl Capacities {
    /// Descriptions in the order in which they are tried, and the capacity where none tells one.
    #[must_use]
    pub fn new(labelled: Vec<LabelledCapacity>, default: Resources<Option<Amount>>) -> Self {
        Self {
            labelled: labelled.into(),
            default,
        }
    }

    /// The capacities of nodes that no description fits.
    #[must_use]
    pub const fn default_capacity(&self) -> &Resources<Option<Amount>> {
        &self.default
    }

    /// The configured capacities of nodes with these labels.
    #[must_use]
    pub fn of_labels(&self, labels: &BTreeMap<String, String>) -> Resources<Option<Amount>> {
        let fits = |one: &&LabelledCapacity| {
            let mut wanted = one.match_labels.iter();
            wanted.all(|(key, value)| labels.get(key) == Some(value))
        };
        let found = self.labelled.iter().find(fits);
        found.map_or_else(Resources::default, |one| one.capacity)
    }
}
