//! `/api/v1/explain`: why a Pod went to its node, or would go to one: the [`Explanation`] of a
//! decision on the newest snapshot, and the answers that kube-scheduler was given, with their
//! terms.

use std::borrow::Cow;
use std::collections::BTreeMap;

use evenkeel_placement::extender::explain::Explanation;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::cluster::owners::Owner;

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PodExplanation {
    pub workload: Option<Owner>,
    /// Last answer to filter, where kube-scheduler asked this replica.
    pub last_filter: Option<PastVerdict>,
    /// Last answer to prioritize, likewise.
    pub last_prioritize: Option<PastVerdict>,
    /// The node that kube-scheduler told it had chosen, likewise.
    pub last_notice: Option<BindNotification>,
    /// Taints of overloaded nodes, such as `evenkeel.dev/overloaded=cpu:NoSchedule`.
    pub overloaded: BTreeMap<String, String>,
    /// The cost of its deletion while its ReplicaSet is scaled in, where Evenkeel gave it one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deletion_cost: Option<DeletionCost>,
    /// Where score labels are on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub score_labels: Option<ScoreLabelExplanation>,
    pub now: Explanation,
}

impl PodExplanation {
    /// Why the Pod went to `node`, by the last answers to kube-scheduler; `None` if their terms are
    /// not kept.
    pub fn reason(&self, node: &str) -> Option<String> {
        past_reason(
            self.last_filter.as_ref(),
            self.last_prioritize.as_ref(),
            node,
        )
    }
}

/// Why a Pod went to `node`, by its last answers to filter and prioritize.
pub(crate) fn past_reason(
    filter: Option<&PastVerdict>,
    prioritize: Option<&PastVerdict>,
    node: &str,
) -> Option<String> {
    let terms = |past: Option<&PastVerdict>| past?.terms.as_ref()?.reason(node);
    terms(prioritize).or_else(|| terms(filter))
}

/// The node preferences of a Pod by score labels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ScoreLabelExplanation {
    /// The shape whose labels it reads.
    pub shape: String,
    /// True if the Pod has the terms; otherwise they are those of a new Pod like it.
    pub carried: bool,
    /// The reason for which a new Pod like it gets none.
    pub without_terms: Option<Cow<'static, str>>,
    pub terms: Vec<ScoreTermExplanation>,
    /// The highest sum first.
    pub nodes: Vec<NodeScoreLevel>,
}

/// A preferred node term: nodes with one of these values of the shape's label do not match.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScoreTermExplanation {
    pub weight: i32,
    pub excluded: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct NodeScoreLevel {
    pub name: String,
    /// The value of the shape's label; without one the node counts as the best level.
    pub label: Option<String>,
    /// The level by the newest measurements before it is rounded, 0 to 4.
    pub level: Option<f64>,
    /// The weights of the terms that match, added by NodeAffinity.
    pub sum: i32,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct DeletionCost {
    /// The lower, the earlier it goes; Pods without one have 0.
    pub cost: i32,
    pub why: Cow<'static, str>,
}

/// A choice that kube-scheduler told.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BindNotification {
    pub at: Timestamp,
    pub node: String,
}

/// An answer that was given to kube-scheduler.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PastVerdict {
    pub at: Timestamp,
    #[serde(flatten)]
    pub verdict: ExtenderVerdict,
    /// The terms that it was made of, as long as there is memory for them.
    pub terms: Option<Explanation>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", untagged)]
pub enum ExtenderVerdict {
    Filtered {
        asked: usize,
        passed: usize,
        /// Number of nodes that each resource refused.
        refused_by: Vec<(Cow<'static, str>, usize)>,
        /// Reason why nothing was judged.
        unjudged: Option<Cow<'static, str>>,
        /// Nodes without headroom passed, because none had any.
        relaxed: bool,
        /// The node that others were preempted on for the Pod passed without headroom.
        nominated: bool,
    },
    Prioritized {
        asked: usize,
        /// Node with the highest score.
        best: Option<String>,
        score: Option<u8>,
        profile: Option<String>,
        /// Reason why nothing was judged.
        unjudged: Option<Cow<'static, str>>,
    },
}
