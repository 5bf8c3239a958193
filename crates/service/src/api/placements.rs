//! `GET /api/v1/placements`: the newest placements that kube-scheduler asked this replica about,
//! each with its reason in words.

use std::borrow::Cow;

use jiff::Timestamp;
use serde::Serialize;

#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlacementList {
    /// The time in the cluster.
    pub at: Timestamp,
    /// The most placements that are kept.
    pub kept: usize,
    /// Oldest first.
    pub placements: Vec<Placement>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Placement {
    /// Grows with each change; a Pod keeps one entry, which moves to the end.
    pub sequence: u64,
    pub at: Timestamp,
    pub namespace: String,
    pub pod: String,
    pub uid: String,
    /// The node; `null` if no node had headroom, or if several passed and none is scored best.
    pub node: Option<String>,
    /// `chosen` by kube-scheduler, `expected` by the scores or as the only node, `passed` on several
    /// nodes, or `refused` by every node.
    pub outcome: Cow<'static, str>,
    pub profile: Option<String>,
    /// The score of the node, 0 to 10.
    pub score: Option<u8>,
    /// The reason in words.
    pub reason: String,
}
