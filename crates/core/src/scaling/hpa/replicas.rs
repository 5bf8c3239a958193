//! How many replicas one metric asks for (Kubernetes' `ReplicaCalculator`).

mod pods;
mod totals;

use evenkeel_label_selector::LabelSelector;
use jiff::Timestamp;

pub use self::pods::{TargetUsage, metric_usage, resource_utilization};
pub use self::totals::summed_series;
use super::error::ReplicasError;
use super::groups::Startup;
use super::readings::{HpaReadingsReader, Readings};
use super::settings::Controller;
use super::spec::Tolerances;
use crate::scaling::pod::PodFacts;
use crate::scaling::signal::{MetricTarget, ResourceName, Signal};

/// Computes the replicas that metrics ask for, from the state of one target at one time.
#[derive(Debug, Clone, Copy)]
pub struct ReplicaCalculator<'a> {
    /// The controller's settings and gates.
    pub controller: &'a Controller,
    /// How far usage may be from its target without effect.
    pub tolerances: Tolerances,
    /// The namespace of the HPA, which stands in errors.
    pub namespace: &'a str,
    /// `spec.replicas` of the target's scale.
    pub spec_replicas: i32,
    /// `status.replicas` of the target's scale.
    pub status_replicas: i32,
    /// The Pods that the selector of the scale selects.
    pub pods: &'a [PodFacts],
    /// The measurements.
    pub readings: &'a Readings,
    /// The time of the reconciliation.
    pub now: Timestamp,
}

/// The replica count that one metric asks for, with the usage behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricProposal {
    /// Replicas, before any window, policy or bound. Below zero where a metric is.
    pub replicas: i32,
    /// Mean usage in percent of the requests, for a utilisation target.
    pub utilization: Option<i32>,
    /// The mean over the Pods for a target per Pod, and the total otherwise, in thousandths.
    pub value: i64,
    /// The time of the first measurement, where Kubernetes keeps it: not for a total
    /// ([`MetricTarget::Value`]).
    pub timestamp: Option<Timestamp>,
}

impl<'a> ReplicaCalculator<'a> {
    /// The replicas that `signal` asks for, with `target` as the value it is to have.
    ///
    /// # Errors
    /// A signal that is not measured, Pods without requests or that do not count, and a target that
    /// does not fit the signal.
    pub fn propose(
        &self,
        signal: &Signal,
        target: Option<MetricTarget>,
    ) -> Result<MetricProposal, ReplicasError> {
        match (signal, target) {
            (
                Signal::Resource(_) | Signal::ContainerResource { .. },
                Some(target @ (MetricTarget::Utilization(_) | MetricTarget::AverageValue(_))),
            ) => self.of_resource(signal, target),
            (Signal::Pods(metric), Some(target @ MetricTarget::AverageValue(_))) => {
                check(metric.selector.as_ref())?;
                self.of_pods(signal, target)
            }
            (Signal::Object { metric, .. }, target) => {
                check(metric.selector.as_ref())?;
                self.of_object(signal, target)
            }
            (Signal::External(metric), target) => {
                if let Some(MetricTarget::Value(_) | MetricTarget::AverageValue(_)) = target {
                    check(metric.selector.as_ref())?;
                }
                self.of_series(signal, target)
            }
            (Signal::PromQl(_), target) => self.of_series(signal, target),
            (Signal::Resource(_) | Signal::ContainerResource { .. } | Signal::Pods(_), _) => {
                Err(ReplicasError::no_target(signal))
            }
        }
    }

    const fn reader(&self) -> HpaReadingsReader<'a> {
        HpaReadingsReader {
            readings: self.readings,
            namespace: self.namespace,
        }
    }

    /// Only the cpu usage of a starting Pod is not believed.
    fn startup(&self, resource: Option<&ResourceName>) -> Option<Startup> {
        let settings = &self.controller.settings;
        (resource == Some(&ResourceName::Cpu)).then_some(Startup {
            cpu_initialization_period: settings.cpu_initialization_period,
            initial_readiness_delay: settings.initial_readiness_delay,
        })
    }
}

fn check(selector: Option<&LabelSelector>) -> Result<(), ReplicasError> {
    selector.map_or(Ok(()), |selector| Ok(selector.check()?))
}
