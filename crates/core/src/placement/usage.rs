//! Measurements of nodes and Pods, a round of them at a time.

use std::collections::HashMap;

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
