//! The replicas that one metric asks for (Kubernetes' `ReplicaCalculator`).

mod pods;
mod totals;

use evenkeel_label_selector::LabelSelector;
use jiff::Timestamp;

pub use self::pods::{TargetUsage, metric_usage, resource_utilization};
use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::signal::{MetricTarget, ResourceName, Signal};

use super::basis::ProposalBasis;
use super::error::ReplicasError;
use super::groups::Startup;
use super::readings::{HpaReadingsReader, Readings};
use super::settings::Controller;
use super::spec::Tolerances;

/// For one target at one time.
#[derive(Debug, Clone, Copy)]
pub struct ReplicaCalculator<'a> {
    pub controller: &'a Controller,
    /// Deviations of usage from target without effect.
    pub tolerances: Tolerances,
    /// Stands in errors.
    pub namespace: &'a str,
    pub spec_replicas: i32,
    pub status_replicas: i32,
    /// Selected by the scale's selector.
    pub pods: &'a [PodFacts],
    pub readings: &'a Readings,
    pub now: Timestamp,
}

/// With the usage behind it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricProposal {
    /// Before any window, policy or bound; negative if the metric is.
    pub replicas: i32,
    /// Percent of the requests, for a utilisation target.
    pub utilization: Option<i32>,
    /// Mean over the Pods for a target per Pod, else the total; in thousandths.
    pub value: i64,
    /// Time of the first measurement; `None` for a total ([`MetricTarget::Value`]), as in
    /// Kubernetes.
    pub timestamp: Option<Timestamp>,
}

impl<'a> ReplicaCalculator<'a> {
    /// `target` is the value that `signal` is to have.
    ///
    /// # Errors
    /// A signal without a measurement, Pods without requests or that do not count, and a target
    /// that does not fit the signal.
    pub fn propose(
        &self,
        signal: &Signal,
        target: Option<MetricTarget>,
    ) -> Result<MetricProposal, ReplicasError> {
        self.propose_on(signal, target, None)
    }

    /// The same, and records in `basis` what it is computed from.
    pub(crate) fn propose_on(
        &self,
        signal: &Signal,
        target: Option<MetricTarget>,
        basis: Option<&mut ProposalBasis>,
    ) -> Result<MetricProposal, ReplicasError> {
        match (signal, target) {
            (
                Signal::Resource(_) | Signal::ContainerResource { .. },
                Some(target @ (MetricTarget::Utilization(_) | MetricTarget::AverageValue(_))),
            ) => self.of_resource(signal, target, basis),
            (Signal::Pods(metric), Some(target @ MetricTarget::AverageValue(_))) => {
                check(metric.selector.as_ref())?;
                self.of_pods(signal, target, basis)
            }
            (Signal::Object { metric, .. }, target) => {
                check(metric.selector.as_ref())?;
                self.of_object(signal, target, basis)
            }
            (Signal::External(metric), target) => {
                if let Some(MetricTarget::Value(_) | MetricTarget::AverageValue(_)) = target {
                    check(metric.selector.as_ref())?;
                }
                self.of_series(signal, target, basis)
            }
            (Signal::PromQl(_), target) => self.of_series(signal, target, basis),
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

    /// Given for cpu only.
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
