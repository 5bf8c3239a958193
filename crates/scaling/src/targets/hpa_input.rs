//! A target that no HPA scales as the HPA's algorithm reads it: the rules of its annotations, its Pods
//! and what is measured of them.

use evenkeel_hpa as hpa;
use evenkeel_hpa::autoscaler::ObservedMetric;
use evenkeel_hpa::{
    Controller, FeatureGates, HpaSpec, MetricSpec, Readings, ReplicaCalculator, Settings,
    TargetScale, Tolerances, reconciler,
};
use evenkeel_metrics::pod::PodFacts;
use evenkeel_metrics::signal::{MetricTarget, ObjectReference, Signal};
use evenkeel_objects::bounds::ReplicaBounds;
use jiff::Timestamp;

use super::reference::TargetRef;
use super::requested_policy::RequestedPolicy;
use super::target_objects::TargetObjects;
use crate::tracker::{Reaction, ReconciledTarget};

/// The controller that Kubernetes has by default. It scales to zero where a metric can wake the
/// target again: no gate stands between users and their own annotations.
static CONTROLLER: Controller = Controller {
    settings: Settings::DEFAULT,
    feature_gates: FeatureGates {
        hpa_scale_to_zero: true,
        hpa_configurable_tolerance: true,
        pod_level_resources: true,
    },
};

/// The HPA that the annotations of a workload stand for, with the metrics that are asked for.
pub(crate) fn spec(
    target: &TargetRef,
    requested: &RequestedPolicy,
    metrics: &[ObservedMetric],
    bounds: ReplicaBounds,
) -> HpaSpec {
    let metric =
        |ObservedMetric { signal, target }: &_| MetricSpec::new(Signal::clone(signal), *target);
    let object = target.object();
    HpaSpec {
        scale_target: ObjectReference {
            api_version: object.api_resource().api_version,
            kind: target.kind().to_owned(),
            name: target.name().to_owned(),
        },
        min_replicas: bounds.min(),
        max_replicas: bounds.max(),
        metrics: metrics.iter().map(metric).collect(),
        behavior: requested.policy.behavior.clone(),
    }
}

/// The Pods of a target at one moment with what is measured of them, and what has been told of it.
#[derive(Debug, Clone)]
pub struct HpaInput {
    pods: Vec<PodFacts>,
    readings: Readings,
    told: LastStatus,
    generation: Option<i64>,
}

/// A value of a metric, with the times that it speaks of: of the oldest of what it was made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MeasuredValue {
    /// In thousandths.
    pub milli: i64,
    /// The begin of the window that it is the mean of.
    pub since: Timestamp,
    /// The end of that window.
    pub until: Timestamp,
}

/// The part of a target's status that later decisions need.
#[derive(Debug, Clone, Default)]
pub struct LastStatus {
    pub(crate) replicas: Option<i32>,
    pub(crate) status: hpa::HpaStatus,
}

impl HpaInput {
    /// The Pods of `observed` with their readings. What has been told is to be known at the first look,
    /// and where the count has changed.
    pub fn new(observed: &TargetObjects, mut readings: Readings, told: LastStatus) -> Self {
        // Those that wait out of traffic carry none of the load: neither they nor what is measured of them counts.
        let parked = &observed.profiles.parked;
        let members = observed.pods.members.iter();
        let members = members.filter(|pod| !parked.contains(&pod.name));
        let mut pods: Vec<_> = members.map(|pod| PodFacts::clone(pod)).collect();
        // A selector may select Pods of others, too.
        readings.keep_pods(pods.iter().map(|pod| &*pod.name));
        // The order of a listing: that of the index is any.
        pods.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Self {
            pods,
            readings,
            told,
            generation: observed
                .workload
                .as_ref()
                .and_then(|workload| workload.metadata.generation),
        }
    }

    /// The value of one metric in thousandths, as the HPA's algorithm comes to it, and its times: of a utilisation the
    /// percentage, else the mean over the Pods or the whole value, as its target says. `None` where it has none; a value for
    /// the whole needs no Pod.
    pub fn value(
        &self,
        target: &TargetRef,
        metric: &MetricSpec,
        current: i32,
        now: Timestamp,
    ) -> Option<MeasuredValue> {
        let MetricSpec::Known(signal, wanted) = metric else {
            return None;
        };
        let object = target.object();
        let status_replicas = self.staying();
        let is_whole = matches!(wanted, Some(MetricTarget::Value(_)));
        if status_replicas == 0 && !is_whole {
            return None;
        }
        let calculator = ReplicaCalculator {
            controller: &CONTROLLER,
            tolerances: Tolerances::default(),
            namespace: object.namespace.as_deref().unwrap_or_default(),
            // Without a Pod nothing is multiplied.
            spec_replicas: if status_replicas == 0 { 0 } else { current },
            status_replicas,
            pods: &self.pods,
            readings: &self.readings,
            now,
        };
        let proposal = calculator.propose(signal, *wanted).ok()?;
        let percent = proposal
            .utilization
            .map(|percent| i64::from(percent) * 1000);
        let (since, until) = self.readings.times(signal)?;
        Some(MeasuredValue {
            milli: percent.unwrap_or(proposal.value),
            since,
            until,
        })
    }

    /// The Pods that stay, as the controllers of workloads count.
    fn staying(&self) -> i32 {
        let stay = self.pods.iter().filter(|pod| !pod.deleted).count();
        i32::try_from(stay).unwrap_or(i32::MAX)
    }

    /// The target as the algorithm sees it, which computes nothing without a selector.
    fn scale<'a>(&'a self, selector: &'a str, current: i32) -> TargetScale<'a> {
        TargetScale {
            spec_replicas: current,
            // Pods of a surge are none that were asked for: a metric within its tolerance would keep them all.
            status_replicas: if current > 0 {
                self.staying().min(current)
            } else {
                self.staying()
            },
            // The Pods are those of the workload by their owners, and there is no other selector.
            selector,
            pods: Ok(&self.pods),
            autoscalers: &[],
        }
    }

    /// The reaction to what is measured, by the rules of `spec`. `current` is the count of the target.
    pub(crate) fn reaction<'a>(
        &'a self,
        namespace: &'a str,
        spec: &'a HpaSpec,
        current: i32,
    ) -> Reaction<'a> {
        let scale = self.scale(&spec.scale_target.name, current);
        Reaction::Reconciled(ReconciledTarget {
            input: reconciler::Input {
                controller: &CONTROLLER,
                namespace,
                spec,
                observed: hpa::ObservedTarget {
                    scale: Ok(scale),
                    readings: &self.readings,
                },
                told: &self.told.status,
            },
            told: self.told.replicas,
            generation: self.generation,
        })
    }
}
