//! The load that Evenkeel expects in the next hours, in the status of a HorizontalPortrait.

use jiff::Timestamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The most metrics of one portrait: each takes some 20 KB in every replica.
pub const MOST_AHEAD: usize = 4;

/// The most points: one for each ten minutes of a day.
pub const MOST_HOURS_POINTS: usize = 144;

/// The load of the next hours, up to a day. Written by Evenkeel for a portrait of its own models.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct HoursAhead {
    /// When it was computed.
    pub time: Timestamp,
    /// The length of a step, in seconds.
    #[schemars(range(min = 1))]
    pub step_seconds: i32,
    /// The share of values that should lie between lower and upper, in percent.
    #[schemars(range(min = 1, max = 99))]
    pub interval_percent: i32,
    /// A series for each metric that is forecast and has enough history.
    #[schemars(length(max = MOST_AHEAD))]
    pub metrics: Vec<MetricAhead>,
}

/// The series of one metric.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct MetricAhead {
    /// The metric, such as cpu.
    pub name: String,
    /// The model that made the series.
    pub model: String,
    /// The points, in the order of time.
    #[schemars(length(max = MOST_HOURS_POINTS))]
    pub points: Vec<PointAhead>,
}

/// The highest load of a minute within a step, of all Pods together.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, rename_all = "camelCase")]
pub struct PointAhead {
    /// When the step begins, in seconds since 1970.
    #[schemars(range(min = 0))]
    pub timestamp: i64,
    /// The expected load as a quantity, such as 1500m for 1.5 cores.
    pub value: String,
    /// The lower end of the interval.
    pub lower: String,
    /// The upper end of the interval.
    pub upper: String,
    /// The replicas for the expected load at the target of the metric, whatever bounds there are.
    #[schemars(range(min = 0))]
    pub replicas: i32,
    /// The replicas for the upper end.
    #[schemars(range(min = 0))]
    pub upper_replicas: i32,
}
