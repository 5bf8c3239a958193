//! What an autoscaler scales by: its metrics as the HPA algorithm reads them.

use evenkeel_core::scaling::hpa::MetricSpec;
use evenkeel_core::scaling::signal::{ResourceName, Signal, Target};
use evenkeel_core::units::{Quantity, QuantityFormat, Ratio, Resource};
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

use super::signal::{Metric, Values};
use crate::json::list;

/// The utilisation of cpu, in percent, that Kubernetes gives an HPA without metrics.
const DEFAULT_UTILIZATION: i32 = 80;

/// The metrics of an autoscaler, in the order given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Metrics(pub Vec<MetricSpec>);

/// A metric of type `Resource` whose load is forecast.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ResourceMetric {
    /// Cpu or memory.
    pub resource: Resource,
    /// The value that it is to have.
    pub target: MetricTarget,
}

/// The value that a resource metric is to have.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum MetricTarget {
    /// `Utilization`: the share of the Pods' requests.
    Utilization(Ratio),
    /// `AverageValue`: so much for each Pod.
    AverageValue(Quantity),
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written: Vec<Value> = list(deserializer)?;
        Ok(Self(written.into_iter().map(read).collect()))
    }
}

/// One metric. What cannot be read is a metric of an unknown type: the object is not lost for it.
fn read(written: Value) -> MetricSpec {
    let Ok(metric) = Metric::deserialize(written) else {
        return MetricSpec::Unknown(String::new());
    };
    let source_type = metric.source_type.clone();
    match metric.read() {
        Some((signal, source)) => {
            let target = source.target.unwrap_or_default().target(&signal);
            MetricSpec::Known(signal, target)
        }
        None => MetricSpec::Unknown(source_type),
    }
}

impl Values {
    /// The target that the HPA controller uses. For resources and external metrics it takes what is
    /// set, an amount per Pod first; for an object the type decides.
    fn target(&self, signal: &Signal) -> Option<Target> {
        let milli = |text: &Option<String>| {
            let quantity: Quantity = text.as_deref()?.parse().ok()?;
            Some(quantity.milli_value())
        };
        let average = milli(&self.average_value).map(Target::AverageValue);
        let value = milli(&self.value).map(Target::Value);
        match signal {
            Signal::Resource(_) | Signal::ContainerResource { .. } => {
                average.or(self.average_utilization.map(Target::Utilization))
            }
            Signal::Pods(_) => average,
            Signal::Object { .. } => match self.target_type.as_deref() {
                Some("Value") => value,
                Some("AverageValue") => average,
                _ => None,
            },
            Signal::External(_) | Signal::PromQl(_) => average.or(value),
        }
    }
}

impl Metrics {
    /// The metrics, with the one that Kubernetes fills in where there is none.
    pub(super) fn defaulted(&self) -> Vec<MetricSpec> {
        if self.0.is_empty() {
            let target = Target::Utilization(DEFAULT_UTILIZATION);
            return vec![MetricSpec::new(Signal::CPU, target)];
        }
        self.0.clone()
    }

    /// The metrics of the Pods' own cpu and memory that can be met, in the order given.
    pub fn resources(&self) -> impl Iterator<Item = ResourceMetric> {
        self.0.iter().filter_map(resource_metric)
    }

    /// The number of the other metrics.
    pub fn others(&self) -> usize {
        self.0.len() - self.resources().count()
    }
}

fn resource_metric(metric: &MetricSpec) -> Option<ResourceMetric> {
    let MetricSpec::Known(Signal::Resource(name), Some(target)) = metric else {
        return None;
    };
    let resource = match name {
        ResourceName::Cpu => Resource::Cpu,
        ResourceName::Memory => Resource::Memory,
        ResourceName::Other(_) => return None,
    };
    let target = match *target {
        Target::AverageValue(milli) if milli > 0 => {
            MetricTarget::AverageValue(Quantity::from_milli(milli, QuantityFormat::DecimalSi))
        }
        Target::Utilization(percent) if percent > 0 => {
            MetricTarget::Utilization(Ratio::new(f64::from(percent) / 100.0).ok()?)
        }
        _ => return None,
    };
    Some(ResourceMetric { resource, target })
}
