//! Configured capacities of network and disk I/O, for nodes that do not report theirs. Machines of
//! one type are equal, so a type is described once, by the labels of its nodes. The first matching
//! description counts; what it leaves out is the default.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_units::{Amount, Resources};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Capacities {
    labelled: Arc<[LabelledCapacity]>,
    default: Resources<Option<Amount>>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LabelledCapacity {
    pub match_labels: BTreeMap<String, String>,
    pub capacity: Resources<Option<Amount>>,
}

impl Capacities {
    /// Descriptions in the order in which they are tried, and the capacity where none tells one.
    pub fn new(labelled: Vec<LabelledCapacity>, default: Resources<Option<Amount>>) -> Self {
        Self {
            labelled: labelled.into(),
            default,
        }
    }

    pub const fn default_capacity(&self) -> &Resources<Option<Amount>> {
        &self.default
    }

    pub fn of_labels(&self, labels: &BTreeMap<String, String>) -> Resources<Option<Amount>> {
        let fits = |one: &&LabelledCapacity| {
            let mut wanted = one.match_labels.iter();
            wanted.all(|(key, value)| labels.get(key) == Some(value))
        };
        let found = self.labelled.iter().find(fits);
        found.map_or_else(Resources::default, |one| one.capacity)
    }
}
