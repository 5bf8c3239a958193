//! The explanation of a decision: every term for each node, for people and programs. It calls
//! filter and prioritize themselves, on the snapshot of the decision, so it shows what was
//! answered.

mod node;
mod reason;

use std::borrow::Cow;
use std::collections::HashMap;

use evenkeel_objects::pod::Pod;
use evenkeel_units::{Amount, ResourceSet, Resources};
use serde::{Deserialize, Serialize};

use super::decide::FilterResult;
use super::filter_cache::{FilterQuestion, VerdictCache};
use super::placement_rules::{Exemption, PlacementContext, PlacementRules};
use super::wire::ExtenderRequest;
use super::{decide, placement_rules};
use crate::balance::NodeScore;
use crate::candidate_loads::scored_loads;
use crate::demand::Demand;
use crate::node_table::NodeState;
use crate::{NodeLoad, balance};

pub use node::{NodeExplanation, ResourceExplanation, ResourceMap};

/// Everything that was decided for one Pod.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    pub namespace: String,
    pub pod: String,
    /// The exemption by which every node passes. If it is from the headroom rule alone, scores are
    /// still sent; otherwise the rest is only informative.
    pub unjudged: Option<Cow<'static, str>>,
    pub demand: ResourceMap<DemandExplanation>,
    pub profile: String,
    pub weights: ResourceMap<f64>,
    /// The way in which deviations become a score: `joint` or `per-resource`.
    pub normalization: Cow<'static, str>,
    /// The difference in utilisation below which scores are not stretched to their full range.
    pub significance: f64,
    /// h in `[CLBP] (4.1)`: the largest load / capacity that a placement may lead to.
    pub headroom: f64,
    /// True where no node has headroom and the least loaded ones take the Pod all the same.
    pub relaxed: bool,
    /// True where the rule took `startUp` for R, of each resource of which it is more.
    #[serde(default)]
    pub judged_by_first_minutes: bool,
    /// True where the rule added `warmUp` to the load of each node.
    #[serde(default)]
    pub counts_warm_up: bool,
    /// The node that it most likely gets, or gets by what was answered.
    pub best: Option<String>,
    /// Annotations of the Pod that are not understood, or claim more than any node has.
    pub warnings: Vec<String>,
    pub nodes: Vec<NodeExplanation>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct DemandExplanation {
    /// R in the headroom rule, in millicores, bytes or bytes per second; without first minutes.
    pub amount: u64,
    /// R in the score, and as it counts for other Pods: without a request for cpu or memory,
    /// kube-scheduler's assumption.
    pub assumed: u64,
    /// The use by earlier Pods of the workload in their first minutes, where it is more; otherwise 0.
    #[serde(default)]
    pub start_up: u64,
    /// `annotation`, `requests`, `history`, `caps` or `unknown`.
    pub source: Cow<'static, str>,
}

/// Explains what filter and prioritize would answer for `pod` over all nodes of the snapshot.
pub fn explain(pod: &Pod, call: &PlacementContext<'_>) -> Explanation {
    let all = call.snapshot.nodes.iter();
    explain_among(
        pod,
        call,
        all.map(|node| Cow::Borrowed(&*node.name)).collect(),
    )
}

/// The same over the nodes of these names; those that are not known are left out.
pub fn explain_among(
    pod: &Pod,
    call: &PlacementContext<'_>,
    names: Vec<Cow<'_, str>>,
) -> Explanation {
    let table = &call.snapshot.nodes;
    let is_open = |name: &str| table.get(name).is_some_and(|node| node.schedulable);
    // kube-scheduler asks only about nodes that are open to the Pod; the others get the rule alone.
    let (open, closed): (Vec<_>, Vec<_>) = names.into_iter().partition(|name| is_open(name));
    let mut asked = request(pod, open);
    let mut filtered = decide::filter(&asked, call, &VerdictCache::default());
    let judgement = PlacementRules::if_judged(pod, call);
    let question = FilterQuestion {
        demand: filtered.demand.unwrap_or(judgement.demand.amounts),
        at_start: filtered.at_start,
        ..FilterQuestion::of(&judgement)
    };
    let rule = |name: &Cow<'_, str>| {
        let node = table.get(name);
        node.map_or(ResourceSet::NONE, |node| {
            question.refusing(node, &Resources::default())
        })
    };
    if placement_rules::exemption(pod, call).is_some_and(|why| !why.is_scored()) {
        // The verdict of the rule, for a Pod on which it decides nothing.
        filtered.refused = asked.names.iter().map(rule).collect();
    }
    let passing = asked.names.iter().enumerate();
    let passing = passing.filter(|(at, _)| filtered.passes(*at));
    let scored: Vec<Cow<'_, str>> = passing.map(|(_, name)| name.clone()).collect();
    filtered.refused.extend(closed.iter().map(rule));
    asked.names.extend(closed);
    explained(&asked, call, &filtered, &scored)
}

pub fn explain_filter(request: &ExtenderRequest<'_>, call: &PlacementContext<'_>) -> Explanation {
    let filtered = decide::filter(request, call, &VerdictCache::default());
    explained(request, call, &filtered, &[])
}

pub fn explain_prioritize(
    request: &ExtenderRequest<'_>,
    call: &PlacementContext<'_>,
) -> Explanation {
    // All nodes that prioritize is asked about have passed.
    let filtered = FilterResult {
        refused: vec![ResourceSet::NONE; request.names.len()],
        ..FilterResult::default()
    };
    let mut explanation = explained(request, call, &filtered, &request.names);
    if explanation.unjudged.is_none() {
        let exemption = placement_rules::labels_exemption(&request.pod, call.snapshot, call.policy);
        explanation.unjudged = exemption.map(|exemption| exemption.as_str().into());
    }
    explanation
}

/// A question about a Pod, as kube-scheduler would put it.
pub fn request<'a>(pod: &Pod, names: Vec<Cow<'a, str>>) -> ExtenderRequest<'a> {
    ExtenderRequest {
        pod: pod.clone(),
        names,
        objects: None,
    }
}

/// The nodes of `request` as `filtered` judged them, those of `scored` with their scores.
fn explained(
    request: &ExtenderRequest<'_>,
    call: &PlacementContext<'_>,
    filtered: &FilterResult,
    scored: &[Cow<'_, str>],
) -> Explanation {
    let pod = &request.pod;
    let judgement = PlacementRules::if_judged(pod, call);
    let exemption = placement_rules::exemption(pod, call);
    let judged = filtered.demand.unwrap_or(judgement.demand.amounts);
    let ranked = Scores::of(&self::request(pod, scored.to_vec()), &judgement, call);
    let asked = request.names.iter().enumerate();
    let known = asked.filter_map(|(at, name)| {
        let position = call.snapshot.nodes.position(name)?;
        let refused = filtered.refused.get(at).copied().unwrap_or_default();
        Some((position, call.snapshot.nodes.at(position)?, refused))
    });
    let mut nodes: Vec<NodeExplanation> = known
        .map(|(position, node, refused)| {
            let found = node::NodeFindings {
                node,
                possible: call.snapshot.nodes.possible(position).unwrap_or_default(),
                refused,
                demand: &judged,
                at_start: filtered.at_start,
                without_headroom: filtered.relaxed || exemption.is_some_and(Exemption::is_scored),
                score: ranked.at(&node.name),
            };
            found.explained(&judgement, call.now)
        })
        .collect();
    nodes.sort_by(|a, b| {
        let total = |node: &NodeExplanation| node.total.unwrap_or(f64::NEG_INFINITY);
        let sent = |node: &NodeExplanation| node.score.unwrap_or(0);
        sent(b)
            .cmp(&sent(a))
            .then_with(|| total(b).total_cmp(&total(a)))
            .then_with(|| a.name.cmp(&b.name))
    });
    let PlacementRules {
        demand, headroom, ..
    } = &judgement;
    Explanation {
        namespace: pod.namespace().to_owned(),
        pod: pod.name().to_owned(),
        unjudged: exemption.map(|exemption| exemption.as_str().into()),
        demand: ResourceMap(Resources::from_fn(|resource| DemandExplanation {
            amount: demand.amounts[resource].get(),
            assumed: demand.assumed[resource].get(),
            start_up: demand.start_up[resource].get(),
            source: demand.sources[resource].as_str().into(),
        })),
        profile: ranked.profile,
        weights: ResourceMap(ranked.weights),
        normalization: call.policy.scoring.normalization.as_str().into(),
        significance: call.policy.scoring.significance,
        headroom: headroom.get(),
        relaxed: filtered.relaxed,
        judged_by_first_minutes: judged != demand.amounts,
        counts_warm_up: filtered.at_start,
        best: ranked.best,
        warnings: warnings(demand, &call.snapshot.nodes.largest()),
        nodes,
    }
}

struct Scores<'a> {
    nodes: HashMap<&'a str, (NodeScore, u8)>,
    best: Option<String>,
    profile: String,
    weights: Resources<f64>,
}

impl<'a> Scores<'a> {
    fn of(
        request: &ExtenderRequest<'_>,
        judgement: &PlacementRules<'_>,
        call: &PlacementContext<'a>,
    ) -> Self {
        let table = &call.snapshot.nodes;
        let asked: Vec<Option<&NodeState>> =
            request.names.iter().map(|name| table.get(name)).collect();
        let nodes: Vec<&NodeState> = asked.iter().copied().flatten().collect();
        let loads = scored_loads(&nodes);
        // Where none is scored, the profile is that which all nodes together give.
        let all: Vec<NodeLoad> = table.iter().map(|node| node.load).collect();
        let candidates = if loads.is_empty() { &all } else { &loads };
        let profile = decide::profile_of(&request.pod, judgement, candidates, call.policy);
        let demand = &judgement.demand.assumed;
        let details = balance::detail(&loads, demand, profile.weights, call.policy.scoring);
        let scored = balance::scored(&loads, demand, profile.weights, call.policy.scoring);
        let known = asked.iter().map(Option::is_some);
        let ranking = decide::ranked(request, call.snapshot, known, &scored, demand);
        let sent = asked.iter().zip(ranking.scores);
        let known = sent.filter_map(|(node, score)| Some(((*node)?, score)));
        let nodes = known.zip(details);
        Self {
            nodes: nodes
                .map(|((node, score), detail)| (&*node.name, (detail, score)))
                .collect(),
            best: ranking
                .best
                .and_then(|at| Some(request.names.get(at)?.to_string())),
            profile: profile.name.to_owned(),
            weights: *profile.weights.get(),
        }
    }

    fn at(&self, name: &str) -> Option<(&NodeScore, u8)> {
        let (detail, score) = self.nodes.get(name)?;
        Some((detail, *score))
    }
}

fn warnings(demand: &Demand, largest: &Resources<Option<Amount>>) -> Vec<String> {
    let invalid = demand.invalid.iter().map(ToString::to_string);
    let excessive = demand.excessive(largest).map(|claim| claim.to_string());
    invalid.chain(excessive).collect()
}
