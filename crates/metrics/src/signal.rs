//! The signals that a target scales by, each with its target value.
//!
//! A signal is one of the five metric types of a HorizontalPodAutoscaler (`autoscaling/v2`), or a
//! PromQL query. It identifies a time series of a target: two metrics with equal signals read the
//! same numbers. Its name, from `Display`, is stable, so that histories, metric labels and
//! annotations may hold it.

use std::fmt;
use std::sync::Arc;

use evenkeel_label_selector::LabelSelector;
use evenkeel_units::fnv::fnv1a;
use evenkeel_units::{Ratio, Resource, i64_as_f64, i64_nearest};

/// The name of a resource as Pods request it, such as `cpu`, `memory` or `nvidia.com/gpu`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceName {
    /// Processor time, in cores.
    Cpu,
    /// Memory, in bytes.
    Memory,
    /// Any other resource, by its name.
    Other(Arc<str>),
}

impl ResourceName {
    /// The name in Pod specs and in the metrics API.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Cpu => "cpu",
            Self::Memory => "memory",
            Self::Other(name) => name,
        }
    }

    /// False for a resource that each Pod holds an amount of on its own, such as memory or
    /// storage: its sum grows with the number of Pods.
    fn is_conserved(&self) -> bool {
        let name = self.as_str();
        !(name.contains("memory") || name.contains("storage") || name.starts_with("hugepages-"))
    }
}

impl From<&str> for ResourceName {
    fn from(name: &str) -> Self {
        match name {
            "cpu" => Self::Cpu,
            "memory" => Self::Memory,
            other => Self::Other(other.into()),
        }
    }
}

impl fmt::Display for ResourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The name of a custom or external metric, with the selector that narrows its series.
///
/// No selector and an empty one select the same series; Kubernetes words them differently.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MetricIdentifier {
    /// The name of the metric.
    pub name: String,
    /// The selector of its labels, where the metric has one.
    pub selector: Option<LabelSelector>,
}

impl MetricIdentifier {
    /// The metric `name`, whatever its labels.
    pub fn named(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            selector: None,
        }
    }
}

impl fmt::Display for MetricIdentifier {
    /// `name`, or `name{selector}`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)?;
        match &self.selector {
            Some(selector) if !selector.is_empty() => write!(f, "{{{selector}}}"),
            _ => Ok(()),
        }
    }
}

/// A reference to an object in the namespace of the target (`CrossVersionObjectReference`).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ObjectReference {
    /// Group and version, such as `apps/v1`; empty where the object does not say.
    pub api_version: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    pub name: String,
}

/// One series that a target scales by.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Signal {
    /// Usage of a resource by whole Pods (metric type `Resource`).
    Resource(ResourceName),
    /// Usage of a resource by one container of each Pod (metric type `ContainerResource`).
    ContainerResource {
        resource: ResourceName,
        /// The name of the container.
        container: String,
    },
    /// A custom metric of each Pod (metric type `Pods`).
    Pods(MetricIdentifier),
    /// A custom metric of one object (metric type `Object`).
    Object {
        /// The object that the metric describes; boxed, since a target keeps several signals.
        object: Box<ObjectReference>,
        metric: MetricIdentifier,
    },
    /// A metric of something outside of the cluster (metric type `External`).
    External(MetricIdentifier),
    /// The value of a PromQL query.
    PromQl(PromQl),
}

/// A PromQL query for one value of a target as a whole.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PromQl {
    pub metric: PromQlMetric,
    /// The query as it was written, with its placeholders.
    pub query: Arc<str>,
}

/// The quantity that a PromQL query counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PromQlMetric {
    /// Whatever its author says, such as requests or messages.
    Own,
    /// GPUs at work.
    Gpu,
    /// Memory of GPUs, in bytes.
    GpuMemory,
    /// The traffic of this number, from 1, among those that an annotation names.
    Traffic(u8),
}

impl PromQl {
    /// A query for a quantity that only its author knows.
    pub fn own(query: &str) -> Self {
        Self {
            metric: PromQlMetric::Own,
            query: query.into(),
        }
    }

    const fn is_conserved(&self) -> bool {
        match self.metric {
            PromQlMetric::Own | PromQlMetric::Gpu | PromQlMetric::Traffic(_) => true,
            PromQlMetric::GpuMemory => false,
        }
    }
}

impl fmt::Display for PromQlMetric {
    /// `query`, the name of the preset, or `traffic-1`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => f.pad("query"),
            Self::Gpu => f.pad("gpu"),
            Self::GpuMemory => f.pad("gpu-memory"),
            Self::Traffic(number) => f.pad(&format!("traffic-{number}")),
        }
    }
}

impl Signal {
    /// Processor time of whole Pods.
    pub const CPU: Self = Self::Resource(ResourceName::Cpu);
    /// Memory of whole Pods.
    pub const MEMORY: Self = Self::Resource(ResourceName::Memory);

    /// True where the sum over the Pods does not depend on how many Pods share it: processor time,
    /// requests, messages. Memory and storage are held by each Pod, so their sum grows with the
    /// number of Pods, and a forecast of it would feed on the Pods that it adds.
    pub fn is_conserved(&self) -> bool {
        match self {
            Self::Resource(resource) | Self::ContainerResource { resource, .. } => {
                resource.is_conserved()
            }
            Self::Pods(_) | Self::Object { .. } | Self::External(_) => true,
            Self::PromQl(query) => query.is_conserved(),
        }
    }

    /// True for processor time, of whole Pods or of one container.
    pub fn is_cpu(&self) -> bool {
        self.resource()
            .is_some_and(|(resource, _)| *resource == ResourceName::Cpu)
    }

    /// The resource and the container, for a signal that the resource metrics API
    /// (`metrics.k8s.io`) serves; no container means the whole Pod.
    pub fn resource(&self) -> Option<(&ResourceName, Option<&str>)> {
        match self {
            Self::Resource(resource) => Some((resource, None)),
            Self::ContainerResource {
                resource,
                container,
            } => Some((resource, Some(container))),
            Self::Pods(_) | Self::Object { .. } | Self::External(_) | Self::PromQl(_) => None,
        }
    }
}

/// The longest label of a signal, in bytes: names of metrics and selectors may be far longer.
const LABEL: usize = 100;

impl Signal {
    /// The name as a label of metrics and in the dashboard's JSON. A long one is cut, with a hash of
    /// the whole at its end, so that two signals of a target have two labels.
    pub fn label(&self) -> String {
        let name = self.to_string();
        if name.len() <= LABEL {
            return name;
        }
        let hash = fnv1a(name.as_bytes());
        let room = LABEL - "#".len() - 16;
        let ends = name
            .char_indices()
            .map(|(start, char)| start + char.len_utf8());
        let end = ends.take_while(|end| *end <= room).last().unwrap_or(0);
        format!("{}#{hash:016x}", &name[..end])
    }
}

impl From<Resource> for Signal {
    /// Usage of the resource by whole Pods.
    fn from(resource: Resource) -> Self {
        Self::Resource(resource.as_str().into())
    }
}

impl fmt::Display for Signal {
    /// A short, stable name: `cpu`, `cpu/container`, `pods/metric`, `object/kind/name/metric`,
    /// `external/metric{labels}`, or of a PromQL query what it counts: its text may be long.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Resource(resource) => resource.fmt(f),
            Self::ContainerResource {
                resource,
                container,
            } => write!(f, "{resource}/{container}"),
            Self::Pods(metric) => write!(f, "pods/{metric}"),
            Self::Object { object, metric } => {
                let ObjectReference { kind, name, .. } = &**object;
                write!(f, "object/{kind}/{name}/{metric}")
            }
            Self::External(metric) => write!(f, "external/{metric}"),
            Self::PromQl(query) => write!(f, "promql/{}", query.metric),
        }
    }
}

/// The value that a signal is to have. Quantities are in thousandths of their unit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MetricTarget {
    /// Percent of what the Pods request, as a mean over the Pods.
    Utilization(i32),
    /// An amount for each Pod, in thousandths.
    AverageValue(i64),
    /// An amount for all Pods together, in thousandths.
    Value(i64),
}

/// The scope of the one value of a signal for a whole target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ValueScope {
    /// All Pods together: the value is the load, such as the messages in a queue.
    #[default]
    Whole,
    /// Each Pod alike, such as a latency or a mean. The HPA's rule for a total is `ready Pods ×
    /// value / target`. It assumes that the product with the ready Pods stays when Pods are added,
    /// so that product is the load.
    EachPod,
}

impl MetricTarget {
    /// The target times a share, to the nearest unit and at least one.
    pub fn times(self, share: Ratio) -> Self {
        let of = |whole: i64| i64_nearest(i64_as_f64(whole) * share.get()).max(1);
        match self {
            Self::Utilization(percent) => {
                let percent = of(i64::from(percent));
                Self::Utilization(i32::try_from(percent).unwrap_or(i32::MAX))
            }
            Self::AverageValue(milli) => Self::AverageValue(of(milli)),
            Self::Value(milli) => Self::Value(of(milli)),
        }
    }

    /// The scope of the one value of a signal with this target.
    pub const fn scope(self) -> ValueScope {
        match self {
            Self::Value(_) => ValueScope::EachPod,
            Self::Utilization(_) | Self::AverageValue(_) => ValueScope::Whole,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn queue() -> MetricIdentifier {
        MetricIdentifier {
            name: "queue".to_owned(),
            selector: Some(LabelSelector::from_labels([("name", "orders")])),
        }
    }

    #[test]
    fn names_are_short_and_tell_signals_apart() {
        let container = Signal::ContainerResource {
            resource: ResourceName::Cpu,
            container: "app".to_owned(),
        };
        let object = Box::new(ObjectReference {
            api_version: "networking.k8s.io/v1".to_owned(),
            kind: "Ingress".to_owned(),
            name: "web".to_owned(),
        });
        let metric = MetricIdentifier::named("rps");
        for (signal, name) in [
            (Signal::CPU, "cpu"),
            (Signal::Resource("nvidia.com/gpu".into()), "nvidia.com/gpu"),
            (container, "cpu/app"),
            (Signal::Pods(metric.clone()), "pods/rps"),
            (Signal::Object { object, metric }, "object/Ingress/web/rps"),
            (Signal::External(queue()), "external/queue{name=orders}"),
            (Signal::PromQl(PromQl::own("sum(up)")), "promql/query"),
        ] {
            assert_eq!(signal.to_string(), name);
        }
    }

    #[test]
    fn long_names_have_short_labels_that_differ() {
        let external = |name: String| Signal::External(MetricIdentifier::named(name));
        assert_eq!(external("queue".to_owned()).label(), "external/queue");
        let [a, b] = ["a", "b"].map(|end| external("ä".repeat(200) + end).label());
        assert!(a.len() <= LABEL && b.len() <= LABEL, "{a}");
        assert!(a != b && a.starts_with("external/ää"), "{a} {b}");
    }

    #[test]
    fn what_each_pod_holds_is_not_conserved() {
        for (name, conserved) in [
            ("cpu", true),
            ("memory", false),
            ("nvidia.com/gpu", true),
            ("ephemeral-storage", false),
            ("hugepages-2Mi", false),
        ] {
            let signal = Signal::Resource(name.into());
            assert_eq!(signal.is_conserved(), conserved, "{name}");
        }
        assert!(Signal::External(queue()).is_conserved());
        for (metric, conserved) in [
            (PromQlMetric::Own, true),
            (PromQlMetric::Gpu, true),
            (PromQlMetric::GpuMemory, false),
        ] {
            let query = "sum(up)".into();
            let signal = Signal::PromQl(PromQl { metric, query });
            assert_eq!(signal.is_conserved(), conserved, "{signal}");
        }
    }
}
