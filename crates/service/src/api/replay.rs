//! A replayed record beside what happened, as `evenkeel dev --replay` shows it on the page. A service
//! in a cluster has none.

use serde::Serialize;

#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ReplayComparison {
    /// The record itself, then its replays; empty until they have run.
    pub rows: Vec<ReplayRow>,
    /// Each difference in words.
    pub sentences: Vec<String>,
    /// The gaps in the record, in sentences.
    pub missing: Vec<String>,
}

/// The figures of one replay, or of what happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReplayRow {
    pub name: String,
    pub under_provisioned_seconds: f64,
    pub overloaded_seconds: f64,
    pub replica_hours: f64,
    /// Changes of counts.
    pub changes: usize,
    /// Means over the seeds; `None` for the record itself, which has no figures of nodes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub nodes: Option<NodeFigures>,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeFigures {
    pub pods_refused: f64,
    /// The time in which any node was over the headroom line.
    pub seconds_over_line: f64,
}
