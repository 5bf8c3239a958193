//! The report of one tick of one target: what was decided, and from what.

use evenkeel_forecast::{Cover, ForecastStep, HorizonAccuracy, ModelTrust, NotReady};
use evenkeel_hpa::{HpaCondition, HpaEvent};
use evenkeel_metrics::signal::Signal;
use evenkeel_objects::risk::Risk;
use jiff::Timestamp;

use crate::counterfactual::CounterfactualResult;
use crate::load::horizon::Horizon;
use crate::load::hpa_aware::PodCapacity;
use crate::merge::recommendation::Recommendation;
use crate::recommend::decision::ScalingDecision;
use crate::recommend::expected_load::ExpectedLoad;
use crate::recommend::input::LoadEstimate;
use crate::recommend::merged_portraits::MergedPortraits;
use crate::recommend::traffic_fit::TrafficFit;
use crate::recommend::traffic_need::TrafficStanding;

/// The decision of one tick, and what it was decided from.
#[derive(Debug, Clone, PartialEq)]
pub struct TickReport {
    pub decision: ScalingDecision,
    /// The loads, in the order of the signals that the target scales by, and after them the traffic that a
    /// model makes replicas of.
    pub loads: Vec<LoadReport>,
    /// The state of the traffic that it names, and the result of the fit of its model.
    pub traffic: Option<TrafficReport>,
    /// The time between a load and the capacity for it; its part that is still to come was
    /// predicted ahead.
    pub horizon: Horizon,
    /// The contribution of prediction to the bounds; only in mode floor, and only where it raises
    /// the user's `minReplicas`.
    pub contribution: Option<Recommendation>,
    /// The report of the HPA's algorithm, if it is run here.
    pub hpa: Option<Box<HpaReport>>,
    /// The merged portraits of the target, if it has any.
    pub portrayed: Option<Box<MergedPortraits>>,
}

/// The traffic that a target names, at one tick.
#[derive(Debug, Clone, PartialEq)]
pub struct TrafficReport {
    pub standing: TrafficStanding,
    pub fit: TrafficFit,
}

/// Conditions and Events of the HPA's algorithm.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HpaReport {
    /// In the order in which they first came up.
    pub conditions: Vec<HpaCondition>,
    pub events: Vec<HpaEvent>,
}

/// One load of a target, in the base unit of its signal.
#[derive(Debug, Clone, PartialEq)]
pub struct LoadReport {
    pub signal: Signal,
    /// The newest certain sum over the Pods, however old.
    pub now: Option<f64>,
    /// The time that it is of: the centre of the rate window.
    pub at: Option<Timestamp>,
    /// The time at which it was measured: the end of the window.
    pub measured: Option<Timestamp>,
    /// True where the measurement is recent enough to act on.
    pub fresh: bool,
    /// The estimate of the load, where only that is known since.
    pub estimate: Option<LoadEstimate>,
    /// True where a load that is not fresh is estimated, and holds what was decided before.
    pub is_estimated: bool,
    /// True where the load is forecast, and not only reacted to.
    pub is_forecast: bool,
    /// The load that replicas have to be ready for; `None` where it is not known as it is now, or is
    /// reacted to only.
    pub expected: Option<ExpectedLoad>,
    /// The load that one Pod is to carry.
    pub capacity: PodCapacity,
    /// The model that is listened to, or would be if it were trusted; `None` without prediction.
    pub model: Option<ModelReport>,
    /// The share of time in which its Pods may carry too much, and the share in which they did; `None` where
    /// its model follows no risk.
    pub cover: Option<Cover>,
    /// The recent result of floors at its level; `None` before half a day is known.
    pub tried: Option<CounterfactualResult>,
    /// The models that have too little history, and when they will have enough.
    pub lacking: Vec<NotReady>,
}

impl LoadReport {
    /// A clause on the risk where floors may not cost what it needs; else empty.
    pub(crate) fn cost_limit(&self) -> String {
        let limited = self.cover.filter(Cover::is_limited);
        let risk = limited.and_then(|cover| Risk::new(cover.risk()).ok());
        risk.map_or_else(String::new, |risk| {
            format!("; the risk of {risk} needs more replicas than floors may cost")
        })
    }

    /// The model that is to forecast it instead of the one that does, and cannot yet.
    pub fn waits_for(&self) -> Option<&NotReady> {
        let other =
            |lacking: &&NotReady| self.model.is_some_and(|model| model.name != lacking.model);
        self.lacking.iter().find(other)
    }
}

/// A model, its forecast, and the trust that it has earned.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ModelReport {
    /// The name of the model.
    pub name: &'static str,
    /// Its forecast for the end of the horizon.
    pub at_horizon: Option<ForecastStep>,
    /// The trust that decides whether the forecast is acted on.
    pub trust: ModelTrust,
    /// The figures behind the trust.
    pub accuracy: HorizonAccuracy,
}
