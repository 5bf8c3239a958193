//! The input of one decision: the load of each signal as it is now, and what is forecast of it.

use evenkeel_forecast::{Forecast, ModelTrust, NotReady};
use evenkeel_metrics::signal::Signal;
use jiff::{SignedDuration, Timestamp};

use super::merged_portraits::MergedPortraits;
use super::policy::Strategy;
use super::traffic_need::TrafficStanding;
use crate::load::hpa_aware::PodCapacity;

/// Everything that a decision reads at one tick, beside policy and state.
#[derive(Debug, Clone, Copy)]
pub struct DecisionInput<'a> {
    /// The time of the tick.
    pub now: Timestamp,
    /// CR: the `spec.replicas` of the target.
    pub current: i32,
    /// The Pods of the target that are ready.
    pub ready: i32,
    /// The method that predicts the load.
    pub strategy: Strategy,
    /// The time that is predicted ahead, for which a forecast also stands.
    pub ahead: SignedDuration,
    /// The replicas that the load as it is now asks for, all rules of the HPA applied; `None` where
    /// its metrics are missing.
    pub reactive: Option<i32>,
    /// The reason of the reaction, in words; empty if there is none.
    pub reaction: &'a str,
    /// The reason why the metrics are missing, in words; empty if it is unknown.
    pub missing: &'a str,
    /// True if the metrics are not read because the target has no replicas.
    pub is_switched_off: bool,
    /// True for a target without replicas that was put to sleep here, and wakes by what it scales by.
    pub is_asleep: bool,
    /// The load of each signal that the target scales by.
    pub loads: &'a [SignalLoad<'a>],
    /// The state of the traffic that the target names; `None` if it names none.
    pub traffic: Option<&'a TrafficStanding>,
    /// The merged portraits of the target, if it has any: they decide then.
    pub portrayed: Option<&'a MergedPortraits>,
}

impl DecisionInput<'_> {
    /// True where what the traffic needed may still be needed, although the traffic is not known.
    pub(crate) fn has_unknown_traffic(&self) -> bool {
        self.traffic.is_some_and(TrafficStanding::is_unknown)
    }
}

/// The load of a target in one signal, in the base unit of the signal (see
/// [`in_base_unit`](crate::load::sum::in_base_unit)).
#[derive(Debug, Clone, Copy)]
pub struct SignalLoad<'a> {
    pub signal: &'a Signal,
    /// The load that one Pod is to carry.
    pub capacity: PodCapacity,
    /// The sums over the target's Pods at the steps of the series since its last gap, oldest first.
    pub recent: &'a [f64],
    /// The time of the last measurement of a certain sum; `None` where there is none.
    pub measured: Option<Timestamp>,
    /// The estimate of the load, where only that is known since.
    pub estimate: Option<LoadEstimate>,
    /// True where the load is forecast, and not only reacted to.
    pub is_forecast: bool,
    /// True if only Evenkeel reacts to it.
    pub only_here: bool,
    /// The forecast of the load, where a model made one.
    pub prediction: Option<Prediction<'a>>,
    /// The model that has too little history to forecast, where none can.
    pub lacking: Option<NotReady>,
}

/// A load of which it is known that it is about what it last was, or more.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadEstimate {
    /// The larger of what was measured and the last certain sum, in the base unit of the signal.
    pub sum: f64,
    /// The time of the measurement.
    pub measured: Timestamp,
}

/// The longest time for which an estimate keeps a decision that certain sums led to. A longer
/// rollout is no reason to keep replicas that may not be needed.
const ESTIMATE_HOLDS: SignedDuration = SignedDuration::from_mins(15);

/// The forecast of a load by the model in use, with the trust that the model has earned.
#[derive(Debug, Clone, Copy)]
pub struct Prediction<'a> {
    /// The name of the model.
    pub model: &'static str,
    pub forecast: &'a Forecast,
    /// The load that capacity is to be there for; `None` where that is the mean that is forecast.
    pub cover: Option<f64>,
    /// The trust that the model has earned against the naive one at the horizon in use.
    pub trust: ModelTrust,
}

impl SignalLoad<'_> {
    /// The load as it is now; `None` where it is missing or older than `max_age`. A measurement
    /// that lies as far in the future tells nothing of now either.
    pub fn fresh(&self, now: Timestamp, max_age: SignedDuration) -> Option<f64> {
        let age = now.duration_since(self.measured?);
        let fresh = age <= max_age && -age <= max_age;
        self.recent.last().copied().filter(|_| fresh)
    }

    /// True where the load is not known any more as it is now, but is estimated. Such a load moves
    /// nothing, up or down, for as long as that may be.
    pub(crate) fn is_estimated(&self, now: Timestamp, max_age: SignedDuration) -> bool {
        let Some((certain, estimate)) = self.measured.zip(self.estimate) else {
            return false;
        };
        let age = now.duration_since(estimate.measured);
        let holds = now.duration_since(certain) <= ESTIMATE_HOLDS;
        self.fresh(now, max_age).is_none() && holds && age <= max_age && -age <= max_age
    }

    /// The age of the last measurement at `now`; negative for one from the future.
    pub fn age(&self, now: Timestamp) -> Option<SignedDuration> {
        self.measured.map(|at| now.duration_since(at))
    }
}
