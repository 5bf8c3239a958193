//! A target that no HPA scales as the HPA's algorithm reads it: the rules of its annotations, its Pods
//! and what is measured of them.

use jiff::Timestamp;

use super::observed::Observed;
use super::requested::RequestedPolicy;
use super::target_ref::TargetRef;
use crate::autoscaler::ObservedMetric;
use evenkeel_core::scaling::Bounds;
use evenkeel_core::scaling::hpa::{
    self, Controller, CurrentValue, FeatureGates, HorizontalPodAutoscaler, Memory, MetricSpec,
    Readings, Scale, Settings, Spec, reconciler,
};
use evenkeel_core::scaling::pod::PodFacts;
use evenkeel_core::scaling::signal::{ObjectReference, Signal};
use evenkeel_core::scaling::tracker::{Reaction, Reconciled};

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
pub(super) fn spec(
    target: &TargetRef,
    requested: &RequestedPolicy,
    metrics: &[ObservedMetric],
    bounds: Bounds,
) -> Spec {
    let metric =
        |ObservedMetric { signal, target }: &_| MetricSpec::new(Signal::clone(signal), *target);
    let object = target.object();
    Spec {
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
    told: Told,
    generation: Option<i64>,
}

/// What the status of a target says, as far as decisions go on from it.
#[derive(Debug, Clone, Default)]
pub struct Told {
    pub(super) replicas: Option<i32>,
    pub(super) status: hpa::Status,
}

impl HpaInput {
    /// The Pods of `observed` with their readings. What has been told is to be known at the first look,
    /// and where the count has changed.
    #[must_use]
    pub fn new(observed: &Observed, mut readings: Readings, told: Told) -> Self {
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

    /// The value of one metric in thousandths, as the HPA's algorithm comes to it: of a utilisation the percentage,
    /// else the mean over the Pods or the whole value, as its target says. `None` where it has none.
    #[must_use]
    pub fn value(
        &self,
        target: &TargetRef,
        metric: &MetricSpec,
        current: i32,
        now: Timestamp,
    ) -> Option<i64> {
        let hpa = HorizontalPodAutoscaler {
            namespace: target.object().namespace.clone().unwrap_or_default(),
            name: String::new(),
            spec: Spec {
                scale_target: ObjectReference::default(),
                min_replicas: 1,
                max_replicas: i32::MAX,
                metrics: vec![metric.clone()],
                behavior: None,
            },
            status: hpa::Status::default(),
        };
        let observed = hpa::Observed {
            scale: Ok(self.scale(target.name(), current)),
            readings: &self.readings,
        };
        let mut memory = Memory::default();
        let step = hpa::reconcile(&CONTROLLER, &hpa, &observed, &mut memory, now);
        let outcome = step.written(&mut memory);
        let value = outcome.status.current_metrics.first()?;
        value.signal.as_ref()?;
        let CurrentValue {
            average_utilization,
            average_value,
            value,
        } = value.current;
        let percent = average_utilization.map(|percent| i64::from(percent) * 1000);
        percent.or_else(|| Some(average_value.or(value)?.milli_value()))
    }

    /// The target as the algorithm sees it, which computes nothing without a selector.
    fn scale<'a>(&'a self, selector: &'a str, current: i32) -> Scale<'a> {
        // As the controllers of workloads count.
        let stay = self.pods.iter().filter(|pod| !pod.deleted).count();
        Scale {
            spec_replicas: current,
            status_replicas: i32::try_from(stay).unwrap_or(i32::MAX),
            // The Pods are those of the workload by their owners, and there is no other selector.
            selector,
            pods: Ok(&self.pods),
            autoscalers: &[],
        }
    }

    /// The reaction to what is measured, by the rules of `spec`. `current` is the count of the target.
    pub(super) fn reaction<'a>(
        &'a self,
        namespace: &'a str,
        spec: &'a Spec,
        current: i32,
    ) -> Reaction<'a> {
        let scale = self.scale(&spec.scale_target.name, current);
        Reaction::Reconciled(Reconciled {
            input: reconciler::Input {
                controller: &CONTROLLER,
                namespace,
                spec,
                observed: hpa::Observed {
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
