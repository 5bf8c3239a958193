//! A HorizontalPodAutoscaler as the algorithm reads it.

use evenkeel_metrics::signal::{MetricTarget, ObjectReference, Signal};
use evenkeel_quantity::Quantity;

use super::behavior::Behavior;
use super::settings::{FeatureGates, Settings};
use super::status::HpaStatus;

/// With the defaults of Kubernetes.
#[derive(Debug, Clone, PartialEq)]
pub struct HorizontalPodAutoscaler {
    /// Also of its target.
    pub namespace: String,
    pub name: String,
    /// `metadata.generation`; Kubernetes counts it since 1.37.
    pub generation: Option<i64>,
    pub spec: HpaSpec,
    /// After the previous reconciliation.
    pub status: HpaStatus,
}

#[derive(Debug, Clone, PartialEq)]
pub struct HpaSpec {
    pub scale_target: ObjectReference,
    /// `minReplicas`; 1 by default.
    pub min_replicas: i32,
    pub max_replicas: i32,
    /// `metrics`, in the order given; Kubernetes leaves no HPA without one.
    pub metrics: Vec<MetricSpec>,
    /// `behavior`, complete; without it the controller's older rules apply.
    pub behavior: Option<Behavior>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MetricSpec {
    /// No target if the object gives none that fits the type.
    Known(Signal, Option<MetricTarget>),
    Unknown(String),
}

impl MetricSpec {
    pub const fn new(signal: Signal, target: MetricTarget) -> Self {
        Self::Known(signal, Some(target))
    }
}

impl HpaSpec {
    /// A metric has a value without Pods, so it shows when a target without Pods is needed again.
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

    pub fn tolerances(&self, settings: &Settings, feature_gates: FeatureGates) -> Tolerances {
        Tolerances::new(self.behavior.as_ref(), settings, feature_gates)
    }
}

/// Deviations of usage / target from 1 without effect.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Tolerances {
    /// Above 1.
    pub up: f64,
    /// Below 1.
    pub down: f64,
}

impl Default for Tolerances {
    /// The controller's defaults.
    fn default() -> Self {
        Self::new(None, &Settings::DEFAULT, FeatureGates::default())
    }
}

impl Tolerances {
    /// `behavior` overrides the controller.
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

    /// The ratio has no effect. Bounds are floats, as in Kubernetes: with 0.1 the ratio 1.1 is
    /// inside.
    pub fn contain(self, ratio: f64) -> bool {
        (1.0 - self.down) <= ratio && ratio <= (1.0 + self.up)
    }
}
