//! The status of a target as the dashboard shows it: what is known of it and what was decided.
//!
//! Words of a closed set are texts here, so that a reader accepts a word that a later version adds.
//! An optional field is `null` where its value is not known.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_objects::condition::Condition;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::HorizonParts;
use crate::targets::history_backfill::RefillState;

/// A word of a closed set that a later version may extend.
pub type Word = Cow<'static, str>;

/// State of one target of scaling after the newest tick.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScalingStatus {
    pub namespace: Arc<str>,
    /// Object that carries the bounds and the status: an HPA, or the workload itself.
    pub object: ObjectName,
    /// Object that is scaled.
    pub workload: ObjectName,
    /// How decisions act: `off`, `recommend`, `floor` or `direct`.
    pub mode: Word,
    /// `spec.replicas` of the workload.
    pub current: Option<i32>,
    /// Fewest replicas that the user allows.
    pub min: Option<i32>,
    /// Most replicas that the user allows.
    pub max: Option<i32>,
    /// Decided replicas; in mode `floor` the `minReplicas` that is set.
    pub decided: Option<i32>,
    /// Replicas by the HPA's formula alone for the newest loads, within the user's bounds: without floor, tolerance
    /// and stabilisation. `null` where a load is not known.
    #[serde(default)]
    pub plain_hpa: Option<i32>,
    /// Rule that kept the decision from what the load asks for.
    pub limited_by: Option<Word>,
    /// The decision in words, or why there is none.
    pub reason: String,
    /// Horizon: what passes between a load and the capacity for it.
    pub horizon_seconds: Option<i64>,
    /// Parts of the horizon, in seconds.
    #[serde(default)]
    pub horizon_parts: Option<HorizonParts>,
    /// Source that the decision rests on: `forecast`, `traffic`, `d-hpa`, `reaction`, `portrait`, `last-known` or
    /// `nothing`.
    pub grounds: Word,
    /// Progress of reading its past from Prometheus.
    pub refill: RefillState,
    /// Loads that the target scales by, and after them the traffic that a model makes replicas of, with what
    /// one Pod carries of it in place of a request.
    #[serde(default)]
    pub loads: Vec<LoadStatus>,
    /// Traffic that the target names; `null` where it names none.
    #[serde(default)]
    pub traffic: Option<TrafficStatus>,
    #[serde(default)]
    pub conditions: Vec<Condition>,
    /// The raised minimum, while one is recorded.
    pub floor: Option<Floor>,
    /// Decisions since the start, by the rule that limited them. Only metrics show them.
    #[serde(skip)]
    pub decisions: Arc<[(&'static str, u64)]>,
}

/// An object in the namespace of its target.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ObjectName {
    pub kind: Box<str>,
    pub name: Box<str>,
}

/// One load that a target scales by, in its base unit.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadStatus {
    pub resource: Word,
    /// Base unit: `millicores`, `bytes`, or empty where the metric counts what it counts.
    #[serde(default)]
    pub unit: Word,
    /// Newest certain sum over the Pods that carry load.
    pub now: Option<f64>,
    /// Centre of the window that it is the mean of, for the recent history.
    #[serde(skip)]
    pub at: Option<Timestamp>,
    /// End of the window.
    pub measured_at: Option<Timestamp>,
    /// Estimate of the load, where only that is known since: Pods that carry it settle.
    #[serde(default)]
    pub estimate: Option<f64>,
    /// Mean request of one Pod.
    pub request: f64,
    /// Share of the request that is aimed at.
    pub target: f64,
    pub forecast: Option<LoadForecast>,
    /// The model that is to forecast it instead and cannot yet, with the time that is left.
    #[serde(default)]
    pub waits_for: Option<String>,
    pub trust: Option<ForecastTrust>,
    /// The risk that its floors follow; `null` where its model follows none.
    #[serde(default)]
    pub risk: Option<RiskStatus>,
}

/// Traffic of a target, and the replicas that it needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficStatus {
    /// The state of the need: `needs` replicas, `unknown` for want of a measurement, or `without` a model.
    pub standing: Word,
    /// Why there is no model, where there is none.
    pub why: Option<String>,
    /// The replicas that it needs, if that is known.
    pub need: Option<TrafficNeedStatus>,
    /// The model that makes replicas of it.
    pub model: Option<TrafficModelStatus>,
}

/// Replicas that traffic needs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficNeedStatus {
    pub replicas: i32,
    /// The predicted load of each replica, in the base unit of the load.
    pub utilisation: f64,
    /// The load that each replica is to carry at most.
    pub target: f64,
    /// The load that they carry.
    pub resource: Word,
    /// Bound that kept the count from what is needed: `min`, `max` or `hour`.
    pub limited_by: Option<Word>,
    pub kinds: Vec<TrafficKindStatus>,
}

/// One kind of traffic, of all replicas together.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficKindStatus {
    pub resource: Word,
    pub now: f64,
    /// The traffic that replicas have to be ready for.
    pub expected: f64,
    /// The basis of `expected`: `forecast` or `measured`.
    pub basis: Word,
}

/// The model of a target's traffic, with the figures of the day that it was judged on.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TrafficModelStatus {
    /// Share of the variance of that day that it explains.
    pub explained: f64,
    /// The same of a model that knows replicas and time, and no traffic.
    pub explained_without: f64,
    /// Mean error in the base unit of the load, of each replica.
    pub error: f64,
    /// The same of its linear part alone.
    pub linear_error: f64,
    /// Times of the first and the last sample that it was fitted on.
    pub learnt_from: Timestamp,
    pub learnt_to: Timestamp,
}

/// Forecast of a load with its 80 % and 95 % intervals: by the shared model and by a target's own trees, of the
/// largest load until the end of the horizon; by other models, of the load at its end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LoadForecast {
    /// The end of the horizon.
    pub at: Timestamp,
    /// The mean; of the largest load, the median.
    pub mean: f64,
    pub lower80: f64,
    pub upper80: f64,
    pub lower95: f64,
    pub upper95: f64,
    pub model: Word,
}

/// The trust in a model: its past forecasts were good enough to act on, or not.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ForecastTrust {
    pub trusted: bool,
    /// The verdict in words.
    pub reason: String,
    /// Error of the model as a share of the naive forecast's; below 1 is better.
    pub ratio: Option<f64>,
    /// Share of the observations that lay inside the 80 % interval.
    pub coverage: Option<f64>,
}

/// The share of time in which ready Pods carry more than the target and its tolerance.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct RiskStatus {
    /// As asked for.
    pub asked: f64,
    /// The share in the last two days, or since there is a forecast; not known in the first hour.
    pub achieved: Option<f64>,
}

/// A raised minimum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Floor {
    /// The `minReplicas` that is set.
    pub replicas: i32,
    /// Time at which it lapses unless it is renewed.
    pub until: Timestamp,
}
