//! `/api/v1/explain`: reasons why a Pod went to its node, or would go to one.
//!
//! The terms of a decision are [`Explanation`]; around it stand the answers that kube-scheduler was
//! given, and the load of each node term by term.

use std::collections::BTreeMap;

use jiff::Timestamp;
use serde::Serialize;

use crate::cluster::owners::Owner;
use evenkeel_kubernetes::extender::explain::{Explanation, Resourced};

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PodExplanation {
    /// Workload that the Pod belongs to.
    pub workload: Option<Owner>,
    /// Last answer to filter, where kube-scheduler asked this replica.
    pub last_filter: Option<PastVerdict>,
    /// Last answer to prioritize, likewise.
    pub last_prioritize: Option<PastVerdict>,
    /// Terms of a decision on the newest snapshot.
    pub now: Explanation,
    /// Terms of each node's load.
    pub loads: BTreeMap<String, Resourced<LoadTerms>>,
    /// Taints of overloaded nodes, such as `evenkeel.dev/overloaded=cpu:NoSchedule`.
    pub overloaded: BTreeMap<String, String>,
}

/// An answer that was given to kube-scheduler.
#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PastVerdict {
    pub at: Timestamp,
    #[serde(flatten)]
    pub verdict: Verdict,
}

#[derive(Debug, Clone, Serialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase", untagged)]
pub enum Verdict {
    /// The answer to filter.
    Filtered {
        /// Nodes that were asked about.
        asked: usize,
        passed: usize,
        /// Number of nodes that each resource refused.
        refused_by: Vec<(&'static str, usize)>,
        /// Reason why nothing was judged.
        unjudged: Option<&'static str>,
        /// Nodes without headroom passed, because none had any.
        relaxed: bool,
    },
    /// The answer to prioritize.
    Prioritized {
        /// Nodes that were asked about.
        asked: usize,
        /// Node with the highest score.
        best: Option<String>,
        /// Score of that node.
        score: Option<u8>,
        /// Profile whose weights counted.
        profile: Option<String>,
        /// Reason why nothing was judged.
        unjudged: Option<&'static str>,
    },
}

/// Terms of one resource's load on one node, in millicores, bytes or bytes per second: the measured
/// load with Pods in flight added and Pods that are gone taken off, or else the demand of all its Pods.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct LoadTerms {
    pub measured: Option<u64>,
    pub measured_at: Option<Timestamp>,
    /// Demand of Pods that are placed there and not measured yet.
    pub in_flight: u64,
    /// Usage of Pods that were measured and are gone.
    pub gone: u64,
    /// Demand of all Pods on the node.
    pub demanded: u64,
}
