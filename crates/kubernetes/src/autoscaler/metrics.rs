//! What an autoscaler scales by.

use serde::Deserialize;
use serde::de::{Deserializer, IgnoredAny};

use crate::json::{lenient, list};
use evenkeel_core::units::{Quantity, Ratio, Resource};

/// The metrics of an autoscaler.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Metrics {
    /// Those of its Pods' own cpu and memory, in the order given.
    pub resources: Vec<ResourceMetric>,
    /// How many others there are.
    pub others: usize,
}

/// A metric of type `Resource`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceMetric {
    /// Cpu or memory.
    pub resource: Resource,
    /// What it is to be.
    pub target: MetricTarget,
}

/// What a metric is to be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricTarget {
    /// `Utilization`: the share of the Pods' requests.
    Utilization(Ratio),
    /// `AverageValue`: so much for each Pod.
    AverageValue(Quantity),
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written: Vec<Written> = list(deserializer)?;
        let count = written.len();
        let resources: Vec<_> = written.into_iter().filter_map(Written::resource).collect();
        Ok(Self {
            others: count - resources.len(),
            resources,
        })
    }
}

/// A metric of any type; one that cannot be read is as good as one that does not count here.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Resource {
        #[serde(rename = "type")]
        kind: ResourceType,
        resource: Source,
    },
    Other(IgnoredAny),
}

#[derive(Deserialize)]
enum ResourceType {
    Resource,
}

#[derive(Deserialize)]
struct Source {
    name: String,
    target: Target,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Target {
    #[serde(default, deserialize_with = "lenient")]
    average_utilization: Option<u32>,
    #[serde(default, deserialize_with = "lenient")]
    average_value: Option<String>,
}

impl Written {
    fn resource(self) -> Option<ResourceMetric> {
        let (source, ResourceType::Resource) = match self {
            Self::Resource { kind, resource } => (resource, kind),
            Self::Other(_) => return None,
        };
        let resource = match source.name.as_str() {
            "cpu" => Resource::Cpu,
            "memory" => Resource::Memory,
            _ => return None,
        };
        Some(ResourceMetric {
            resource,
            target: source.target.read()?,
        })
    }
}

impl Target {
    /// Kubernetes reads a raw value where there is one, and the utilisation otherwise; either is
    /// above zero in every object that it accepts.
    fn read(self) -> Option<MetricTarget> {
        if let Some(value) = self.average_value {
            let value: Quantity = value.parse().ok()?;
            return (value.milli_ceil() > 0).then_some(MetricTarget::AverageValue(value));
        }
        let percent = self.average_utilization.filter(|&percent| percent > 0)?;
        let share = Ratio::new(f64::from(percent) / 100.0).ok()?;
        Some(MetricTarget::Utilization(share))
    }
}
