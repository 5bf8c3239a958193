//! What is shown of every target: the newest tick's picture, read without a lock by the API and by
//! the metrics.

use std::sync::Arc;

use arc_swap::ArcSwap;
use evenkeel_kubernetes::plan::scaling::refill::RefillState;
use jiff::Timestamp;
use serde::Serialize;

/// The newest picture of all targets; clones share it.
#[derive(Debug, Clone, Default)]
pub struct Board(Arc<ArcSwap<Vec<Arc<Shown>>>>);

impl Board {
    /// All targets, as of the newest tick.
    #[must_use]
    pub fn targets(&self) -> Arc<Vec<Arc<Shown>>> {
        self.0.load_full()
    }

    pub(super) fn publish(&self, targets: Vec<Arc<Shown>>) {
        self.0.store(Arc::new(targets));
    }
}

/// One target.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Shown {
    /// Its namespace.
    pub namespace: Arc<str>,
    /// What carries its bounds and its status.
    pub object: Named,
    /// What is scaled.
    pub workload: Named,
    /// How decisions act.
    pub mode: &'static str,
    /// CR: the `spec.replicas` of what is scaled, where it is known.
    pub current: Option<i32>,
    /// The user's least.
    pub min: Option<i32>,
    /// The user's most.
    pub max: Option<i32>,
    /// What was decided: the replicas, in mode floor the `minReplicas`.
    pub decided: Option<i32>,
    /// The rule that kept it from what the load asks for.
    pub limited_by: Option<&'static str>,
    /// Why, in words.
    pub reason: String,
    /// How far ahead is looked.
    pub horizon_seconds: Option<i64>,
    /// What the decision rests on, one of [`Grounds::ALL`](evenkeel_core::scaling::Grounds::ALL).
    pub grounds: &'static str,
    /// Whether the past was had from Prometheus.
    pub refill: Refilled,
    /// The loads it scales by.
    pub loads: Vec<ShownLoad>,
    /// What holds and what does not.
    pub conditions: Vec<ShownCondition>,
    /// The raised minimum, as its record has it.
    pub floor: Option<ShownFloor>,
    /// Decisions since the start, by what limited them.
    #[serde(skip)]
    pub decisions: Arc<[(&'static str, u64)]>,
}

/// An object in the target's namespace.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct Named {
    /// The kind.
    pub kind: Box<str>,
    /// The name.
    pub name: Box<str>,
}

/// Whether a target's past was had from Prometheus.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Refilled {
    /// It is being asked for.
    Running,
    /// All of it that there is.
    Done,
    /// There is no Prometheus to ask.
    NoPrometheus,
    /// The Pods' names do not tell what they belong to.
    NotByName,
}

impl From<RefillState> for Refilled {
    fn from(state: RefillState) -> Self {
        match state {
            RefillState::Running => Self::Running,
            RefillState::Done => Self::Done,
            RefillState::NoPrometheus => Self::NoPrometheus,
            RefillState::NotByName => Self::NotByName,
        }
    }
}

/// One load, in the base unit of its resource.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownLoad {
    /// The name of its signal, such as `cpu`.
    pub resource: Box<str>,
    /// The newest sum over the Pods.
    pub now: Option<f64>,
    /// When that was.
    pub measured_at: Option<Timestamp>,
    /// What one Pod requests, on average.
    pub request: f64,
    /// The share of it that is aimed at.
    pub target: f64,
    /// What is forecast.
    pub forecast: Option<ShownForecast>,
    /// Whether that is heard.
    pub trust: Option<ShownTrust>,
}

/// A forecast for one horizon ahead.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownForecast {
    /// When.
    pub at: Timestamp,
    /// The mean.
    pub mean: f64,
    /// The 80 % interval.
    pub lower80: f64,
    /// Its upper bound.
    pub upper80: f64,
    /// The 95 % interval.
    pub lower95: f64,
    /// Its upper bound.
    pub upper95: f64,
    /// The model.
    pub model: &'static str,
}

/// Whether a model has earned to be heard.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ShownTrust {
    /// Whether it is.
    pub trusted: bool,
    /// In words.
    pub reason: String,
    /// Its error as a part of the naive model's.
    pub ratio: Option<f64>,
    /// The share of observations that its 80 % interval held.
    pub coverage: Option<f64>,
}

/// A condition of a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ShownCondition {
    /// Which.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True` or `False`.
    pub status: &'static str,
    /// One word.
    pub reason: String,
    /// In words.
    pub message: String,
    /// Since when it is so.
    pub last_transition_time: Timestamp,
}

/// A raised minimum.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct ShownFloor {
    /// The `minReplicas`.
    pub replicas: i32,
    /// When it lapses unless it is renewed.
    pub until: Timestamp,
}
