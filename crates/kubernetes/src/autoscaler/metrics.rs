//! The metrics of an autoscaler, as the HPA algorithm reads them.

use evenkeel_core::scaling::hpa::MetricSpec;
use evenkeel_core::scaling::signal::{Signal, Target};
use evenkeel_core::units::Quantity;
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

/// The signals whose load is observed and forecast.
const OBSERVED: [Signal; 2] = [Signal::CPU, Signal::MEMORY];

/// A metric whose load is observed and forecast.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedMetric {
    /// Cpu or memory of whole Pods.
    pub signal: Signal,
    /// The value that it is to have, for each Pod and above zero.
    pub target: Target,
}

impl<'de> Deserialize<'de> for Metrics {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let written: Vec<Value> = list(deserializer)?;
        Ok(Self(written.into_iter().map(read).collect()))
    }
}

/// One metric. One that cannot be read is of an unknown type: the object is not lost for it.
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
    /// The smallest least that Kubernetes takes beside these metrics: 0 only where one of them is
    /// known without any Pod.
    #[must_use]
    pub fn least_replicas(&self) -> i32 {
        let outside = self.0.iter().any(|metric| match metric {
            MetricSpec::Known(signal, _) => {
                matches!(signal, Signal::Object { .. } | Signal::External(_))
            }
            MetricSpec::Unknown(_) => false,
        });
        i32::from(!outside)
    }

    /// The metrics, with the one that Kubernetes fills in where there is none.
    pub(super) fn defaulted(&self) -> Vec<MetricSpec> {
        if self.0.is_empty() {
            let target = Target::Utilization(DEFAULT_UTILIZATION);
            return vec![MetricSpec::new(Signal::CPU, target)];
        }
        self.0.clone()
    }

    /// The metrics whose load is observed and that can be met, in the order given; those of other
    /// signals are left to the HPA alone.
    pub fn observed(&self) -> impl Iterator<Item = ObservedMetric> {
        self.0.iter().filter_map(observed)
    }

    /// The number of the other metrics.
    pub fn others(&self) -> usize {
        self.0.len() - self.observed().count()
    }
}

fn observed(metric: &MetricSpec) -> Option<ObservedMetric> {
    let MetricSpec::Known(signal, Some(target)) = metric else {
        return None;
    };
    let positive = match *target {
        Target::Utilization(percent) => percent > 0,
        Target::AverageValue(milli) => milli > 0,
        Target::Value(_) => false,
    };
    (positive && OBSERVED.contains(signal)).then(|| ObservedMetric {
        signal: signal.clone(),
        target: *target,
    })
}
