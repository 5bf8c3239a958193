//! A HorizontalPodAutoscaler as the algorithm reads it.

use super::behavior::Behavior;
use super::settings::{FeatureGates, Settings};
use super::status::HpaStatus;
use crate::scaling::signal::{MetricTarget, ObjectReference, Signal};
use crate::units::Quantity;

/// An HPA, with the defaults of Kubernetes filled in.
#[derive(Debug, Clone, PartialEq)]
pub struct HorizontalPodAutoscaler {
    /// The namespace, which is also that of its target.
    pub namespace: String,
    pub name: String,
    /// `metadata.generation`; Kubernetes counts it since 1.37.
    pub generation: Option<i64>,
    pub spec: HpaSpec,
    /// The status after the previous reconciliation.
    pub status: HpaStatus,
}

/// `spec` of an HPA.
#[derive(Debug, Clone, PartialEq)]
pub struct HpaSpec {
    /// `scaleTargetRef`: the workload that is scaled.
    pub scale_target: ObjectReference,
    /// `minReplicas`; 1 where the object does not say.
    pub min_replicas: i32,
    pub max_replicas: i32,
    /// `metrics`, in the order given; Kubernetes leaves no HPA without one.
    pub metrics: Vec<MetricSpec>,
    /// `behavior`, complete; without it the controller's older rules hold.
    pub behavior: Option<Behavior>,
}

/// One metric of an HPA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricSpec {
    /// A metric of a known type; no target where the object gives none that fits the type.
    Known(Signal, Option<MetricTarget>),
    /// A metric of a type that is not known, by its name.
    Unknown(String),
}

impl MetricSpec {
    /// The metric `signal` that is to have the value `target`.
    pub const fn new(signal: Signal, target: MetricTarget) -> Self {
        Self::Known(signal, Some(target))
    }
}

impl HpaSpec {
    /// True where a metric does not need Pods to have a value, so that it can tell when a target
    /// without Pods is needed again.
    pub fn has_object_or_external_metric(&self) -> bool {
        self.metrics.iter().any(|metric| {
            matches!(
                metric,
                MetricSpec::Known(
                    Signal::Object { .. } | Signal::External(_) | Signal::PromQl(_),
                    _
                )
            )
        })
    }

    /// How far usage may be from its target in each direction.
    pub fn tolerances(&self, settings: &Settings, feature_gates: FeatureGates) -> Tolerances {
        Tolerances::new(self.behavior.as_ref(), settings, feature_gates)
    }
}

/// How far the ratio of usage to target may be from 1 without effect, in each direction.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerances {
    /// Above 1.
    pub up: f64,
    /// Below 1.
    pub down: f64,
}

impl Default for Tolerances {
    /// The tolerances of an HPA that has none of its own, by the controller's defaults.
    fn default() -> Self {
        Self::new(None, &Settings::DEFAULT, FeatureGates::default())
    }
}

impl Tolerances {
    /// The tolerances of an HPA with this `behavior`, which overrules those of the controller.
    #[must_use]
    pub fn new(
        behavior: Option<&Behavior>,
        settings: &Settings,
        feature_gates: FeatureGates,
    ) -> Self {
        let rules = behavior.filter(|_| feature_gates.hpa_configurable_tolerance);
        let own = |tolerance: Option<Quantity>| {
            tolerance.map_or(settings.tolerance, Quantity::approximate_f64)
        };
        Self {
            up: own(rules.and_then(|rules| rules.scale_up.tolerance)),
            down: own(rules.and_then(|rules| rules.scale_down.tolerance)),
        }
    }

    /// True where a ratio has no effect. The bounds are computed in floats, as Kubernetes does:
    /// with 0.1 the ratio 1.1 is inside.
    pub fn contain(self, ratio: f64) -> bool {
        (1.0 - self.down) <= ratio && ratio <= (1.0 + self.up)
    }
}
