//! Measurements of nodes and Pods, a round of them at a time.
//!
//! They stand in columns, one for each resource of the nodes and one for each of the Pods, as the
//! answers to a source's queries bring them. A round shares its columns with the answers that are
//! kept, and the columns share the names of their Pods, so that 150,000 Pods are in memory once.

mod pod_name;

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use foldhash::fast::RandomState;
use jiff::{SignedDuration, Timestamp};

use self::pod_name::PodKey;
use crate::units::{Amount, Resource, Resources};

pub use pod_name::{PodName, PodNames};

/// One measured value with the time span that it speaks of, `[at - window, at]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Measurement {
    pub value: Amount,
    /// The end of the span: when the exporter was read, not when the answer arrived.
    pub at: Timestamp,
    /// The length of the span; zero for a gauge.
    pub window: SignedDuration,
}

/// Usage of one resource by node.
pub type NodeColumn = HashMap<Arc<str>, Measurement, RandomState>;

/// The span that a rate is taken over, in little memory: there is one for each of 150,000 Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    end_ms: i64,
    window_ms: u32,
}

impl Span {
    /// The span of this length up to `end`, both to the millisecond.
    #[must_use]
    pub fn new(end: Timestamp, window: SignedDuration) -> Self {
        let window = window.as_millis().max(0);
        Self {
            end_ms: end.as_millisecond(),
            window_ms: u32::try_from(window).unwrap_or(u32::MAX),
        }
    }

    /// The end of the span.
    #[must_use]
    pub fn end(&self) -> Timestamp {
        Timestamp::from_millisecond(self.end_ms).unwrap_or(Timestamp::MIN)
    }

    /// The length of the span.
    #[must_use]
    pub fn window(&self) -> SignedDuration {
        SignedDuration::from_millis(i64::from(self.window_ms))
    }
}

/// The spans of Pods' measurements, where the source tells them of each Pod.
pub type SpanColumn = HashMap<PodName, Span, RandomState>;

/// Usage of one resource by Pod; the span is that of the Pod where it has one, else that of the
/// node's measurement in the same round.
pub type PodColumn = HashMap<PodName, Amount, RandomState>;

/// The speed of network interfaces by node, in bytes per second.
pub type SpeedColumn = HashMap<Arc<str>, Amount, RandomState>;

/// Everything measured in one round, of all nodes and Pods at once.
///
/// A resource that the source does not measure has an empty column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageSample {
    pub nodes: Resources<Arc<NodeColumn>>,
    pub pods: Resources<Arc<PodColumn>>,
    /// The spans of the rates among the Pods' usage; empty where the source tells none.
    pub pod_spans: Arc<SpanColumn>,
    pub network_capacity: Arc<SpeedColumn>,
    /// The network use of the interfaces that [`Self::network_capacity`] is of, where the source tells it apart: an
    /// interface of unknown speed is in the use of the node, and not in its capacity.
    pub rated_network: Arc<NodeColumn>,
    /// The share of the time in which some task of the node waited for I/O, in thousandths.
    pub io_pressure: Arc<NodeColumn>,
}

impl UsageSample {
    /// The usage of a node.
    #[must_use]
    pub fn node(&self, name: &str) -> Resources<Option<Measurement>> {
        Resources::from_fn(|resource| self.nodes[resource].get(name).copied())
    }

    /// The usage of a Pod.
    #[must_use]
    pub fn pod(&self, name: &PodName) -> Resources<Option<Amount>> {
        Resources::from_fn(|resource| self.pods[resource].get(name).copied())
    }

    /// The usage of one resource by a Pod, by namespace and name.
    #[must_use]
    pub fn of_pod(&self, namespace: &str, name: &str, resource: Resource) -> Option<Amount> {
        let key: &dyn PodKey = &(namespace, name);
        self.pods[resource].get(key).copied()
    }

    /// The span of a Pod's rates, where the source tells it.
    #[must_use]
    pub fn span_of_pod(&self, namespace: &str, name: &str) -> Option<Span> {
        let key: &dyn PodKey = &(namespace, name);
        self.pod_spans.get(key).copied()
    }

    /// The names of all nodes of which anything was measured.
    #[must_use]
    pub fn node_names(&self) -> BTreeSet<&str> {
        let columns = self.nodes.values().iter();
        let names = columns.flat_map(|column| column.keys());
        names.map(|name| &**name).collect()
    }

    /// Adds the usage of a node.
    pub fn insert_node(
        &mut self,
        name: impl Into<Arc<str>>,
        usage: &Resources<Option<Measurement>>,
    ) {
        let name = name.into();
        for (resource, measured) in usage.iter() {
            if let Some(measured) = measured {
                let column = Arc::make_mut(&mut self.nodes[resource]);
                column.insert(Arc::clone(&name), *measured);
            }
        }
    }

    /// Adds the usage of a Pod.
    pub fn insert_pod(&mut self, name: &PodName, usage: &Resources<Option<Amount>>) {
        for (resource, measured) in usage.iter() {
            if let Some(measured) = measured {
                Arc::make_mut(&mut self.pods[resource]).insert(name.clone(), *measured);
            }
        }
    }

    /// Adds the span of a Pod's rates.
    pub fn insert_pod_span(&mut self, name: &PodName, span: Span) {
        Arc::make_mut(&mut self.pod_spans).insert(name.clone(), span);
    }

    /// Adds the speed of a node's network interfaces.
    pub fn insert_speed(&mut self, name: impl Into<Arc<str>>, speed: Amount) {
        Arc::make_mut(&mut self.network_capacity).insert(name.into(), speed);
    }

    /// Shares the columns that `part` has, in place of the own ones.
    pub fn share(&mut self, part: &Self) {
        let Self {
            nodes,
            pods,
            pod_spans,
            network_capacity,
            rated_network,
            io_pressure,
        } = part;
        if !rated_network.is_empty() {
            self.rated_network = Arc::clone(rated_network);
        }
        if !io_pressure.is_empty() {
            self.io_pressure = Arc::clone(io_pressure);
        }
        if !pod_spans.is_empty() {
            self.pod_spans = Arc::clone(pod_spans);
        }
        for resource in Resource::ALL {
            if !nodes[resource].is_empty() {
                self.nodes[resource] = Arc::clone(&nodes[resource]);
            }
            if !pods[resource].is_empty() {
                self.pods[resource] = Arc::clone(&pods[resource]);
            }
        }
        if !network_capacity.is_empty() {
            self.network_capacity = Arc::clone(network_capacity);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_are_found_by_borrowed_names() {
        let mut sample = UsageSample::default();
        let mut used = Resources::default();
        used[Resource::Memory] = Some(Amount::new(7));
        sample.insert_pod(&PodName::new("shop", "web"), &used);
        let memory = |namespace, name| sample.of_pod(namespace, name, Resource::Memory);
        assert_eq!(memory("shop", "web"), Some(Amount::new(7)));
        assert_eq!(memory("sho", "pweb"), None);
        assert_eq!(memory("web", "shop"), None);
        assert_eq!(sample.of_pod("shop", "web", Resource::Cpu), None);
        assert_eq!(sample.pod(&PodName::new("shop", "web")), used);
    }

    #[test]
    fn a_round_shares_the_columns_of_its_parts_and_keeps_what_they_have_not() {
        let of = |resource: Resource, value: u64| {
            let mut used = Resources::default();
            used[resource] = Some(Amount::new(value));
            let mut part = UsageSample::default();
            part.insert_pod(&PodName::new("shop", "web"), &used);
            part
        };
        let (cpu, memory) = (of(Resource::Cpu, 1), of(Resource::Memory, 2));
        let mut round = UsageSample::default();
        round.share(&cpu);
        round.share(&memory);
        for (part, resource) in [(&cpu, Resource::Cpu), (&memory, Resource::Memory)] {
            assert!(Arc::ptr_eq(&round.pods[resource], &part.pods[resource]));
        }
        assert!(round.pods[Resource::Disk].is_empty());
    }
}
