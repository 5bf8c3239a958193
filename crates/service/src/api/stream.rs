//! `GET /api/v1/stream`: server-sent events with the changes of nodes, placements, targets and the
//! calendar. The first event of a connection holds everything, so a reader that connects again has
//! missed nothing.

use std::borrow::Cow;
use std::sync::Arc;

use evenkeel_scaling::status::dashboard::{ObjectName, Word};
use jiff::Timestamp;
use serde::Serialize;

use super::calendar::Calendar;
use super::nodes::NodeUsage;
use super::placements::Placement;
use super::replay::ReplayComparison;

/// The data of one event. A list that is left out has not changed.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ClusterChange {
    /// The time in the cluster.
    pub at: Timestamp,
    /// True for the first event of a connection, which replaces all that the reader knows.
    pub full: bool,
    /// False until every kind of object has been listed.
    pub synced: bool,
    pub headroom: f64,
    /// The kill switch: `enabled`, `disabled` or `restore`.
    pub writes: Cow<'static, str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<Arc<NodeUsage>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone_nodes: Vec<Arc<str>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub placements: Vec<Placement>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<Arc<TargetSummary>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub gone_targets: Vec<TargetName>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calendar: Option<Arc<Calendar>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub replay: Option<Arc<ReplayComparison>>,
}

/// A target by namespace and object.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
pub struct TargetName {
    pub namespace: Arc<str>,
    pub object: ObjectName,
}

/// The part of a target's status that a list shows; `/api/v1/scaling` has all of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TargetSummary {
    #[serde(flatten)]
    pub name: TargetName,
    pub workload: ObjectName,
    pub mode: Word,
    pub current: Option<i32>,
    pub min: Option<i32>,
    pub max: Option<i32>,
    pub decided: Option<i32>,
    pub floor: Option<i32>,
    pub plain_hpa: Option<i32>,
    pub grounds: Word,
    pub reason: String,
    pub load: Option<LoadSummary>,
    /// The conditions that report a problem.
    pub problems: Vec<ReportedProblem>,
}

/// The first load of a target.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadSummary {
    pub resource: Word,
    pub unit: Word,
    pub now: Option<f64>,
    pub forecast: Option<f64>,
    pub model: Option<Word>,
    pub trusted: Option<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReportedProblem {
    #[serde(rename = "type")]
    pub kind: String,
    pub reason: String,
}
