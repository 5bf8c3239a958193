//! Measurements of nodes and Pods, one round at a time. They stand in columns by resource, as the
//! answers to a source's queries bring them. A round shares its columns with kept answers, and
//! columns share names, so that 150,000 Pods are in memory once.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use evenkeel_objects::pod_name::{PodKey, PodName};
use evenkeel_units::{Amount, Resource, Resources};
use foldhash::fast::RandomState;
use jiff::{SignedDuration, Timestamp};

/// A value with its time span, `[at - window, at]`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NodeSample {
    pub value: Amount,
    /// End of the span: when the exporter was read, not when the answer arrived.
    pub at: Timestamp,
    /// Zero for a gauge.
    pub window: SignedDuration,
}

pub type NodeColumn = HashMap<Arc<str>, NodeSample, RandomState>;

/// The span of a rate, small because there is one for each of 150,000 Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    end_ms: i64,
    window_ms: u32,
}

impl Span {
    /// Rounded to the millisecond.
    pub fn new(end: Timestamp, window: SignedDuration) -> Self {
        let window = window.as_millis().max(0);
        Self {
            end_ms: end.as_millisecond(),
            window_ms: u32::try_from(window).unwrap_or(u32::MAX),
        }
    }

    pub fn end(&self) -> Timestamp {
        Timestamp::from_millisecond(self.end_ms).unwrap_or(Timestamp::MIN)
    }

    pub fn window(&self) -> SignedDuration {
        SignedDuration::from_millis(i64::from(self.window_ms))
    }
}

pub type SpanColumn = HashMap<PodName, Span, RandomState>;

/// Usage of one resource by Pod, over the Pod's own span or else that of the node's measurement in
/// the same round.
pub type PodColumn = HashMap<PodName, Amount, RandomState>;

/// Bytes per second.
pub type SpeedColumn = HashMap<Arc<str>, Amount, RandomState>;

/// One round over all nodes and Pods. A resource that the source does not measure has an empty
/// column.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct UsageSample {
    pub nodes: Resources<Arc<NodeColumn>>,
    pub pods: Resources<Arc<PodColumn>>,
    /// Spans of the Pods' rates; empty if the source has none.
    pub pod_spans: Arc<SpanColumn>,
    pub network_capacity: Arc<SpeedColumn>,
    /// Use of the interfaces behind [`Self::network_capacity`], where known: interfaces of unknown
    /// speed are in the node's use, but not in its capacity.
    pub rated_network: Arc<NodeColumn>,
    /// Share of the time in which some task waited for I/O, in thousandths.
    pub io_pressure: Arc<NodeColumn>,
}

impl UsageSample {
    pub fn node(&self, name: &str) -> Resources<Option<NodeSample>> {
        Resources::from_fn(|resource| self.nodes[resource].get(name).copied())
    }

    pub fn pod(&self, name: &PodName) -> Resources<Option<Amount>> {
        Resources::from_fn(|resource| self.pods[resource].get(name).copied())
    }

    pub fn of_pod(&self, namespace: &str, name: &str, resource: Resource) -> Option<Amount> {
        let key: &dyn PodKey = &(namespace, name);
        self.pods[resource].get(key).copied()
    }

    pub fn span_of_pod(&self, namespace: &str, name: &str) -> Option<Span> {
        let key: &dyn PodKey = &(namespace, name);
        self.pod_spans.get(key).copied()
    }

    pub fn node_names(&self) -> BTreeSet<&str> {
        let columns = self.nodes.values().iter();
        let names = columns.flat_map(|column| column.keys());
        names.map(|name| &**name).collect()
    }

    pub fn insert_node(
        &mut self,
        name: impl Into<Arc<str>>,
        usage: &Resources<Option<NodeSample>>,
    ) {
        let name = name.into();
        for (resource, measured) in usage.iter() {
            if let Some(measured) = measured {
                let column = Arc::make_mut(&mut self.nodes[resource]);
                column.insert(Arc::clone(&name), *measured);
            }
        }
    }

    pub fn insert_pod(&mut self, name: &PodName, usage: &Resources<Option<Amount>>) {
        for (resource, measured) in usage.iter() {
            if let Some(measured) = measured {
                Arc::make_mut(&mut self.pods[resource]).insert(name.clone(), *measured);
            }
        }
    }

    pub fn insert_pod_span(&mut self, name: &PodName, span: Span) {
        Arc::make_mut(&mut self.pod_spans).insert(name.clone(), span);
    }

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
