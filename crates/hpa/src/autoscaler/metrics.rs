//! The metrics of an autoscaler, as the HPA algorithm reads them.

use evenkeel_metrics::signal::{MetricTarget, ResourceName, Signal};
use evenkeel_objects::json::list;
use evenkeel_objects::yaml_values::YamlText;
use evenkeel_quantity::Quantity;
use serde::Deserialize;
use serde::de::Deserializer;
use serde_json::Value;

use super::signal::{Metric, MetricValueJson};
use crate::MetricSpec;

/// The utilisation of cpu, in percent, that Kubernetes gives an HPA without metrics.
const DEFAULT_UTILIZATION: i32 = 80;

/// The metrics of an autoscaler, in the order given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HpaMetrics(pub Vec<MetricSpec>);

/// A metric with a load that Evenkeel observes and forecasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ObservedMetric {
    pub signal: Signal,
    /// The value that it is to have, above zero.
    pub target: MetricTarget,
}

impl<'de> Deserialize<'de> for HpaMetrics {
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

impl MetricValueJson {
    /// The target that the HPA controller uses: for resources and external metrics an amount per
    /// Pod first; for an object the type decides.
    fn target(&self, signal: &Signal) -> Option<MetricTarget> {
        let milli = |text: &Option<YamlText>| {
            let quantity: Quantity = text.as_ref()?.as_ref().parse().ok()?;
            Some(quantity.milli_value())
        };
        let average = milli(&self.average_value).map(MetricTarget::AverageValue);
        let value = milli(&self.value).map(MetricTarget::Value);
        match signal {
            Signal::Resource(_) | Signal::ContainerResource { .. } => {
                average.or(self.average_utilization.map(MetricTarget::Utilization))
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

impl HpaMetrics {
    /// The smallest minimum that Kubernetes accepts: 0 only if a metric is known without any Pod.
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
    pub fn defaulted(&self) -> Vec<MetricSpec> {
        if self.0.is_empty() {
            let target = MetricTarget::Utilization(DEFAULT_UTILIZATION);
            return vec![MetricSpec::new(Signal::CPU, target)];
        }
        self.0.clone()
    }

    /// The metrics with an observed load and a target above zero, in order. The HPA alone follows
    /// unknown types, metrics without such a target, and resources that the metrics API does not
    /// serve.
    pub fn observed(&self) -> impl Iterator<Item = ObservedMetric> {
        self.0.iter().filter_map(observed)
    }

    pub fn others(&self) -> usize {
        self.0.len() - self.observed().count()
    }
}

fn observed(metric: &MetricSpec) -> Option<ObservedMetric> {
    let MetricSpec::Known(signal, Some(target)) = metric else {
        return None;
    };
    let is_measured = match signal {
        Signal::Resource(resource) | Signal::ContainerResource { resource, .. } => {
            matches!(resource, ResourceName::Cpu | ResourceName::Memory)
        }
        Signal::Pods(_) | Signal::Object { .. } | Signal::External(_) | Signal::PromQl(_) => true,
    };
    let positive = match *target {
        MetricTarget::Utilization(percent) => percent > 0,
        MetricTarget::AverageValue(milli) | MetricTarget::Value(milli) => milli > 0,
    };
    (is_measured && positive).then(|| ObservedMetric {
        signal: signal.clone(),
        target: *target,
    })
}
