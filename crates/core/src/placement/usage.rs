//! Measurements of nodes and Pods, a round of them at a time.

use std::borrow::Borrow;
use std::collections::HashMap;
use std::hash::{Hash, Hasher};

use jiff::{SignedDuration, Timestamp};

use crate::units::{Amount, Resources};

/// One measured value with the time span that it speaks of, `[at - window, at]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    pub value: Amount,
    /// The end of the span: when the exporter was read, not when the answer arrived.
    pub at: Timestamp,
    /// The length of the span; zero for a gauge.
    pub window: SignedDuration,
}

/// A Pod by namespace and name.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PodName {
    pub namespace: Box<str>,
    pub name: Box<str>,
}

impl PodName {
    /// The Pod `name` in `namespace`.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
        }
    }
}

/// The name of a Pod, owned or borrowed, so that it can be looked up without a copy.
trait PodKey {
    /// Namespace and name.
    fn key(&self) -> (&str, &str);
}

impl PodKey for PodName {
    fn key(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }
}

impl PodKey for (&str, &str) {
    fn key(&self) -> (&str, &str) {
        *self
    }
}

// As the derived ones of `PodName`: the namespace, then the name.
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

/// Everything measured in one round, of all nodes and Pods at once.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageSample {
    /// By node name. A resource that the source does not measure, or of which it has no value for
    /// this node, is `None`.
    pub nodes: HashMap<Box<str>, Resources<Option<Measurement>>>,
    /// By Pod; the span is that of the node's measurement in the same round.
    pub pods: HashMap<PodName, Resources<Option<Amount>>>,
    /// The speed of the nodes' network interfaces in bytes per second, where the source tells it.
    pub network_capacity: HashMap<Box<str>, Amount>,
}

impl UsageSample {
    /// The usage of one Pod; `None` where it was not measured.
    #[must_use]
    pub fn of_pod(&self, namespace: &str, name: &str) -> Option<&Resources<Option<Amount>>> {
        let key: &dyn PodKey = &(namespace, name);
        self.pods.get(key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_found_by_borrowed_names() {
        let row = Resources::from_fn(|_| Some(Amount::new(7)));
        let sample = UsageSample {
            pods: HashMap::from([(PodName::new("shop", "web"), row)]),
            ..UsageSample::default()
        };
        assert_eq!(sample.of_pod("shop", "web"), Some(&row));
        assert_eq!(sample.of_pod("sho", "pweb"), None);
        assert_eq!(sample.of_pod("web", "shop"), None);
    }
}
