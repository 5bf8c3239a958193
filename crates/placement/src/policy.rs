//! The scheduling policy of the service, from checked configuration.

use std::collections::BTreeMap;

use evenkeel_objects::namespace_policy::NamespacePolicy;
use evenkeel_objects::no_headroom::NoHeadroom;
use evenkeel_units::{Amount, Ratio, Resources};
use jiff::SignedDuration;

use crate::balance::ScoringStrategy;
use crate::node_sampling::NodesToScore;
use crate::profile::ProfileTable;
use crate::score_term_rules::ScoreTermRules;

/// Cluster-wide scheduling policy; a namespace may override the fields it has annotations for.
#[derive(Debug, Clone, PartialEq)]
pub struct SchedulingPolicy {
    /// h of `[CLBP]` (4.1): the largest load / capacity allowed after placement.
    pub headroom: Ratio,
    /// h for Pods of these priority classes, before the namespace's own.
    pub headroom_by_priority_class: BTreeMap<String, Ratio>,
    /// Share of the free capacity from which a resource is dominant (`[CLBP]` (4.2)).
    pub profile_threshold: Ratio,
    pub no_headroom: NoHeadroom,
    /// The nodes that kube-scheduler shows, by its configuration.
    pub nodes_to_score: NodesToScore,
    /// Under `reject`, after this time the least loaded nodes take a Pod; `None` for never.
    pub relax_after: Option<SignedDuration>,
    pub scoring: ScoringStrategy,
    pub profiles: ProfileTable,
    /// CNI bandwidth annotations count as demand if there is no other.
    pub caps_as_demand: bool,
    /// Network and disk I/O of nodes without a capacity of their own.
    pub default_capacity: Resources<Option<Amount>>,
    /// Set on Pods of opted-in namespaces without a scheduler of their own.
    pub scheduler_name: Option<String>,
    /// The Pods that get score terms; `None` if score labels are off.
    pub score_labels: Option<ScoreTermRules>,
    /// Older measurements are not used.
    pub max_age: SignedDuration,
}

impl SchedulingPolicy {
    /// The share from which a resource is dominant in a namespace, `[CLBP] (4.2)`: its own, else the
    /// cluster's.
    pub fn profile_threshold_in(&self, namespace: &NamespacePolicy) -> Ratio {
        namespace
            .profile_threshold
            .unwrap_or(self.profile_threshold)
    }
}

/// The shipped values, for tests.
#[cfg(test)]
pub(crate) fn shipped() -> SchedulingPolicy {
    SchedulingPolicy {
        headroom: Ratio::share(0.8).unwrap(),
        headroom_by_priority_class: BTreeMap::new(),
        profile_threshold: Ratio::share(0.15).unwrap(),
        no_headroom: NoHeadroom::Reject,
        nodes_to_score: NodesToScore::ALL,
        relax_after: None,
        scoring: ScoringStrategy::pure(crate::balance::Normalization::Joint),
        profiles: ProfileTable::default(),
        caps_as_demand: false,
        default_capacity: Resources::default(),
        scheduler_name: None,
        score_labels: None,
        max_age: evenkeel_units::max_age::DEFAULT,
    }
}
