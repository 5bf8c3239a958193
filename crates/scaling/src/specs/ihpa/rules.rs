//! The rules of an IntelligentHorizontalPodAutoscaler, checked.

use std::collections::BTreeMap;
use std::sync::Arc;

use evenkeel_api::cron_hpa::spec::ScaledRef;
use evenkeel_hpa::Behavior;
use evenkeel_hpa::autoscaler::HpaMetrics;
use evenkeel_metrics::signal::{MetricTarget, Signal};
use evenkeel_objects::bounds::ReplicaBounds;
use evenkeel_objects::risk::Risk;
use evenkeel_objects::scaling_mode::{ScaleDown, ScalingMode};
use jiff::SignedDuration;

use crate::specs::portrait::Portrait;
use crate::specs::scaling_policy::{PredictionModel, ScalingPolicy};
use crate::specs::traffic_query::TrafficQueries;
use crate::stability::{Checker, ErrorRate, MetricBound, PodsReady};
use crate::staged_change::StagedBehavior;

/// The rules of one object.
#[derive(Debug, Clone)]
pub struct IhpaRules {
    /// The workload.
    pub target: ScaledRef,
    pub bounds: ReplicaBounds,
    pub paused: bool,
    pub mode: ScaleMode,
    pub providers: Vec<Provider>,
    pub behavior: StagedBehavior,
    pub checks: Vec<CheckRule>,
}

/// The way in which what is computed acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ScaleMode {
    /// The workload is scaled.
    #[default]
    Auto,
    /// Everything is shown and nothing is changed.
    Preview,
}

/// One provider of portraits.
#[derive(Debug, Clone)]
pub struct Provider {
    /// The name, unique in the object: the type of the provider or of its portrait in lower case, with a number from the
    /// second of one type on.
    pub name: Arc<str>,
    pub priority: i32,
    pub source: PortraitSource,
}

/// Where a provider has its portrait from.
#[derive(Debug, Clone)]
pub enum PortraitSource {
    /// It is written in the object.
    Portrait(Portrait),
    /// The HPA's algorithm makes it at each tick.
    Reactive(ReactiveRules),
    /// A forecast makes it at each tick.
    Predictive(PredictiveRules),
    /// It stands in the HorizontalPortrait for portraits of this type.
    External { portrait_type: String },
}

/// The settings of the HPA's algorithm.
#[derive(Debug, Clone, PartialEq)]
pub struct ReactiveRules {
    pub metrics: HpaMetrics,
    pub behavior: Option<Behavior>,
}

/// The settings of a forecast.
#[derive(Debug, Clone, PartialEq)]
pub struct PredictiveRules {
    /// None where those of the reactive portrait are forecast.
    pub metrics: Option<HpaMetrics>,
    pub predict: PredictionModel,
    pub risk: Option<Risk>,
    pub scale_down: Option<ScaleDown>,
    pub predict_memory: Option<bool>,
    pub traffic: Option<TrafficQueries>,
}

/// A stability check with what it looks at.
#[derive(Debug, Clone)]
pub struct CheckRule {
    pub checker: Checker,
    /// Its verdict is that of the worst.
    pub criteria: Vec<Criterion>,
}

/// One thing that a stability check looks at.
#[derive(Debug, Clone)]
pub enum Criterion {
    /// The value of a signal in the terms of its target: percent of the requests, an amount for each Pod, or
    /// one for all.
    Metric {
        signal: Signal,
        target: MetricTarget,
        bound: MetricBound,
    },
    PodsReady(PodsReady),
    /// Two PromQL queries.
    ErrorRate {
        errors: Signal,
        requests: Signal,
        rule: ErrorRate,
    },
    External(Arc<ExternalCheck>),
}

/// A stability check that asks an endpoint over HTTP.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ExternalCheck {
    pub name: String,
    pub endpoint: Endpoint,
    pub timeout: SignedDuration,
    /// The settings that Evenkeel sends along with each question.
    pub config: BTreeMap<String, String>,
}

/// Where an external check is asked.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// A Service in the namespace of the object.
    Service {
        name: String,
        port: u16,
        path: String,
        /// The accepted authorities of its certificate, as PEM; with `None`, Evenkeel asks over plain HTTP.
        ca: Option<String>,
    },
    /// An address that the operator of Evenkeel allows.
    Url(String),
}

impl IhpaRules {
    /// The settings of the HPA's algorithm, where a provider asks for it.
    pub fn reactive(&self) -> Option<&ReactiveRules> {
        self.providers.iter().find_map(|one| match &one.source {
            PortraitSource::Reactive(reactive) => Some(reactive),
            _ => None,
        })
    }

    /// The settings of the forecast, where a provider asks for one.
    pub fn predictive(&self) -> Option<&PredictiveRules> {
        self.providers.iter().find_map(|one| match &one.source {
            PortraitSource::Predictive(predictive) => Some(predictive),
            _ => None,
        })
    }

    /// The same as a policy of the target: what the tracker of its load goes by.
    pub fn policy(&self) -> ScalingPolicy {
        let (reactive, predictive) = (self.reactive(), self.predictive());
        let of_reactive = reactive.map(|reactive| &reactive.metrics);
        let metrics = of_reactive.or_else(|| predictive?.metrics.as_ref());
        ScalingPolicy {
            predict: Some(predictive.map_or(PredictionModel::Off, |one| one.predict)),
            scaling: Some(ScalingMode::Direct),
            min_replicas: Some(self.bounds.min()),
            max_replicas: Some(self.bounds.max()),
            target: metrics.cloned(),
            behavior: reactive.and_then(|reactive| reactive.behavior.clone()),
            scale_down: predictive.and_then(|one| one.scale_down),
            query: None,
            traffic: predictive.and_then(|one| one.traffic.clone()),
            predict_memory: predictive.and_then(|one| one.predict_memory),
            risk: predictive.and_then(|one| one.risk),
        }
    }
}
